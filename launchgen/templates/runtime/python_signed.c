static int lg_signed_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                                 int64_t low, int64_t high, int64_t *value)
{
    int64_t number = 0;
    int overflow = 0;
    if (PyLong_Check(object)) {
        overflow = lg_overflows(object, &number);
    } else {
        if (!PyIndex_Check(object))
            return LG_WRONG_KIND(kernel, argument, "an int", object);
        number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (number == -1 && overflow == 0 && PyErr_Occurred() != NULL)
            return lg_explain(kernel, argument);
    }
    if (LG_UNLIKELY(overflow != 0 || number < low || number > high))
        return lg_complain(PyExc_OverflowError, kernel, argument,
                           "%.200R is out of range, %lld to %lld", object, (long long)low,
                           (long long)high);
    *value = number;
    return 0;
}
