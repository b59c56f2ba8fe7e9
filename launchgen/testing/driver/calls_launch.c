/* Entry points: the launch. */
#include "driver.h"

struct attribute_form {
    int id;
    int since; /* the CUDA version that first knew it */
    size_t bytes;
};

/* The rest of a value's 64 bytes is not the caller's to set, so it is not read. */
static const struct attribute_form forms[] = {
    {0, 11060, 0},   /* IGNORE */
    {1, 11060, 32},  /* ACCESS_POLICY_WINDOW */
    {2, 11060, 4},   /* COOPERATIVE */
    {3, 11060, 4},   /* SYNCHRONIZATION_POLICY */
    {4, 11080, 12},  /* CLUSTER_DIMENSION */
    {5, 11080, 4},   /* CLUSTER_SCHEDULING_POLICY_PREFERENCE */
    {6, 11080, 4},   /* PROGRAMMATIC_STREAM_SERIALIZATION */
    {7, 11080, 16},  /* PROGRAMMATIC_EVENT */
    {8, 11070, 4},   /* PRIORITY */
    {9, 12000, 2},   /* MEM_SYNC_DOMAIN_MAP */
    {10, 12000, 4},  /* MEM_SYNC_DOMAIN */
    {11, 12080, 12}, /* PREFERRED_CLUSTER_DIMENSION */
    {12, 12030, 12}, /* LAUNCH_COMPLETION_EVENT */
    {13, 12040, 16}, /* DEVICE_UPDATABLE_KERNEL_NODE */
    {14, 12050, 4},  /* PREFERRED_SHARED_MEMORY_CARVEOUT */
    {16, 13000, 4},  /* NVLINK_UTIL_CENTRIC_SCHEDULING */
    {17, 13020, 4},  /* PORTABLE_CLUSTER_SIZE_MODE */
    {18, 13020, 4},  /* SHARED_MEMORY_MODE */
};

/* Blocks of clusters that run at once on a multiprocessor of an H200. */
enum { BLOCKS_OF_CLUSTERS = 8 };

static const struct attribute_form *form_of(int id) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].id == id)
            return &forms[i];
    return NULL;
}

static const CUlaunchAttribute *find_attribute(const CUlaunchConfig *config, int id) {
    for (unsigned i = config->numAttrs; i-- > 0;)
        if (config->attrs[i].id == id)
            return &config->attrs[i];
    return NULL;
}

/* ---- what the real driver refuses ----------------------------------------------------------- */

static bool good_geometry(const CUlaunchConfig *config, const struct lgr_entry *entry) {
    const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    if (!config->gridDimX || !config->gridDimY || !config->gridDimZ ||
        config->gridDimX > INT32_MAX || config->gridDimY > 65535 || config->gridDimZ > 65535)
        return false;
    if (!block[0] || !block[1] || !block[2] || block[0] > LGR_MAX_THREADS ||
        block[1] > LGR_MAX_THREADS || block[2] > 64 ||
        (uint64_t)block[0] * block[1] * block[2] > LGR_MAX_THREADS)
        return false;
    if (!entry->block[0])
        return true;
    return block[0] == entry->block[0] && block[1] == entry->block[1] &&
           block[2] == entry->block[2];
}

static CUresult check_cluster(const CUlaunchConfig *config, const struct lgr_object *function,
                              int device) {
    const CUlaunchAttribute *attribute = find_attribute(config, LGR_LAUNCH_CLUSTER);
    const CUlaunchAttribute *preferred = find_attribute(config, LGR_LAUNCH_PREFERRED_CLUSTER);
    const uint32_t *required = function->entry->cluster;
    if (!attribute && !required[0])
        return preferred ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    const uint32_t *cluster = attribute ? attribute->value.words : required;
    if (lgr_settings.capability[device] < 90)
        return CUDA_ERROR_INVALID_VALUE;
    if (!cluster[0] || !cluster[1] || !cluster[2] || config->gridDimX % cluster[0] ||
        config->gridDimY % cluster[1] || config->gridDimZ % cluster[2])
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (attribute && required[0] &&
        (cluster[0] != required[0] || cluster[1] != required[1] || cluster[2] != required[2]))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    /* The cluster that is preferred is made of those that are the least. */
    for (unsigned i = 0; preferred && i < 3; i++)
        if (!preferred->value.words[i] || preferred->value.words[i] % cluster[i])
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];
    int limit = lgr_attribute(function, device, LGR_FUNC_NON_PORTABLE_CLUSTER)
                    ? 2 * LGR_PORTABLE_CLUSTER
                    : LGR_PORTABLE_CLUSTER;
    return blocks <= (uint64_t)limit ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static bool good_attributes(const CUlaunchConfig *config) {
    if (config->numAttrs && !config->attrs)
        return false;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const struct attribute_form *form = form_of(config->attrs[i].id);
        if (!form || form->since > lgr_settings.driver_version)
            return false;
    }
    const CUlaunchAttribute *policy = find_attribute(config, LGR_LAUNCH_CLUSTER_POLICY);
    return !policy || policy->value.words[0] <= 2;
}

