/* The driver is found when it is first needed, so that this file links without it and loads on a
 * machine that has none. Entry points are asked for by their exported names, whose prototypes
 * never change; those that some drivers lack stay NULL. */
typedef struct lg_driver {
    int (*init)(unsigned int flags);
    int (*get_error_name)(int status, const char **text);
    int (*get_error_string)(int status, const char **text);
    int (*device_count)(int *count);
    int (*context_current)(void **context);
    int (*context_set)(void *context);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
    int (*context_device)(int *device);
    int (*primary_retain)(void **context, int device);
    int (*stream_context)(void *stream, void **context);
    int (*stream_capturing)(void *stream, int *capturing);
    int (*launch_plain)(void *function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, void *stream,
                        void **slots, void **extra);
    int (*launch)(const lg_launch_config *config, void *function, void **slots, void **extra);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*function_get)(int *value, int attribute, void *function);
    int (*function_set)(void *function, int attribute, int value);
    int (*function_parameter)(void *function, size_t index, size_t *offset, size_t *size);
    int (*kernel_get)(int *value, int attribute, void *kernel, int device);
    int (*kernel_set)(int attribute, int value, void *kernel, int device);
    int (*kernel_parameter)(void *kernel, size_t index, size_t *offset, size_t *size);
    int (*kernel_function)(void **function, void *kernel);
    int (*library_load)(void **library, const void *image, int *jit_options, void **jit_values,
                        unsigned int jit_count, int *options, void **values, unsigned int count);
    int (*library_unload)(void *library);
    int (*library_kernel)(void **kernel, void *library, const char *entry);
    int (*module_load)(void **module, const void *image);
    int (*module_unload)(void *module);
    int (*module_function)(void **function, void *module, const char *entry);
    int (*pointer_attribute)(void *value, int attribute, uint64_t pointer);
    int (*driver_version)(int *version);
    int (*map_tiled)(void *map, int type, uint32_t rank, void *base, const uint64_t *sizes,
                     const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                     int interleave, int swizzle, int promotion, int fill);
    int (*map_im2col)(void *map, int type, uint32_t rank, void *base, const uint64_t *sizes,
                      const uint64_t *strides, const int *lower, const int *upper,
                      uint32_t channels, uint32_t pixels, const uint32_t *element_strides,
                      int interleave, int swizzle, int promotion, int fill);
} lg_driver;

typedef struct lg_entry_point {
    const char *symbol;
    size_t offset;
    int required;
} lg_entry_point;

#define LG_ENTRY(member, symbol, required) {symbol, offsetof(lg_driver, member), required}

static const lg_entry_point lg_entry_points[] = {
    LG_ENTRY(init, "cuInit", 1),
    LG_ENTRY(get_error_name, "cuGetErrorName", 1),
    LG_ENTRY(get_error_string, "cuGetErrorString", 1),
    LG_ENTRY(device_count, "cuDeviceGetCount", 1),
    LG_ENTRY(context_current, "cuCtxGetCurrent", 1),
    LG_ENTRY(context_set, "cuCtxSetCurrent", 1),
    LG_ENTRY(context_push, "cuCtxPushCurrent_v2", 1),
    LG_ENTRY(context_pop, "cuCtxPopCurrent_v2", 1),
    LG_ENTRY(context_device, "cuCtxGetDevice", 1),
    LG_ENTRY(primary_retain, "cuDevicePrimaryCtxRetain", 1),
    LG_ENTRY(stream_context, "cuStreamGetCtx", 0),
    LG_ENTRY(stream_capturing, "cuStreamIsCapturing", 0),
    LG_ENTRY(launch_plain, "cuLaunchKernel", 1),
    LG_ENTRY(launch, "cuLaunchKernelEx", 0),
    LG_ENTRY(device_attribute, "cuDeviceGetAttribute", 1),
    LG_ENTRY(function_get, "cuFuncGetAttribute", 1),
    LG_ENTRY(function_set, "cuFuncSetAttribute", 1),
    LG_ENTRY(function_parameter, "cuFuncGetParamInfo", 0),
    LG_ENTRY(kernel_get, "cuKernelGetAttribute", 0),
    LG_ENTRY(kernel_set, "cuKernelSetAttribute", 0),
    LG_ENTRY(kernel_parameter, "cuKernelGetParamInfo", 0),
    LG_ENTRY(kernel_function, "cuKernelGetFunction", 0),
    LG_ENTRY(library_load, "cuLibraryLoadData", 0),
    LG_ENTRY(library_unload, "cuLibraryUnload", 0),
    LG_ENTRY(library_kernel, "cuLibraryGetKernel", 0),
    LG_ENTRY(module_load, "cuModuleLoadData", 1),
    LG_ENTRY(module_unload, "cuModuleUnload", 1),
    LG_ENTRY(module_function, "cuModuleGetFunction", 1),
    LG_ENTRY(pointer_attribute, "cuPointerGetAttribute", 1),
    LG_ENTRY(driver_version, "cuDriverGetVersion", 1),
    LG_ENTRY(map_tiled, "cuTensorMapEncodeTiled", 0),
    LG_ENTRY(map_im2col, "cuTensorMapEncodeIm2col", 0),
};

