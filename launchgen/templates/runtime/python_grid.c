static const lg_argument lg_grid_axes[] = {{"grid x", "int"}, {"grid y", "int"}, {"grid z", "int"}};
static const lg_argument lg_whole_grid = {"grid", "int or tuple of one to three"};
static const lg_argument lg_stream_argument = {"stream", "int, None or a stream object"};

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

LG_COLD
static int lg_grid_from_list(const char *kernel, PyObject *object, uint32_t grid[3])
{
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        if (PyIndex_Check(object))
            return lg_any_grid_size(kernel, object, &lg_grid_axes[0], &grid[0]);
        return LG_WRONG_KIND(kernel, &lg_whole_grid, "an int or a tuple of one to three", object);
    }
    PyObject *sizes = PySequence_Tuple(object);
    if (sizes == NULL)
        return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(sizes);
    int status = 0;
    if (count < 1 || count > 3)
        status = lg_complain(PyExc_ValueError, kernel, &lg_whole_grid,
                             "expected one to three sizes, got %zd", count);
    for (Py_ssize_t i = 0; status == 0 && i < count; i++)
        status = lg_any_grid_size(kernel, PyTuple_GET_ITEM(sizes, i), &lg_grid_axes[i], &grid[i]);
    Py_DECREF(sizes);
    return status;
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

static int lg_handle_from_int(const char *kernel, const lg_argument *what, PyObject *object,
                              void **handle)
{
    const unsigned long long value = PyLong_AsUnsignedLongLong(object);
    if (LG_UNLIKELY(value == (unsigned long long)-1 && PyErr_Occurred() != NULL))
        return lg_complain(PyExc_OverflowError, kernel, what, "%.200R is no 64-bit handle",
                           object);
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
        Py_XDECREF(handle);
        return LG_WRONG_KIND(kernel, &lg_stream_argument,
                             "an int, None, or an object with __cuda_stream__ or cuda_stream",
                             object);
    }
    int status = lg_handle_from_int(kernel, &lg_stream_argument, handle, stream);
    Py_DECREF(handle);
    return status;
}

static inline int lg_stream_from_object(const char *kernel, PyObject *object, void **stream)
{
    *stream = NULL;
    if (object == Py_None)
        return 0;
    if (PyLong_Check(object))
        return lg_handle_from_int(kernel, &lg_stream_argument, object, stream);
    return lg_stream_from_protocol(kernel, object, stream);
}
