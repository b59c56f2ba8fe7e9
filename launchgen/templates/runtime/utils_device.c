/* ---- devices, contexts and streams ---- */

typedef struct lg_property {
    const char *name;
    int attribute;
} lg_property;

#define LG_PROPERTIES 7

static const lg_property lg_properties[LG_PROPERTIES] = {
    {"max_shared_mem", LG_DEVICE_SHARED_OPTIN},
    {"max_num_regs", LG_DEVICE_BLOCK_REGISTERS},
    {"multiprocessor_count", LG_DEVICE_MULTIPROCESSORS},
    {"warpSize", LG_DEVICE_WARP_SIZE},
    {"sm_clock_rate", LG_DEVICE_CLOCK_RATE},
    {"mem_clock_rate", LG_DEVICE_MEMORY_CLOCK_RATE},
    {"mem_bus_width", LG_DEVICE_MEMORY_BUS_WIDTH},
};

static int lg_find_capability(const char *who, int ordinal, int *device, int capability[2])
{
    int status = lg_find_device(who, ordinal, device);
    if (status == LG_SUCCESS)
        status = lg_read_device(who, *device, LG_DEVICE_CAPABILITY_MAJOR, &capability[0]);
    if (status == LG_SUCCESS)
        status = lg_read_device(who, *device, LG_DEVICE_CAPABILITY_MINOR, &capability[1]);
    return status;
}

static int lg_find_properties(const char *who, int ordinal, int values[LG_PROPERTIES])
{
    int device = 0;
    int capability[2] = {0, 0};
    int oversized = 0;
    int status = lg_find_capability(who, ordinal, &device, capability);
    for (int i = 0; status == LG_SUCCESS && i < LG_PROPERTIES; i++)
        status = lg_read_device(who, device, lg_properties[i].attribute, &values[i]);
    /* Triton 3.8 and newer count what the mode of oversized shared memory gives, on the devices
     * that have it and from drivers that know it. */
    if (status == LG_SUCCESS && capability[0] == 10 && capability[1] == 7 &&
        lg_cuda.device_attribute(&oversized, LG_DEVICE_SHARED_OVERSIZED, device) == LG_SUCCESS)
        values[0] = oversized;
    return status;
}

