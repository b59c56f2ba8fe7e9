static const lg_argument lg_grid_axes[] = {{"grid x", "int"}, {"grid y", "int"}, {"grid z", "int"}};

/* Takes any integer, and says what is wrong with everything else. */
LG_COLD
static int lg_any_grid_size(const char *kernel, PyObject *object, const lg_argument *axis,
                            uint32_t *size)
{
    int overflow = 0;
    if (!PyIndex_Check(object))
        return LG_WRONG_KIND(kernel, axis, "an int", object);
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (value == -1 && overflow == 0 && PyErr_Occurred() != NULL)
        return -1;
    if (overflow < 0 || (overflow == 0 && value < 0))
        return lg_complain(PyExc_ValueError, kernel, axis, "%.200R is negative", object);
    if (overflow > 0 || value > UINT32_MAX)
        return lg_complain(PyExc_ValueError, kernel, axis, "%.200R is too large", object);
    *size = (uint32_t)value;
    return 0;
}

static inline int lg_is_grid_size(PyObject *object, uint32_t *size)
{
    int64_t value = 0;
    if (!PyLong_CheckExact(object) || lg_overflows(object, &value))
        return 0;
    *size = (uint32_t)value;
    return value >= 0 && value <= (int64_t)UINT32_MAX;
}
