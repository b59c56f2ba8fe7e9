/* ---- modules and functions ---- */

typedef struct lg_binary {
    void *module;
    void *function;
    int registers;
    int local_bytes;
    int threads;
} lg_binary;

/* The driver is told no size: of a cubin that is cut off it would read what lies behind. */
static int lg_check_image(const char *who, const char *image, size_t size)
{
    uint64_t offsets[2];
    uint16_t counts[4];
    if (size == 0)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the image is empty", who);
    if (size < 4 || memcmp(image, "\177ELF", 4) != 0)
        return LG_SUCCESS;
    uint64_t needed = 64;
    if (size >= needed) {
        /* Offsets of the tables of segments and sections; then size and count of their entries. */
        memcpy(offsets, image + 32, sizeof offsets);
        memcpy(counts, image + 54, sizeof counts);
        for (int i = 0; i < 2; i++) {
            const uint64_t table = (uint64_t)counts[2 * i] * counts[2 * i + 1];
            uint64_t end = 0;
            if (__builtin_add_overflow(offsets[i], table, &end))
                end = UINT64_MAX;
            needed = table != 0 && end > needed ? end : needed;
        }
    }
    if (size < needed)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: the image is cut off: it has %llu bytes, and its header tells of "
                         "%llu",
                         who, (unsigned long long)size, (unsigned long long)needed);
    return LG_SUCCESS;
}

/* Loads go to the current context, so it has to be one of the device that was named. */
static int lg_enter_device(const char *who, int device)
{
    void *context = NULL;
    int current = 0;
    int status = lg_cuda.context_current(&context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(who, "cuCtxGetCurrent", status, "");
    if (context == NULL)
        return lg_use_primary(who, device, &context);
    status = lg_cuda.context_device(&current);
    if (status != LG_SUCCESS)
        return lg_driver_failed(who, "cuCtxGetDevice", status, "");
    if (current != device)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: the kernel is for device %d, but device %d is current", who, device,
                         current);
    return LG_SUCCESS;
}

static int lg_inspect_binary(const lg_variant *variant, int device, lg_binary *made)
{
    const lg_function function = {made->function, device, 0};
    int status = lg_get_attribute(variant, &function, LG_FUNCTION_REGISTERS, &made->registers);
    if (status == LG_SUCCESS)
        status = lg_get_attribute(variant, &function, LG_FUNCTION_LOCAL_BYTES, &made->local_bytes);
    if (status == LG_SUCCESS)
        status = lg_get_attribute(variant, &function, LG_FUNCTION_MAX_THREADS, &made->threads);
    if (status == LG_SUCCESS)
        status = lg_prepare(variant, made->function, device, 0);
    if (status != LG_SUCCESS || variant->shared <= LG_DEFAULT_SHARED || variant->oversized_shared)
        return status;
    status = lg_utils.function_cache(made->function, LG_CACHE_PREFER_SHARED);
    if (status != LG_SUCCESS)
        return lg_driver_failed(variant->name, "cuFuncSetCacheConfig", status, "");
    return LG_SUCCESS;
}

static int lg_load_image(const lg_variant *variant, const char *image, size_t size, int ordinal,
                         lg_binary *made)
{
    int device = 0;
    int status = lg_check_image(variant->name, image, size);
    if (status == LG_SUCCESS)
        status = lg_find_device(variant->name, ordinal, &device);
    if (status == LG_SUCCESS)
        status = lg_enter_device(variant->name, device);
    if (status != LG_SUCCESS)
        return status;
    status = lg_cuda.module_load(&made->module, image);
    if (status != LG_SUCCESS)
        return lg_driver_failed(variant->name, "cuModuleLoadData", status, "");
    status = lg_cuda.module_function(&made->function, made->module, variant->entry);
    if (status != LG_SUCCESS)
        status = lg_driver_failed(variant->name, "cuModuleGetFunction", status, "");
    else
        status = lg_inspect_binary(variant, device, made);
    if (status != LG_SUCCESS)
        (void)lg_cuda.module_unload(made->module);
    return status;
}

