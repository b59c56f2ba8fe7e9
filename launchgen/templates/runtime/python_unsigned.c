static int lg_unsigned_from_object(const char *kernel, const lg_argument *argument,
                                   PyObject *object, uint64_t high, uint64_t *value)
{
    if (LG_UNLIKELY(!PyLong_Check(object) && !PyIndex_Check(object)))
        return LG_WRONG_KIND(kernel, argument, "an int", object);
    PyObject *number = PyNumber_Index(object);
    if (LG_UNLIKELY(number == NULL))
        return lg_explain(kernel, argument);
    unsigned long long wide = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    const int overflows = wide == (unsigned long long)-1 && PyErr_Occurred() != NULL;
    if (LG_UNLIKELY(overflows || wide > high))
        return lg_complain(PyExc_OverflowError, kernel, argument,
                           "%.200R is out of range, 0 to %llu", object,
                           (unsigned long long)high);
    *value = wide;
    return 0;
}
