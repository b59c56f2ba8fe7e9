static int lg_address_from_int(const char *kernel, const lg_argument *argument, PyObject *number,
                               uint64_t *address)
{
    unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (LG_UNLIKELY(value == (unsigned long long)-1 && PyErr_Occurred() != NULL)) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return -1;
        return lg_complain(PyExc_OverflowError, kernel, argument, "%.200R is no 64-bit address",
                           number);
    }
    *address = value;
    return 0;
}
