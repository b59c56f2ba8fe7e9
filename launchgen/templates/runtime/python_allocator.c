/* The allocator of scratch memory is the module's: what one thread sets, all threads use. */
LG_COLD
static PyObject *lg_set_allocator(PyObject *module, PyObject *allocator)
{
    lg_module *state = lg_module_of(module);
    PyObject *old = NULL;
    if (allocator != Py_None && !PyCallable_Check(allocator)) {
        PyErr_Format(PyExc_TypeError,
                     "set_allocator() takes a callable (size, alignment, stream) or None, "
                     "got %.200R",
                     allocator);
        return NULL;
    }
    LG_BEGIN_LOCKED(module)
    old = state->allocator;
    state->allocator = allocator == Py_None ? NULL : Py_NewRef(allocator);
    LG_END_LOCKED();
    Py_XDECREF(old);
    Py_RETURN_NONE;
}
