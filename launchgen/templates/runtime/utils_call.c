/* Arguments are taken by position only, as Triton's own functions take them. */
static int lg_expect(const char *who, Py_ssize_t given, Py_ssize_t expected)
{
    if (given == expected)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s: expected %zd argument%s, got %zd", who, expected,
                 expected == 1 ? "" : "s", given);
    return -1;
}

static int lg_int_from_object(const char *who, const lg_argument *argument, PyObject *object,
                              int low, int high, int *value)
{
    int64_t wide = 0;
    if (lg_signed_from_object(who, argument, object, low, high, &wide) != 0)
        return -1;
    *value = (int)wide;
    return 0;
}

/* Handles are ints, as the functions of this module return them. */
static int lg_handle_from_object(const char *who, const lg_argument *argument, PyObject *object,
                                 void **handle)
{
    uint64_t wide = 0;
    if (lg_unsigned_from_object(who, argument, object, UINT64_MAX, &wide) != 0)
        return -1;
    *handle = (void *)(uintptr_t)wide;
    return 0;
}

/* Negative ones go to the driver, which has an error for them. */
static int lg_ordinal_from_object(const char *who, PyObject *object, int *ordinal)
{
    static const lg_argument device = {"argument 'device'", "int"};
    return lg_int_from_object(who, &device, object, INT32_MIN, INT32_MAX, ordinal);
}

/* The value of a call that came to `status`; takes over the reference to `value`. */
static PyObject *lg_answer(PyObject *module, int status, PyObject *value)
{
    if (status == LG_SUCCESS)
        return value;
    Py_XDECREF(value);
    (void)lg_raise(module, status);
    return NULL;
}
