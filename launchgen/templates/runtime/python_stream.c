static const lg_argument lg_stream_argument = {"stream", "int, None or a stream object"};

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