/* Text and bytes end with a zero, which the driver reads PTX up to; of anything else that holds
 * bytes such a copy is made. */
static PyObject *lg_binary_image(const char *who, PyObject *object, const char **image,
                                 Py_ssize_t *size)
{
    static const lg_argument argument = {"argument 'image'", "bytes"};
    PyObject *owner = NULL;
    if (PyUnicode_Check(object)) {
        *image = PyUnicode_AsUTF8AndSize(object, size);
        return *image == NULL ? NULL : Py_NewRef(object);
    }
    if (PyBytes_Check(object)) {
        owner = Py_NewRef(object);
    } else if (PyObject_CheckBuffer(object)) {
        owner = PyBytes_FromObject(object);
    } else {
        (void)LG_WRONG_KIND(who, &argument, "bytes", object);
    }
    if (owner == NULL)
        return NULL;
    *image = PyBytes_AS_STRING(owner);
    *size = PyBytes_GET_SIZE(owner);
    return owner;
}

static const char *lg_name_from_object(const char *who, PyObject *object)
{
    static const lg_argument argument = {"argument 'name'", "str"};
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(object)) {
        (void)LG_WRONG_KIND(who, &argument, "a str", object);
        return NULL;
    }
    const char *name = PyUnicode_AsUTF8AndSize(object, &size);
    if (name == NULL || strlen(name) == (size_t)size)
        return name;
    (void)lg_complain(PyExc_ValueError, who, &argument, "%.200R holds a zero", object);
    return NULL;
}

static PyObject *lg_load_binary(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    static const char *const who = "load_binary";
    static const lg_argument argument = {"argument 'shared'", "int"};
    char called[256];
    const char *image = NULL;
    Py_ssize_t size = 0;
    int shared = 0;
    int ordinal = 0;
    int status = LG_SUCCESS;
    lg_variant variant;
    lg_binary made;
    if (lg_expect(who, given, 4) != 0)
        return NULL;
    memset(&variant, 0, sizeof variant);
    memset(&made, 0, sizeof made);
    variant.entry = lg_name_from_object(who, arguments[0]);
    if (variant.entry == NULL ||
        lg_int_from_object(who, &argument, arguments[2], 0, INT32_MAX, &shared) != 0 ||
        lg_ordinal_from_object(who, arguments[3], &ordinal) != 0)
        return NULL;
    PyObject *owner = lg_binary_image(who, arguments[1], &image, &size);
    if (owner == NULL)
        return NULL;
    (void)snprintf(called, sizeof called, "%s: %.200s", who, variant.entry);
    variant.name = called;
    variant.shared = (uint32_t)shared;
    variant.oversized_shared = variant.shared > LG_LARGEST_SHARED;
    Py_BEGIN_ALLOW_THREADS
    status = lg_load_image(&variant, image, (size_t)size, ordinal, &made);
    Py_END_ALLOW_THREADS
    Py_DECREF(owner);
    if (status != LG_SUCCESS)
        return lg_answer(module, status, NULL);
    /* A spilled register is four bytes of local memory. */
    return Py_BuildValue("(KKiii)", (unsigned long long)(uintptr_t)made.module,
                         (unsigned long long)(uintptr_t)made.function, made.registers,
                         made.local_bytes / 4, made.threads);
}

static int lg_drop_module(const char *who, void *loaded)
{
    int status = lg_need_some_context(who);
    if (status != LG_SUCCESS)
        return status;
    status = lg_cuda.module_unload(loaded);
    return status == LG_SUCCESS ? status : lg_driver_failed(who, "cuModuleUnload", status, "");
}

static PyObject *lg_unload_module(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    static const char *const who = "unload_module";
    static const lg_argument argument = {"argument 'module'", "int"};
    void *loaded = NULL;
    int status = LG_SUCCESS;
    if (lg_expect(who, given, 1) != 0 ||
        lg_handle_from_object(who, &argument, arguments[0], &loaded) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lg_drop_module(who, loaded);
    Py_END_ALLOW_THREADS
    return lg_answer(module, status, Py_NewRef(Py_None));
}