/* Blocks that run at once on a multiprocessor: by number, threads, registers, shared memory. */
static uint64_t resident_blocks(const CUlaunchConfig *config, const struct lgr_object *function,
                                int device) {
    int capability = lgr_settings.capability[device];
    bool large = capability == 80 || (capability >= 90 && capability < 120);
    uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    uint64_t warps = (threads + 31) / 32, limit = large ? 32 : 16;
    uint64_t by_threads = (large ? 64 : capability == 75 ? 32 : 48) / warps;
    uint64_t by_registers = (uint64_t)lgr_warps_by_registers(function->entry) / warps;
    uint64_t shared = config->sharedMemBytes +
                      (uint64_t)lgr_attribute(function, device, LGR_FUNC_STATIC_SHARED) + 1024;
    uint64_t by_shared = ((uint64_t)lgr_settings.opt_in_shared[device] + 1024) / shared;
    const uint64_t others[] = {by_threads, by_registers, by_shared};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] < limit)
            limit = others[i];
    return limit;
}

static CUresult check_cooperative(const CUlaunchConfig *config, const struct lgr_object *function,
                                  int device) {
    const CUlaunchAttribute *attribute = find_attribute(config, LGR_LAUNCH_COOPERATIVE);
    if (!attribute || !attribute->value.words[0])
        return CUDA_SUCCESS;
    uint64_t most = LGR_MULTIPROCESSORS * resident_blocks(config, function, device);
    uint64_t plane = (uint64_t)config->gridDimX * config->gridDimY; /* below 2^47 */
    return plane <= most && plane * config->gridDimZ <= most
               ? CUDA_SUCCESS
               : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* Finds the context that the launch goes to: the stream's, which need not be the current one. */
static CUresult find_context(const CUlaunchConfig *config, const struct lgr_object *function,
                             struct lgr_object **context) {
    struct lgr_object *owner = function->parent;
    CUresult error = lgr_stream_context(config->hStream, context);
    if (error)
        return error;
    if (!owner)
        return CUDA_SUCCESS; /* a test made it up, for every context */
    if (function->kind == LGR_KERNEL)
        return lgr_check_image(&owner->image, (*context)->device);
    /* A function's parent is its module, or the context where a kernel gave it. */
    if (owner->kind == LGR_MODULE)
        owner = owner->parent;
    return owner == *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult check(const CUlaunchConfig *config, const struct lgr_object *function,
                      void *const *parameters, void *const *extra, struct lgr_object **context) {
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!good_attributes(config))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = find_context(config, function, context);
    if (error)
        return error;
    int device = (*context)->device;
    int most = lgr_attribute(function, device, LGR_FUNC_MAX_DYNAMIC_SHARED);
    if (!good_geometry(config, function->entry) || config->sharedMemBytes > (unsigned)most)
        return CUDA_ERROR_INVALID_VALUE;
    error = check_cluster(config, function, device);
    if (!error)
        error = check_cooperative(config, function, device);
    if (error)
        return error;
    /* Parameters as one buffer, which is what extra is for, are not played. */
    if ((extra && extra[0]) || (function->entry->count && !parameters))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < function->entry->count; i++)
        if (!parameters[i])
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* ---- writing it down ------------------------------------------------------------------------ */

static void print_attributes(struct lgr_text *text, const CUlaunchConfig *config) {
    lgr_print(text, ",\"attributes\":[");
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        lgr_print(text, "%s{\"id\":%d,\"value\":", i ? "," : "", attribute->id);
        const struct attribute_form *form = form_of(attribute->id);
        lgr_print_hex(text, attribute->value.bytes,
                      form ? form->bytes : sizeof attribute->value.bytes);
        lgr_print(text, "}");
    }
    lgr_print(text, "]");
}

static void print_parameters(struct lgr_text *text, const struct lgr_entry *entry,
                             void *const *parameters) {
    lgr_print(text, ",\"parameters\":[");
    for (size_t i = 0; i < entry->count; i++) {
        const struct lgr_parameter *parameter = &entry->parameters[i];
        lgr_print(text, "%s{\"offset\":%u,\"size\":%u,\"value\":", i ? "," : "", parameter->offset,
                  parameter->size);
        lgr_print_hex(text, parameters[i], parameter->size);
        lgr_print(text, "}");
    }
    lgr_print(text, "]");
}