static PyObject *lg_get_device_properties(PyObject *module, PyObject *const *arguments,
                                          Py_ssize_t given)
{
    static const char *const who = "get_device_properties";
    int ordinal = 0;
    int values[LG_PROPERTIES] = {0};
    int status = LG_SUCCESS;
    if (lg_expect(who, given, 1) != 0 || lg_ordinal_from_object(who, arguments[0], &ordinal) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lg_find_properties(who, ordinal, values);
    Py_END_ALLOW_THREADS
    if (status != LG_SUCCESS)
        return lg_answer(module, status, NULL);
    PyObject *found = PyDict_New();
    for (int i = 0; found != NULL && i < LG_PROPERTIES; i++) {
        PyObject *value = PyLong_FromLong(values[i]);
        if (value == NULL || PyDict_SetItemString(found, lg_properties[i].name, value) != 0)
            Py_CLEAR(found);
        Py_XDECREF(value);
    }
    return found;
}

static PyObject *lg_get_device_capability(PyObject *module, PyObject *const *arguments,
                                          Py_ssize_t given)
{
    static const char *const who = "get_device_capability";
    int ordinal = 0;
    int device = 0;
    int capability[2] = {0, 0};
    int status = LG_SUCCESS;
    if (lg_expect(who, given, 1) != 0 || lg_ordinal_from_object(who, arguments[0], &ordinal) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lg_find_capability(who, ordinal, &device, capability);
    Py_END_ALLOW_THREADS
    return lg_answer(module, status, Py_BuildValue("(ii)", capability[0], capability[1]));
}

static int lg_find_current(const char *who, int *device)
{
    int status = lg_need_some_context(who);
    if (status != LG_SUCCESS)
        return status;
    status = lg_cuda.context_device(device);
    return status == LG_SUCCESS ? status : lg_driver_failed(who, "cuCtxGetDevice", status, "");
}

static PyObject *lg_get_current_device(PyObject *module, PyObject *const *arguments,
                                       Py_ssize_t given)
{
    static const char *const who = "get_current_device";
    int device = 0;
    int status = LG_SUCCESS;
    (void)arguments;
    if (lg_expect(who, given, 0) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lg_find_current(who, &device);
    Py_END_ALLOW_THREADS
    return lg_answer(module, status, PyLong_FromLong(device));
}

/* Reads the number of a device and makes its primary context current. */
static int lg_make_current(PyObject *module, const char *who, PyObject *const *arguments,
                           Py_ssize_t given)
{
    void *context = NULL;
    int ordinal = 0;
    int device = 0;
    int status = LG_SUCCESS;
    if (lg_expect(who, given, 1) != 0 || lg_ordinal_from_object(who, arguments[0], &ordinal) != 0)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    status = lg_find_device(who, ordinal, &device);
    if (status == LG_SUCCESS)
        status = lg_use_primary(who, device, &context);
    Py_END_ALLOW_THREADS
    return status == LG_SUCCESS ? 0 : lg_raise(module, status);
}

static PyObject *lg_set_current_device(PyObject *module, PyObject *const *arguments,
                                       Py_ssize_t given)
{
    if (lg_make_current(module, "set_current_device", arguments, given) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *lg_get_default_stream(PyObject *module, PyObject *const *arguments,
                                       Py_ssize_t given)
{
    if (lg_make_current(module, "get_default_stream", arguments, given) != 0)
        return NULL;
    return PyLong_FromLong(0);
}

static int lg_ask_capturing(const char *who, void *stream, int *capturing)
{
    void *context = NULL;
    int status = lg_need_utils(who);
    if (status == LG_SUCCESS)
        status = lg_need_context(who, stream, &context);
    if (status != LG_SUCCESS)
        return status;
    if (lg_cuda.stream_capturing == NULL)
        return lg_refuse(LG_ERROR_SYMBOL_NOT_FOUND, "%s: the driver has no cuStreamIsCapturing",
                         who);
    status = lg_cuda.stream_capturing(stream, capturing);
    return status == LG_SUCCESS ? status : lg_driver_failed(who, "cuStreamIsCapturing", status, "");
}

static PyObject *lg_is_stream_capturing(PyObject *module, PyObject *const *arguments,
                                        Py_ssize_t given)
{
    static const char *const who = "is_stream_capturing";
    static const lg_argument argument = {"argument 'stream'", "int"};
    void *stream = NULL;
    int capturing = 0;
    int status = LG_SUCCESS;
    if (lg_expect(who, given, 1) != 0 ||
        lg_handle_from_object(who, &argument, arguments[0], &stream) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lg_ask_capturing(who, stream, &capturing);
    Py_END_ALLOW_THREADS
    return lg_answer(module, status, PyBool_FromLong(capturing != 0));
}

/* Once a kernel has printed, the driver refuses to set the limit, even to what it is. */
static int lg_resize_printf(const char *who, size_t size)
{
    size_t old = 0;
    int status = lg_need_some_context(who);
    if (status != LG_SUCCESS)
        return status;
    status = lg_utils.limit_get(&old, LG_LIMIT_PRINTF);
    if (status != LG_SUCCESS)
        return lg_driver_failed(who, "cuCtxGetLimit", status, "");
    if (old == size)
        return LG_SUCCESS;
    status = lg_utils.limit_set(LG_LIMIT_PRINTF, size);
    if (status != LG_SUCCESS)
        return lg_driver_failed(who, "cuCtxSetLimit", status,
                                "; the size cannot change after a kernel that prints");
    return LG_SUCCESS;
}

static PyObject *lg_set_printf_fifo_size(PyObject *module, PyObject *const *arguments,
                                         Py_ssize_t given)
{
    static const char *const who = "set_printf_fifo_size";
    static const lg_argument argument = {"argument 'size'", "int"};
    int64_t size = 0;
    int status = LG_SUCCESS;
    if (lg_expect(who, given, 1) != 0 ||
        lg_signed_from_object(who, &argument, arguments[0], INT64_MIN, INT64_MAX, &size) != 0)
        return NULL;
    if (size < 0) {
        (void)lg_complain(PyExc_ValueError, who, &argument, "%lld is negative", (long long)size);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = lg_resize_printf(who, (size_t)size);
    Py_END_ALLOW_THREADS
    return lg_answer(module, status, Py_NewRef(Py_None));
}
