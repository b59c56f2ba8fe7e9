/* The codes that this launcher returns on its own, also where there is no driver to name them. */
LG_COLD
static const char *lg_own_error_name(int status)
{
    switch (status) {
    case LG_ERROR_OUT_OF_MEMORY:
        return "CUDA_ERROR_OUT_OF_MEMORY";
    case LG_ERROR_NOT_INITIALIZED:
        return "CUDA_ERROR_NOT_INITIALIZED";
    case LG_ERROR_STUB_LIBRARY:
        return "CUDA_ERROR_STUB_LIBRARY";
    case LG_ERROR_INVALID_IMAGE:
        return "CUDA_ERROR_INVALID_IMAGE";
    case LG_ERROR_NO_BINARY_FOR_GPU:
        return "CUDA_ERROR_NO_BINARY_FOR_GPU";
    case LG_ERROR_SYMBOL_NOT_FOUND:
        return "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND";
    case LG_ERROR_LIBRARY_NOT_FOUND:
        return "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED";
    case LG_ERROR_NOT_SUPPORTED:
        return "CUDA_ERROR_NOT_SUPPORTED";
    default:
        return "CUDA_ERROR_UNKNOWN";
    }
}

/* Takes over the reference to `value`, which may be NULL with an exception set. */
LG_COLD
static int lg_add(PyObject *module, const char *name, PyObject *value)
{
    int status = value == NULL ? -1 : PyModule_AddObjectRef(module, name, value);
    Py_XDECREF(value);
    return status;
}

/* Adds the exception that lg_raise raises; `name` is its full name, "module.CudaError". */
LG_COLD
static int lg_add_exception(PyObject *module, const char *name)
{
    PyObject *error = PyErr_NewExceptionWithDoc(
        name, "A call of the CUDA driver failed: `code` and `name` say how.", PyExc_RuntimeError,
        NULL);
    lg_module_of(module)->cuda_error = error;
    return lg_add(module, "CudaError", Py_XNewRef(error));
}

/* Turns what the core returned into an exception: its own refusals of a value are ValueErrors,
 * everything else is a CudaError with `code` and `name`. */
LG_COLD
static int lg_raise(PyObject *module, int status)
{
    const char *name = NULL;
    /* The text may be cut inside a character, and hold what the system says in its own way. */
    PyObject *said = PyUnicode_DecodeUTF8(lg_last_failure.text,
                                          (Py_ssize_t)strlen(lg_last_failure.text), "replace");
    if (said == NULL)
        return -1;
    if (lg_last_failure.refused && status == LG_ERROR_INVALID_VALUE) {
        PyErr_SetObject(PyExc_ValueError, said);
        Py_DECREF(said);
        return -1;
    }
    /* Behind a refusal there need not be a driver, or another thread is just finding it. */
    if (lg_last_failure.refused || lg_cuda.get_error_name(status, &name) != LG_SUCCESS ||
        name == NULL)
        name = lg_own_error_name(status);
    PyObject *type = lg_module_of(module)->cuda_error;
    PyObject *error = PyObject_CallFunctionObjArgs(type, said, NULL);
    Py_DECREF(said);
    if (error == NULL)
        return -1;
    PyObject *code = PyLong_FromLong(status);
    PyObject *text = PyUnicode_FromString(name);
    if (code != NULL && text != NULL && PyObject_SetAttrString(error, "code", code) == 0 &&
        PyObject_SetAttrString(error, "name", text) == 0)
        PyErr_SetObject(type, error);
    Py_XDECREF(code);
    Py_XDECREF(text);
    Py_DECREF(error);
    return -1;
}