#undef LG_ENTRY

LG_STATIC_ASSERT(sizeof lg_entry_points / sizeof lg_entry_points[0] ==
                     sizeof(lg_driver) / sizeof(void *),
                 "every member is looked up");

/* `ready` is written last and read first; all else is constant once it is set. Without `found` the
 * table may be half full, of a driver that lacks a call. */
static lg_driver lg_cuda;
static int lg_cuda_devices;
static int lg_cuda_found;
static int lg_cuda_ready;
static pthread_mutex_t lg_cuda_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Reports a failed call of the driver by its name and code; `detail` is added to the text. */
LG_COLD
static int lg_driver_failed(const char *kernel, const char *call, int status, const char *detail)
{
    const char *name = NULL;
    const char *text = NULL;
    if (lg_cuda.get_error_name(status, &name) != LG_SUCCESS || name == NULL)
        name = "unknown error";
    if (lg_cuda.get_error_string(status, &text) != LG_SUCCESS || text == NULL)
        text = "the driver has no text for it";
    lg_refuse(status, "%s: %s failed: %s (%d): %s%s%s", kernel, call, name, status, text, detail,
              status == LG_ERROR_NOT_INITIALIZED ? "; " LG_FORKED : "");
    lg_last_failure.refused = 0;
    return status;
}

/* Drivers before CUDA 11.6 have no cuLaunchKernelEx; without attributes the older call does. */
static int lg_launch_without_attributes(const lg_launch_config *config, void *function,
                                        void **slots, void **extra)
{
    if (config->attribute_count != 0)
        return LG_ERROR_NOT_SUPPORTED;
    return lg_cuda.launch_plain(function, config->grid_x, config->grid_y, config->grid_z,
                                config->block_x, config->block_y, config->block_z,
                                config->shared_bytes, config->stream, slots, extra);
}

LG_COLD
static int lg_look_up(const char *kernel, void *library, const lg_entry_point *entries,
                      size_t count, void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, entries[i].symbol);
        if (symbol == NULL && entries[i].required)
            return lg_refuse(LG_ERROR_SYMBOL_NOT_FOUND, "%s: the driver has no %s", kernel,
                             entries[i].symbol);
        /* ISO C has no conversion of an object's address to a function's; POSIX has this one. */
        *(void **)(void *)((char *)table + entries[i].offset) = symbol;
    }
    return LG_SUCCESS;
}

LG_COLD
static int lg_find_entry_points(const char *kernel, void *library)
{
    int status = lg_look_up(kernel, library, lg_entry_points,
                            sizeof lg_entry_points / sizeof lg_entry_points[0], &lg_cuda);
    if (status != LG_SUCCESS)
        return status;
    if (lg_cuda.launch == NULL)
        lg_cuda.launch = lg_launch_without_attributes;
    /* Libraries are of use with all their calls or not at all. */
    if (lg_cuda.library_unload == NULL || lg_cuda.library_kernel == NULL ||
        lg_cuda.kernel_function == NULL || lg_cuda.kernel_get == NULL || lg_cuda.kernel_set == NULL)
        lg_cuda.library_load = NULL;
    return LG_SUCCESS;
}

/* LG_LIBCUDA, a string, is a path that this launcher tries before all others. */
#ifndef LG_LIBCUDA
#define LG_LIBCUDA NULL
#endif

#define LG_DRIVER "libcuda.so.1"

#if defined(__x86_64__)
#define LG_MULTIARCH "/usr/lib/x86_64-linux-gnu/"
#else
#define LG_MULTIARCH "/usr/lib/aarch64-linux-gnu/"
#endif

/* NULL as well in a program that runs with more rights than who started it: who could name a
 * library there would have these rights. */
