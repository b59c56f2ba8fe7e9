/* Entry points: start, devices, contexts, streams, and finding entry points. */
#include "driver.h"

#include <stdio.h>  /* snprintf */
#include <string.h> /* strcmp */

/* ---- the driver itself ---------------------------------------------------------------------- */

CUresult cuInit(unsigned flags) {
    struct lgr_call call;
    lgr_begin(&call, "cuInit");
    lgr_argue(&call, "flags", flags);
    if (lgr_goes_on_uninitialised(&call)) {
        if (flags)
            call.result = CUDA_ERROR_INVALID_VALUE;
        else if (!lgr_settings.devices)
            call.result = CUDA_ERROR_NO_DEVICE;
        else if (lgr_forked)
            call.result = CUDA_ERROR_NOT_INITIALIZED;
        else
            lgr_initialised = true;
    }
    return lgr_end(&call);
}

CUresult cuDriverGetVersion(int *version) {
    struct lgr_call call;
    lgr_begin(&call, "cuDriverGetVersion");
    if (lgr_goes_on_uninitialised(&call)) {
        *version = lgr_settings.driver_version;
        lgr_argue_signed(&call, "version", *version);
    }
    return lgr_end(&call);
}

struct entry_point {
    const char *symbol;
    const char *name;
    int since;
    void (*address)(void);
};

static const struct entry_point entry_points[] = {
#define LGR_ENTRY(symbol, name, since) {#symbol, #name, since, (void (*)(void))symbol},
#include "entry_points.h"
#undef LGR_ENTRY
};

#ifndef LGR_MISSING
#define LGR_MISSING "," /* ",cuLaunchKernelEx,": symbols that this build does not export */
#endif

static bool is_missing(const char *symbol) {
    char pattern[LGR_MAX_NAME + 2];
    snprintf(pattern, sizeof pattern, ",%s,", symbol);
    return strstr(LGR_MISSING, pattern) != NULL;
}

static int find_entry_point(const char *name, int version, void **address) {
    int status = LGR_PROC_NOT_FOUND, newest = -1;
    for (size_t i = 0; i < sizeof entry_points / sizeof *entry_points; i++) {
        const struct entry_point *entry = &entry_points[i];
        if (strcmp(entry->name, name) != 0 || is_missing(entry->symbol) ||
            entry->since > lgr_settings.driver_version)
            continue;
        if (entry->since > version) {
            if (status == LGR_PROC_NOT_FOUND)
                status = LGR_PROC_VERSION_NOT_SUFFICIENT;
        } else if (entry->since > newest) {
            newest = entry->since;
            status = LGR_PROC_FOUND;
            memcpy(address, &entry->address, sizeof *address);
        }
    }
    return status;
}

static void argue_query(struct lgr_call *call, const char *name, int version, uint64_t flags) {
    lgr_argue_text(call, "name", name);
    lgr_argue_signed(call, "version", version);
    lgr_argue(call, "flags", flags);
}

CUresult cuGetProcAddress(const char *name, void **address, int version, uint64_t flags) {
    struct lgr_call call;
    lgr_begin(&call, "cuGetProcAddress");
    argue_query(&call, name, version, flags);
    if (lgr_goes_on_uninitialised(&call)) {
        if (!name || !address)
            call.result = CUDA_ERROR_INVALID_VALUE;
        else if (find_entry_point(name, version, address) != LGR_PROC_FOUND)
            call.result = CUDA_ERROR_NOT_FOUND;
    }
    return lgr_end(&call);
}

CUresult cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags,
                             int *status) {
    struct lgr_call call;
    lgr_begin(&call, "cuGetProcAddress_v2");
    argue_query(&call, name, version, flags);
    if (lgr_goes_on_uninitialised(&call)) {
        if (!name || !address) {
            call.result = CUDA_ERROR_INVALID_VALUE;
        } else {
            /* Unlike the first version's, its success says nothing: the address may be NULL. */
            *address = NULL;
            int found = find_entry_point(name, version, address);
            lgr_argue_signed(&call, "status", found);
            if (status)
                *status = found;
        }
    }
    return lgr_end(&call);
}

/* ---- devices -------------------------------------------------------------------------------- */

