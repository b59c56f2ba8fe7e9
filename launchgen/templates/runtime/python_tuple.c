/* Tuples cannot change while their elements are read, so the elements are borrowed. */
static int lg_unpack(const char *kernel, const lg_argument *argument, PyObject *object,
                     Py_ssize_t count, PyObject **elements)
{
    if (!PyTuple_Check(object))
        return lg_wrong_kind(kernel, argument, "a tuple", object);
    if (PyTuple_GET_SIZE(object) != count) {
        PyErr_Format(PyExc_TypeError, "%s: %s (%s): expected %zd elements, got %zd",
                     kernel, argument->place, argument->type, count,
                     PyTuple_GET_SIZE(object));
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        elements[i] = PyTuple_GET_ITEM(object, i);
    return 0;
}