LG_COLD
static const char *lg_environment(const char *name)
{
    char *(*get)(const char *name) = NULL;
    /* secure_getenv needs no header that strict C hides; NULL is RTLD_DEFAULT. */
    *(void **)(void *)&get = dlsym(NULL, "secure_getenv");
    const char *value = get == NULL ? NULL : get(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

/* Fills the table from a library and starts the driver: `started` is what its cuInit returned.
 * The CUDA toolkit's stub only looks like a driver; it is closed, or the loader would take it for
 * any other library of its name. */
LG_COLD
static int lg_try_driver(const char *kernel, const char *path, int flag, int *started)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flag);
    if (library == NULL)
        return LG_ERROR_LIBRARY_NOT_FOUND;
    int status = lg_find_entry_points(kernel, library);
    if (status == LG_SUCCESS) {
        *started = lg_cuda.init(0);
        if (*started != LG_ERROR_STUB_LIBRARY) {
            lg_cuda_found = 1;
            return LG_SUCCESS;
        }
        status = LG_ERROR_STUB_LIBRARY;
    }
    (void)dlclose(library);
    return status;
}

/* Takes the first driver of all places. A process that has one keeps it, because two of them know
 * nothing of each other. */
LG_COLD
static int lg_find_driver(const char *kernel, int *started)
{
    /* What is cut off here is longer than the longest path, and is refused as such. */
    char inside[4096 + sizeof LG_DRIVER];
    char tried[sizeof lg_last_failure.text] = "";
    size_t length = 0;
    int has_stub = 0;
    const char *asked = lg_environment("TRITON_LIBCUDA_PATH");
    const char *const places[] = {
        LG_DRIVER, /* only if it is loaded */
        LG_LIBCUDA,
        asked == NULL ? NULL : inside,
        asked,
        LG_DRIVER, /* LD_LIBRARY_PATH and the linker's cache */
        LG_MULTIARCH LG_DRIVER,
        "/usr/lib64/" LG_DRIVER,
        "/usr/lib/" LG_DRIVER,
        "/usr/local/nvidia/lib64/" LG_DRIVER,
        "/usr/lib/wsl/lib/" LG_DRIVER,
        "/run/opengl-driver/lib/" LG_DRIVER,
    };
    const size_t first_usual = 5;
    if (asked != NULL)
        (void)snprintf(inside, sizeof inside, "%s/" LG_DRIVER, asked);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] == NULL)
            continue;
        const char *before = length == 0 ? "" : "; ";
        const char *what = places[i];
        const char *after = "";
        int status = lg_try_driver(kernel, places[i], i == 0 ? RTLD_NOLOAD : 0, started);
        if (status == LG_SUCCESS || status == LG_ERROR_SYMBOL_NOT_FOUND)
            return status;
        if (status == LG_ERROR_STUB_LIBRARY) {
            has_stub = 1;
            after = " is a stub";
        } else if (i < first_usual) {
            what = dlerror();
        } else {
            before = "; nor at ";
        }
        if (i > 0 && length < sizeof tried)
            length += (size_t)snprintf(tried + length, sizeof tried - length, "%s%s%s", before,
                                       what, after);
    }
    if (has_stub)
        return lg_refuse(LG_ERROR_STUB_LIBRARY,
                         "%s: cuInit failed: CUDA_ERROR_STUB_LIBRARY (34): libcuda.so.1 is the "
                         "CUDA toolkit's stub, not a driver; take its folder off the library "
                         "path: %s", kernel, tried);
    return lg_refuse(LG_ERROR_LIBRARY_NOT_FOUND, "%s: no NVIDIA driver: %s", kernel, tried);
}

LG_COLD
static int lg_start_driver(const char *kernel)
{
    int status = LG_SUCCESS;
    if (lg_cuda_found) {
        status = lg_cuda.init(0);
    } else {
        int found = lg_find_driver(kernel, &status);
        if (found != LG_SUCCESS)
            return found;
    }
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuInit", status, "");
    status = lg_cuda.device_count(&lg_cuda_devices);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuDeviceGetCount", status, "");
    __atomic_store_n(&lg_cuda_ready, 1, __ATOMIC_RELEASE);
    return LG_SUCCESS;
}

/* A failed start is tried again by the next call: the fault may be gone by then. */
LG_COLD
static int lg_open_driver(const char *kernel)
{
    lg_claim_process();
    int status = lg_lock(kernel, &lg_cuda_mutex);
    if (status != LG_SUCCESS)
        return status;
    if (!lg_cuda_ready)
        status = lg_start_driver(kernel);
    if (!lg_cuda_found)
        lg_unclaim_process();
    (void)pthread_mutex_unlock(&lg_cuda_mutex);
    return status;
}

static inline int lg_is_driver_open(void)
{
    return __atomic_load_n(&lg_cuda_ready, __ATOMIC_ACQUIRE);
}

static inline int lg_need_driver(const char *kernel)
{
    if (LG_UNLIKELY(!lg_is_driver_open()))
        return lg_open_driver(kernel);
    return LG_SUCCESS;
}