CUresult cuDeviceGetCount(int *count) {
    struct lgr_call call;
    lgr_begin(&call, "cuDeviceGetCount");
    if (lgr_goes_on(&call)) {
        *count = lgr_settings.devices;
        lgr_argue_signed(&call, "count", *count);
    }
    return lgr_end(&call);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    struct lgr_call call;
    lgr_begin(&call, "cuDeviceGet");
    lgr_argue_signed(&call, "ordinal", ordinal);
    if (lgr_goes_on(&call)) {
        if (lgr_is_device(ordinal))
            *device = ordinal;
        else
            call.result = CUDA_ERROR_INVALID_DEVICE;
    }
    return lgr_end(&call);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, "cuDeviceGetName");
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        if (!lgr_is_device(device))
            call.result = CUDA_ERROR_INVALID_DEVICE;
        else if (!name || length < 1)
            call.result = CUDA_ERROR_INVALID_VALUE;
        else
            snprintf(name, (size_t)length, "Recording device %d", device);
    }
    return lgr_end(&call);
}

/* Returns -1 for an attribute that is not played. */
static int device_attribute(int attribute, CUdevice device) {
    int capability = lgr_settings.capability[device];
    switch (attribute) {
    case 1:  /* MAX_THREADS_PER_BLOCK */
    case 2:  /* MAX_BLOCK_DIM_X */
    case 3:  /* MAX_BLOCK_DIM_Y */
        return LGR_MAX_THREADS;
    case 4: /* MAX_BLOCK_DIM_Z */
        return 64;
    case 5: /* MAX_GRID_DIM_X */
        return INT32_MAX;
    case 6: /* MAX_GRID_DIM_Y */
    case 7: /* MAX_GRID_DIM_Z */
        return 65535;
    case 8: /* MAX_SHARED_MEMORY_PER_BLOCK */
        return LGR_DEFAULT_SHARED;
    case 10: /* WARP_SIZE */
        return 32;
    case 12: /* MAX_REGISTERS_PER_BLOCK */
    case 82: /* MAX_REGISTERS_PER_MULTIPROCESSOR */
        return 65536;
    case 13: /* CLOCK_RATE, kHz */
        return 1980000;
    case 16: /* MULTIPROCESSOR_COUNT */
        return LGR_MULTIPROCESSORS;
    case 36: /* MEMORY_CLOCK_RATE, kHz, of an H200 */
        return 3201000;
    case 37: /* GLOBAL_MEMORY_BUS_WIDTH, bits, of an H200 */
        return 6144;
    case 38: /* L2_CACHE_SIZE */
        return LGR_L2_CACHE;
    case 39: /* MAX_THREADS_PER_MULTIPROCESSOR */
        return 2048;
    case 41: /* UNIFIED_ADDRESSING */
        return 1;
    case 75: /* COMPUTE_CAPABILITY_MAJOR */
        return capability / 10;
    case 76: /* COMPUTE_CAPABILITY_MINOR */
        return capability % 10;
    case 81: /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: 1 KiB of each block is the system's */
        return lgr_settings.opt_in_shared[device] + 1024;
    case 83: /* MANAGED_MEMORY */
    case 95: /* COOPERATIVE_LAUNCH */
        return 1;
    case 97: /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
        return lgr_settings.opt_in_shared[device];
    case 111: /* RESERVED_SHARED_MEMORY_PER_BLOCK */
        return 1024;
    case 120: /* CLUSTER_LAUNCH */
    case 127: /* TENSOR_MAP_ACCESS_SUPPORTED */
        return capability >= 90;
    default:
        return -1;
    }
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, "cuDeviceGetAttribute");
    lgr_argue_signed(&call, "attribute", attribute);
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        if (!lgr_is_device(device)) {
            call.result = CUDA_ERROR_INVALID_DEVICE;
        } else if (!value || device_attribute(attribute, device) < 0) {
            call.result = CUDA_ERROR_INVALID_VALUE;
        } else {
            *value = device_attribute(attribute, device);
            lgr_argue_signed(&call, "value", *value);
        }
    }
    return lgr_end(&call);
}

