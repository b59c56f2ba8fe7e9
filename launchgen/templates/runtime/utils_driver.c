/* What only these functions ask of the driver: entry points and numbers of their own, which no
 * launcher has to look up. */
enum {
    LG_DEVICE_WARP_SIZE = 10,
    LG_DEVICE_BLOCK_REGISTERS = 12,
    LG_DEVICE_CLOCK_RATE = 13,
    LG_DEVICE_MULTIPROCESSORS = 16,
    LG_DEVICE_MEMORY_CLOCK_RATE = 36,
    LG_DEVICE_MEMORY_BUS_WIDTH = 37,
    LG_DEVICE_SHARED_OVERSIZED = 150,
    LG_FUNCTION_MAX_THREADS = 0,
    LG_FUNCTION_LOCAL_BYTES = 3,
    LG_FUNCTION_REGISTERS = 4,
    LG_CACHE_PREFER_SHARED = 1,
    LG_LIMIT_PRINTF = 1
};

typedef struct lg_utils_driver {
    int (*device_get)(int *device, int ordinal);
    int (*limit_get)(size_t *value, int limit);
    int (*limit_set)(int limit, size_t value);
    int (*function_cache)(void *function, int preference);
    int (*active_clusters)(int *count, void *function, const lg_launch_config *config);
} lg_utils_driver;

#define LG_ENTRY(member, symbol, required) {symbol, offsetof(lg_utils_driver, member), required}

static const lg_entry_point lg_utils_entry_points[] = {
    LG_ENTRY(device_get, "cuDeviceGet", 1),
    LG_ENTRY(limit_get, "cuCtxGetLimit", 1),
    LG_ENTRY(limit_set, "cuCtxSetLimit", 1),
    LG_ENTRY(function_cache, "cuFuncSetCacheConfig", 1),
    LG_ENTRY(active_clusters, "cuOccupancyMaxActiveClusters", 0),
};

#undef LG_ENTRY

LG_STATIC_ASSERT(sizeof lg_utils_entry_points / sizeof lg_utils_entry_points[0] ==
                     sizeof(lg_utils_driver) / sizeof(void *),
                 "every member is looked up");

static lg_utils_driver lg_utils;
static int lg_utils_ready;

LG_COLD
static int lg_open_utils(const char *who)
{
    int status = lg_lock(who, &lg_cuda_mutex);
    if (status != LG_SUCCESS)
        return status;
    if (!lg_utils_ready) {
        /* The driver that is open already: this only counts it once more. */
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            status = lg_refuse(LG_ERROR_LIBRARY_NOT_FOUND, "%s: no NVIDIA driver: %s", who,
                               dlerror());
        else
            status = lg_look_up(who, library, lg_utils_entry_points,
                                sizeof lg_utils_entry_points / sizeof lg_utils_entry_points[0],
                                &lg_utils);
        if (status == LG_SUCCESS)
            __atomic_store_n(&lg_utils_ready, 1, __ATOMIC_RELEASE);
    }
    (void)pthread_mutex_unlock(&lg_cuda_mutex);
    return status;
}

static int lg_need_utils(const char *who)
{
    int status = lg_need_driver(who);
    if (status != LG_SUCCESS || __atomic_load_n(&lg_utils_ready, __ATOMIC_ACQUIRE))
        return status;
    return lg_open_utils(who);
}

/* A device by its number, as callers count them. */
static int lg_find_device(const char *who, int ordinal, int *device)
{
    char detail[64];
    int status = lg_need_utils(who);
    if (status != LG_SUCCESS)
        return status;
    status = lg_utils.device_get(device, ordinal);
    if (status == LG_SUCCESS)
        return LG_SUCCESS;
    (void)snprintf(detail, sizeof detail, "; device %d of %d", ordinal, lg_cuda_devices);
    return lg_driver_failed(who, "cuDeviceGet", status, detail);
}

/* A current context is used as it is, whatever made it; a thread without one gets device 0's. */
static int lg_need_some_context(const char *who)
{
    void *context = NULL;
    int status = lg_need_utils(who);
    return status != LG_SUCCESS ? status : lg_need_context(who, NULL, &context);
}

static int lg_read_device(const char *who, int device, int attribute, int *value)
{
    char detail[64];
    int status = lg_cuda.device_attribute(value, attribute, device);
    if (status == LG_SUCCESS)
        return LG_SUCCESS;
    (void)snprintf(detail, sizeof detail, "; attribute %d of device %d", attribute, device);
    return lg_driver_failed(who, "cuDeviceGetAttribute", status, detail);
}
