/* Puts the launcher and the argument in front of the interpreter's own words. An exception that
 * an object raised of its own accord stays as it is. */
LG_COLD
static int lg_explain(const char *kernel, const lg_argument *argument)
{
    PyObject *error = lg_take_exception();
    PyObject *type = (PyObject *)Py_TYPE(error);
    if (type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_OverflowError ||
        type == PyExc_BufferError)
        PyErr_Format(type, "%s: %s (%s): %S", kernel, argument->place, argument->type, error);
    else
        PyErr_SetObject(type, error);
    Py_DECREF(error);
    return -1;
}