/* ---- primary contexts ----------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, "cuDevicePrimaryCtxRetain");
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = NULL;
        if (!lgr_is_device(device)) {
            call.result = CUDA_ERROR_INVALID_DEVICE;
        } else if (!context) {
            call.result = CUDA_ERROR_INVALID_VALUE;
        } else if (!(object = lgr_retain_primary(device))) {
            call.result = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            *context = object->handle;
            lgr_argue_handle(&call, "context", object->handle);
        }
    }
    return lgr_end(&call);
}

static CUresult release(const char *name, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, name);
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call))
        call.result =
            lgr_is_device(device) ? lgr_release_primary(device) : CUDA_ERROR_INVALID_DEVICE;
    return lgr_end(&call);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return release("cuDevicePrimaryCtxRelease", device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return release("cuDevicePrimaryCtxRelease_v2", device);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    struct lgr_call call;
    lgr_begin(&call, "cuDevicePrimaryCtxGetState");
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        if (!lgr_is_device(device)) {
            call.result = CUDA_ERROR_INVALID_DEVICE;
        } else if (!flags || !active) {
            call.result = CUDA_ERROR_INVALID_VALUE;
        } else {
            *flags = 0;
            *active = lgr_primary[device] && lgr_primary[device]->alive;
            lgr_argue_signed(&call, "active", *active);
        }
    }
    return lgr_end(&call);
}

/* ---- contexts ------------------------------------------------------------------------------- */

CUresult cuCtxGetCurrent(CUcontext *context) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxGetCurrent");
    if (lgr_goes_on(&call)) {
        struct lgr_object *top = lgr_top();
        *context = top ? top->handle : NULL;
        lgr_argue_handle(&call, "context", *context);
    }
    return lgr_end(&call);
}

CUresult cuCtxSetCurrent(CUcontext context) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxSetCurrent");
    lgr_argue_handle(&call, "context", context);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find_context(context);
        if (context && !object)
            call.result = CUDA_ERROR_INVALID_CONTEXT;
        else
            lgr_replace_top(object);
    }
    return lgr_end(&call);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxPushCurrent_v2");
    lgr_argue_handle(&call, "context", context);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find_context(context);
        if (!object)
            call.result = context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
        else if (!lgr_push(object))
            call.result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return lgr_end(&call);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxPopCurrent_v2");
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_pop();
        if (!object)
            call.result = CUDA_ERROR_INVALID_CONTEXT;
        else if (context)
            *context = object->handle;
        lgr_argue_handle(&call, "context", object ? object->handle : NULL);
    }
    return lgr_end(&call);
}

CUresult cuCtxGetDevice(CUdevice *device) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxGetDevice");
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = lgr_top(); /* dead or alive */
        if (context) {
            *device = context->device;
            lgr_argue_signed(&call, "device", *device);
        } else {
            call.result = CUDA_ERROR_INVALID_CONTEXT;
        }
    }
    return lgr_end(&call);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxCreate_v2");
    lgr_argue(&call, "flags", flags);
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = NULL;
        if (!lgr_is_device(device)) {
            call.result = CUDA_ERROR_INVALID_DEVICE;
        } else if (!(object = lgr_create(LGR_CONTEXT, NULL, device)) || !lgr_push(object)) {
            call.result = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            *context = object->handle;
            lgr_argue_handle(&call, "context", object->handle);
        }
    }
    return lgr_end(&call);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxDestroy_v2");
    lgr_argue_handle(&call, "context", context);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find(LGR_CONTEXT, context);
        if (!object || object->primary) {
            call.result = context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
        } else {
            lgr_destroy(object);
            if (lgr_top() == object)
                (void)lgr_pop();
        }
    }
    return lgr_end(&call);
}

/* As driver 580 has them; less than the least becomes the least.  The others are not played. */
static const struct {
    size_t made;
    size_t least;
} limits[LGR_LIMIT_COUNT] = {
    [LGR_LIMIT_STACK] = {1024, 1},
    [LGR_LIMIT_PRINTF] = {8650752, 524288},
    [LGR_LIMIT_HEAP] = {8388608, 4194304},
};

enum { LIMITS_OF_CUDA = 10 };

