/* Tuples cannot change while their elements are read, so the elements are borrowed. */
static int lg_unpack(const char *kernel, const lg_argument *argument, PyObject *object,
                     Py_ssize_t count, PyObject **elements)
{
    if (!PyTuple_Check(object))
        return LG_WRONG_KIND(kernel, argument, "a tuple", object);
    if (PyTuple_GET_SIZE(object) != count) {
        (void)lg_complain(PyExc_TypeError, kernel, argument, "expected %zd elements, got %zd",
                          count, PyTuple_GET_SIZE(object));
        return -1; /* which the compiler cannot see of a call that it does not look into */
    }
    for (Py_ssize_t i = 0; i < count; i++)
        elements[i] = PyTuple_GET_ITEM(object, i);
    return 0;
}
