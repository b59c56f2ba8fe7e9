/* Takes any integer, and says what is wrong with everything else. */
LG_COLD
static int lg_any_grid_size(const char *kernel, PyObject *object, const char *axis, uint32_t *size)
{
    if (!PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: grid %s must be an int, got %.200R", kernel, axis,
                     object);
        return -1;
    }
    PyObject *number = PyNumber_Index(object);
    if (number == NULL)
        return -1;
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (value == -1 && PyErr_Occurred() != NULL)
        return -1;
    if (overflow < 0 || (overflow == 0 && value < 0)) {
        PyErr_Format(PyExc_ValueError, "%s: grid %s is negative: %.200R", kernel, axis, object);
        return -1;
    }
    if (overflow > 0 || value > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: grid %s is too large: %.200R", kernel, axis, object);
        return -1;
    }
    *size = (uint32_t)value;
    return 0;
}

LG_COLD
static int lg_grid_from_list(const char *kernel, PyObject *object, uint32_t grid[3])
{
    static const char *const axes[3] = {"x", "y", "z"};
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        if (PyIndex_Check(object))
            return lg_any_grid_size(kernel, object, axes[0], &grid[0]);
        PyErr_Format(PyExc_TypeError,
                     "%s: grid must be an int or a tuple of one to three, got %.200R", kernel,
                     object);
        return -1;
    }
    PyObject *sizes = PySequence_Tuple(object);
    if (sizes == NULL)
        return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(sizes);
    int status = count >= 1 && count <= 3 ? 0 : -1;
    if (status != 0)
        PyErr_Format(PyExc_ValueError, "%s: grid must have one to three sizes, got %zd", kernel,
                     count);
    for (Py_ssize_t i = 0; status == 0 && i < count; i++)
        status = lg_any_grid_size(kernel, PyTuple_GET_ITEM(sizes, i), axes[i], &grid[i]);
    Py_DECREF(sizes);
    return status;
}

/* Reads an int: without a call where the interpreter has it in one digit and tells so. */
static inline int lg_overflows(PyObject *number, int64_t *value)
{
    int overflow = 0;
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((const PyLongObject *)number)) {
        *value = PyUnstable_Long_CompactValue((const PyLongObject *)number);
        return 0;
    }
#endif
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow != 0;
}

static inline int lg_is_grid_size(PyObject *object, uint32_t *size)
{
    int64_t value = 0;
    if (!PyLong_CheckExact(object) || lg_overflows(object, &value))
        return 0;
    *size = (uint32_t)value;
    return value >= 0 && value <= (int64_t)UINT32_MAX;
}

/* An int, or a tuple or list of one to three; sizes left out are 1. */
static inline int lg_grid_from_object(const char *kernel, PyObject *object, uint32_t grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    if (lg_is_grid_size(object, &grid[0]))
        return 0;
    if (PyTuple_CheckExact(object)) {
        const Py_ssize_t count = PyTuple_GET_SIZE(object);
        Py_ssize_t done = 0;
        while (done < count && done < 3 &&
               lg_is_grid_size(PyTuple_GET_ITEM(object, done), &grid[done]))
            done++;
        if (done > 0 && done == count)
            return 0;
    }
    grid[0] = grid[1] = grid[2] = 1;
    return lg_grid_from_list(kernel, object, grid);
}

static int lg_handle_from_int(const char *kernel, const char *what, PyObject *object,
                              void **handle)
{
    unsigned long long value = PyLong_AsUnsignedLongLong(object);
    if (value == (unsigned long long)-1 && PyErr_Occurred() != NULL) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_Format(PyExc_OverflowError, "%s: %s is no 64-bit handle: %.200R", kernel, what,
                         object);
        return -1;
    }
    *handle = (void *)(uintptr_t)value;
    return 0;
}

/* `__cuda_stream__` is CUDA Python's protocol, a method that returns (version, handle);
 * `cuda_stream` is PyTorch's attribute. */
LG_COLD
static int lg_stream_from_protocol(const char *kernel, PyObject *object, void **stream)
{
    PyObject *method = PyObject_GetAttrString(object, "__cuda_stream__");
    PyObject *handle = NULL;
    if (method != NULL) {
        PyObject *pair = PyObject_CallNoArgs(method);
        Py_DECREF(method);
        if (pair == NULL)
            return -1;
        if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
            handle = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
        Py_DECREF(pair);
    } else if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        handle = PyObject_GetAttrString(object, "cuda_stream");
        if (handle == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Clear();
    }
    if (PyErr_Occurred() != NULL)
        return -1;
    if (handle == NULL || !PyLong_Check(handle)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: stream must be an int, None, or have __cuda_stream__ or cuda_stream, "
                     "got %.200R of type %s",
                     kernel, object, Py_TYPE(object)->tp_name);
        Py_XDECREF(handle);
        return -1;
    }
    int status = lg_handle_from_int(kernel, "stream", handle, stream);
    Py_DECREF(handle);
    return status;
}

static inline int lg_stream_from_object(const char *kernel, PyObject *object, void **stream)
{
    *stream = NULL;
    if (object == Py_None)
        return 0;
    if (PyLong_Check(object))
        return lg_handle_from_int(kernel, "stream", object, stream);
    return lg_stream_from_protocol(kernel, object, stream);
}