/* Begins a call about a limit and finds the context that has it where the call goes on. */
static struct lgr_object *begin_with_limit(struct lgr_call *call, const char *name, int limit) {
    struct lgr_object *context = NULL;
    lgr_begin(call, name);
    lgr_argue_signed(call, "limit", limit);
    if (!lgr_goes_on(call))
        return NULL;
    call->result = lgr_current(&context);
    if (!call->result && (limit < 0 || limit >= LIMITS_OF_CUDA))
        call->result = CUDA_ERROR_INVALID_VALUE;
    else if (!call->result && limit >= LGR_LIMIT_COUNT)
        call->result = CUDA_ERROR_UNSUPPORTED_LIMIT;
    return call->result ? NULL : context;
}

CUresult cuCtxGetLimit(size_t *value, int limit) {
    struct lgr_call call;
    struct lgr_object *context = begin_with_limit(&call, "cuCtxGetLimit", limit);
    if (context && !value) {
        call.result = CUDA_ERROR_INVALID_VALUE;
    } else if (context) {
        *value = context->limits[limit] ? context->limits[limit] : limits[limit].made;
        lgr_argue(&call, "value", *value);
    }
    return lgr_end(&call);
}

CUresult cuCtxSetLimit(int limit, size_t value) {
    struct lgr_call call;
    struct lgr_object *context = begin_with_limit(&call, "cuCtxSetLimit", limit);
    lgr_argue(&call, "value", value);
    if (context)
        context->limits[limit] = value < limits[limit].least ? limits[limit].least : value;
    return lgr_end(&call);
}

CUresult cuCtxSynchronize(void) {
    struct lgr_call call;
    lgr_begin(&call, "cuCtxSynchronize");
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = NULL;
        call.result = lgr_current(&context);
        if (!call.result)
            lgr_finish(context, true, NULL, UINT64_MAX);
    }
    return lgr_end(&call);
}

/* ---- streams -------------------------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    struct lgr_call call;
    lgr_begin(&call, "cuStreamCreate");
    lgr_argue(&call, "flags", flags);
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = NULL, *object = NULL;
        call.result = lgr_current(&context);
        if (!call.result && !(object = lgr_create(LGR_STREAM, context, context->device)))
            call.result = CUDA_ERROR_OUT_OF_MEMORY;
        if (!call.result) {
            *stream = object->handle;
            lgr_argue_handle(&call, "stream", object->handle);
        }
    }
    return lgr_end(&call);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    struct lgr_call call;
    lgr_begin(&call, "cuStreamDestroy_v2");
    lgr_argue_handle(&call, "stream", stream);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find(LGR_STREAM, stream);
        if (object)
            lgr_destroy(object);
        else
            call.result = CUDA_ERROR_INVALID_HANDLE;
    }
    return lgr_end(&call);
}

/* Begins a call about a stream and finds the stream's context where it goes on. */
static struct lgr_object *begin_with_stream(struct lgr_call *call, const char *name,
                                            CUstream stream) {
    struct lgr_object *context = NULL;
    lgr_begin(call, name);
    lgr_argue_handle(call, "stream", stream);
    if (!lgr_goes_on(call))
        return NULL;
    call->result = lgr_stream_context(stream, &context);
    return call->result ? NULL : context;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_stream(&call, "cuStreamGetCtx", stream);
    if (object) {
        *context = object->handle;
        lgr_argue_handle(&call, "context", object->handle);
    }
    return lgr_end(&call);
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_stream(&call, "cuStreamGetCtx_v2", stream);
    if (object) {
        *context = object->handle;
        if (green)
            *green = NULL;
        lgr_argue_handle(&call, "context", object->handle);
    }
    return lgr_end(&call);
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_stream(&call, "cuStreamGetDevice", stream);
    /* Driver 580 gives a capture up when it is asked for the stream's device. */
    if (object && lgr_settings.capturing) {
        call.result = 900;
    } else if (object) {
        *device = object->device;
        lgr_argue_signed(&call, "device", object->device);
    }
    return lgr_end(&call);
}

CUresult cuStreamSynchronize(CUstream stream) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_stream(&call, "cuStreamSynchronize", stream);
    if (object)
        lgr_finish(object, false, stream, UINT64_MAX);
    return lgr_end(&call);
}

CUresult cuStreamIsCapturing(CUstream stream, int *status) {
    struct lgr_call call;
    if (begin_with_stream(&call, "cuStreamIsCapturing", stream))
        *status = lgr_settings.capturing; /* CU_STREAM_CAPTURE_STATUS_ACTIVE is 1 */
    return lgr_end(&call);
}