static void describe(struct lgr_call *call, const CUlaunchConfig *config, CUfunction handle) {
    if (!call->recorded)
        return;
    lgr_argue_handle(call, "function", handle);
    lgr_argue_handle(call, "stream", config->hStream);
    lgr_argue_key(call, "grid");
    lgr_print(&call->text, "[%u,%u,%u]", config->gridDimX, config->gridDimY, config->gridDimZ);
    lgr_argue_key(call, "block");
    lgr_print(&call->text, "[%u,%u,%u]", config->blockDimX, config->blockDimY, config->blockDimZ);
    lgr_argue(call, "shared", config->sharedMemBytes);
    print_attributes(&call->text, config);
}

static void print_launch(struct lgr_call *call, const struct lgr_object *function,
                         const struct lgr_object *context, void *const *parameters) {
    if (!call->recorded)
        return;
    lgr_print(&call->extra, ",\"launch\":{\"entry\":");
    lgr_print_quoted(&call->extra, function->entry->name);
    lgr_print(&call->extra, ",\"device\":%d,\"context\":%llu", context->device,
              (unsigned long long)(uintptr_t)context->handle);
    print_parameters(&call->extra, function->entry, parameters);
    lgr_print(&call->extra, "}");
}

static CUresult launch(const char *name, const CUlaunchConfig *config, CUfunction handle,
                       void **parameters, void **extra) {
    struct lgr_call call;
    struct lgr_object *context = NULL;
    lgr_begin(&call, name);
    if (config)
        describe(&call, config, handle);
    if (lgr_goes_on(&call)) {
        struct lgr_object *function = lgr_find_launchable(handle);
        call.result = config ? check(config, function, parameters, extra, &context)
                             : CUDA_ERROR_INVALID_VALUE;
        if (!call.result)
            print_launch(&call, function, context, parameters);
    }
    return lgr_end(&call);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **parameters, void **extra) {
    if (atomic_load_explicit(&lgr_off, memory_order_relaxed))
        return CUDA_SUCCESS;
    const CUlaunchConfig config = {.gridDimX = grid_x,
                                   .gridDimY = grid_y,
                                   .gridDimZ = grid_z,
                                   .blockDimX = block_x,
                                   .blockDimY = block_y,
                                   .blockDimZ = block_z,
                                   .sharedMemBytes = shared,
                                   .hStream = stream};
    return launch("cuLaunchKernel", &config, function, parameters, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra) {
    if (atomic_load_explicit(&lgr_off, memory_order_relaxed))
        return CUDA_SUCCESS;
    return launch("cuLaunchKernelEx", config, function, parameters, extra);
}

/* ---- how much runs at once ------------------------------------------------------------------ */

/* Counts as if clusters could lie anywhere: a real device, whose clusters each keep to a part of
   it, has room for a few less. */
static CUresult active_clusters(int *count, const CUlaunchConfig *config,
                                const struct lgr_object *function) {
    struct lgr_object *context = NULL;
    if (!config || !count || !function || !good_attributes(config))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = find_context(config, function, &context);
    if (error)
        return error;
    int device = context->device;
    const CUlaunchAttribute *attribute = find_attribute(config, LGR_LAUNCH_CLUSTER);
    const uint32_t *cluster = attribute ? attribute->value.words : function->entry->cluster;
    uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];
    bool large = lgr_attribute(function, device, LGR_FUNC_NON_PORTABLE_CLUSTER);
    /* Larger than any that a device has, none runs, which is no error once large ones may. */
    error = large && blocks > 2 * LGR_PORTABLE_CLUSTER ? CUDA_SUCCESS
                                                       : check_cluster(config, function, device);
    if (error)
        return error;
    if (!config->gridDimX || !config->gridDimY || !config->gridDimZ)
        return CUDA_ERROR_INVALID_VALUE;
    bool none = !blocks || blocks > 2 * LGR_PORTABLE_CLUSTER ||
                config->sharedMemBytes >
                    (unsigned)lgr_attribute(function, device, LGR_FUNC_MAX_DYNAMIC_SHARED);
    uint64_t resident = none ? 0 : resident_blocks(config, function, device);
    if (resident > BLOCKS_OF_CLUSTERS)
        resident = BLOCKS_OF_CLUSTERS;
    *count = none ? 0 : (int)(LGR_MULTIPROCESSORS * resident / blocks);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function,
                                      const CUlaunchConfig *config) {
    struct lgr_call call;
    lgr_begin(&call, "cuOccupancyMaxActiveClusters");
    if (config)
        describe(&call, config, function);
    if (lgr_goes_on(&call)) {
        call.result = active_clusters(count, config, lgr_find_launchable(function));
        if (!call.result)
            lgr_argue_signed(&call, "count", *count);
    }
    return lgr_end(&call);
}
