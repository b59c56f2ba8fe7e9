LG_COLD
static int lg_refuse_pointer(const char *kernel, const lg_argument *argument, PyObject *object,
                             uint64_t address)
{
    int owner = -1;
    int device = -1;
    const int owned =
        lg_cuda.pointer_attribute(&owner, LG_POINTER_DEVICE_ORDINAL, address) == LG_SUCCESS &&
        owner >= 0 && lg_cuda.context_device(&device) == LG_SUCCESS && owner != device;
    if (owned)
        return lg_complain(PyExc_ValueError, kernel, argument,
                           "%p of a %s lies on device %d, but device %d is current and cannot "
                           "reach it",
                           (const void *)(uintptr_t)address, Py_TYPE(object)->tp_name, owner,
                           device);
    return lg_complain(PyExc_ValueError, kernel, argument,
                       "%p of a %s is host memory that the GPU cannot reach (a CPU tensor?)",
                       (const void *)(uintptr_t)address, Py_TYPE(object)->tp_name);
}

/* Tells whether the thread had no current context, and now has one. */
LG_COLD
static int lg_bring_context(const char *kernel, void *stream, int *is_new)
{
    void *context = NULL;
    int status = lg_cuda.context_current(&context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxGetCurrent", status, "");
    *is_new = context == NULL;
    return *is_new ? lg_need_context(kernel, stream, &context) : LG_SUCCESS;
}

/* The driver tells the device's address of memory that an object owns, pinned and managed host
 * memory included. It answers in a context only: a thread that has none gets the one that a launch
 * would bring, and asks again. */
static int lg_translate(PyObject *module, const char *kernel, const lg_argument *argument,
                        PyObject *object, void *stream, uint64_t *address)
{
    uint64_t translated = 0;
    if (*address == 0)
        return 0;
    int status = LG_SUCCESS;
    if (LG_UNLIKELY(!lg_is_driver_open())) {
        Py_BEGIN_ALLOW_THREADS
        status = lg_need_driver(kernel);
        Py_END_ALLOW_THREADS
        if (status != LG_SUCCESS)
            return lg_raise(module, status);
    }
    status = lg_cuda.pointer_attribute(&translated, LG_POINTER_DEVICE_POINTER, *address);
    if (LG_UNLIKELY(status != LG_SUCCESS)) {
        int is_new = 0;
        int asked = LG_SUCCESS;
        Py_BEGIN_ALLOW_THREADS
        asked = lg_bring_context(kernel, stream, &is_new);
        Py_END_ALLOW_THREADS
        if (asked != LG_SUCCESS)
            return lg_raise(module, asked);
        if (is_new)
            status = lg_cuda.pointer_attribute(&translated, LG_POINTER_DEVICE_POINTER, *address);
    }
    if (LG_UNLIKELY(status == LG_ERROR_INVALID_VALUE))
        return lg_refuse_pointer(kernel, argument, object, *address);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return lg_raise(module,
                        lg_driver_failed(kernel, "cuPointerGetAttribute", status, ""));
    *address = translated;
    return 0;
}

/* Protocols answer 1 with an address, 0 where the object does not have them, -1 with an
 * exception: the object's own where it raised one. */
static int lg_address_from_data_ptr(PyObject *module, const char *kernel,
                                    const lg_argument *argument, PyObject *object,
                                    uint64_t *address)
{
    const lg_module *state = lg_module_of(module);
    PyObject *result = PyObject_CallMethodNoArgs(object, state->texts[LG_TEXT_DATA_PTR]);
    if (result == NULL)
        return lg_lacks(object, "data_ptr") ? 0 : -1;
    int status = 1;
    if (LG_UNLIKELY(!PyLong_Check(result)))
        status = lg_complain(PyExc_TypeError, kernel, argument,
                             "data_ptr() returned %.200R, not an int", result);
    else if (LG_UNLIKELY(lg_address_from_int(kernel, argument, result, address) != 0))
        status = -1;
    Py_DECREF(result);
    return status;
}

LG_COLD
static int lg_address_from_interface(const char *kernel, const lg_argument *argument,
                                     PyObject *object, uint64_t *address)
{
    PyObject *interface = PyObject_GetAttrString(object, "__cuda_array_interface__");
    if (interface == NULL)
        return lg_lacks(object, "__cuda_array_interface__") ? 0 : -1;
    PyObject *data = NULL;
    PyObject *number = NULL;
    int status = -1;
    if (PyMapping_Check(interface))
        data = PyMapping_GetItemString(interface, "data");
    if (data != NULL && PyTuple_Check(data) && PyTuple_GET_SIZE(data) == 2)
        number = PyTuple_GET_ITEM(data, 0);
    if (number == NULL || !PyLong_Check(number))
        (void)lg_complain(PyExc_TypeError, kernel, argument,
                          "__cuda_array_interface__ without an address in 'data'");
    else if (lg_address_from_int(kernel, argument, number, address) == 0)
        status = 1;
    Py_XDECREF(data);
    Py_DECREF(interface);
    return status;
}

/* The start of DLPack's DLManagedTensor, which has kept this layout since its first release. */
typedef struct lg_dlpack_tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t dimensions;
    uint8_t type_code;
    uint8_t type_bits;
    uint16_t type_lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} lg_dlpack_tensor;

