LG_COLD
static int lg_out_of_unsigned_range(const char *kernel, const lg_argument *argument,
                                    uint64_t high, PyObject *given)
{
    PyErr_Format(PyExc_OverflowError,
                 "%s: %s (%s): %.200R is out of range, 0 to %llu", kernel,
                 argument->place, argument->type, given,
                 (unsigned long long)high);
    return -1;
}

static int lg_unsigned_from_object(const char *kernel, const lg_argument *argument,
                                   PyObject *object, uint64_t high, uint64_t *value)
{
    if (LG_UNLIKELY(!PyLong_Check(object) && !PyIndex_Check(object)))
        return lg_wrong_kind(kernel, argument, "an int", object);
    PyObject *number = PyNumber_Index(object);
    if (LG_UNLIKELY(number == NULL))
        return lg_explain(kernel, argument);
    unsigned long long wide = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (LG_UNLIKELY(wide == (unsigned long long)-1 && PyErr_Occurred() != NULL)) {
        PyErr_Clear();
        return lg_out_of_unsigned_range(kernel, argument, high, object);
    }
    if (LG_UNLIKELY(wide > high))
        return lg_out_of_unsigned_range(kernel, argument, high, object);
    *value = wide;
    return 0;
}