enum { LG_DLPACK_CUDA = 2, LG_DLPACK_CUDA_MANAGED = 13 };

/* -1 asks a producer on the GPU not to synchronise: ordering is the caller's, by the stream. */
LG_COLD
static PyObject *lg_dlpack_capsule(const char *kernel, const lg_argument *argument,
                                   PyObject *object)
{
    int type = 0;
    int number = 0;
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    if (device == NULL)
        return NULL;
    int parsed = PyTuple_Check(device) && PyArg_ParseTuple(device, "ii", &type, &number);
    Py_DECREF(device);
    if (!parsed) {
        (void)lg_complain(PyExc_TypeError, kernel, argument,
                          "__dlpack_device__() returned no pair of ints");
        return NULL;
    }
    if (type != LG_DLPACK_CUDA && type != LG_DLPACK_CUDA_MANAGED)
        return PyObject_CallMethod(object, "__dlpack__", NULL);
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (method == NULL)
        return NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *options = none == NULL ? NULL : Py_BuildValue("{s:i}", "stream", -1);
    PyObject *capsule = options == NULL ? NULL : PyObject_Call(method, none, options);
    Py_DECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(options);
    return capsule;
}

LG_COLD
static int lg_address_from_dlpack(const char *kernel, const lg_argument *argument,
                                  PyObject *object, uint64_t *address)
{
    PyObject *capsule = lg_dlpack_capsule(kernel, argument, object);
    if (capsule == NULL)
        return lg_lacks(object, "__dlpack_device__") ? 0 : -1;
    const lg_dlpack_tensor *tensor =
        (const lg_dlpack_tensor *)PyCapsule_GetPointer(capsule, "dltensor");
    if (tensor != NULL)
        *address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    Py_DECREF(capsule);
    return tensor != NULL ? 1 : lg_explain(kernel, argument);
}

LG_COLD
static int lg_pointer_without_data_ptr(PyObject *module, const char *kernel,
                                       const lg_argument *argument, PyObject *object,
                                       void *stream, uint64_t *address)
{
    int found = lg_address_from_interface(kernel, argument, object, address);
    if (found == 0)
        found = lg_address_from_dlpack(kernel, argument, object, address);
    if (found < 0)
        return -1;
    if (found > 0)
        return lg_translate(module, kernel, argument, object, stream, address);
    if (!PyIndex_Check(object))
        return LG_WRONG_KIND(kernel, argument,
                             "an int, None, or an object with data_ptr(), "
                             "__cuda_array_interface__ or __dlpack__",
                             object);
    PyObject *number = PyNumber_Index(object);
    if (number == NULL)
        return lg_explain(kernel, argument);
    int status = lg_address_from_int(kernel, argument, number, address);
    Py_DECREF(number);
    return status;
}

/* A plain int is taken as the device's address, as given. */
static int lg_pointer_from_object(PyObject *module, const char *kernel,
                                  const lg_argument *argument, PyObject *object, void *stream,
                                  uint64_t *address)
{
    if (PyLong_Check(object))
        return lg_address_from_int(kernel, argument, object, address);
    *address = 0;
    if (object == Py_None)
        return 0;
    int found = lg_address_from_data_ptr(module, kernel, argument, object, address);
    if (found < 0)
        return -1;
    if (LG_UNLIKELY(found == 0))
        return lg_pointer_without_data_ptr(module, kernel, argument, object, stream, address);
    return lg_translate(module, kernel, argument, object, stream, address);
}
