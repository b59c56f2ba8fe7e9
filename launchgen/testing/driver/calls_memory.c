/* Entry points: memory, pointers and tensor maps. */
#include "driver.h"

#include <string.h> /* memcpy, memset */

enum { FILLED_EACH_MICROSECOND = 1 << 20 }; /* bytes: about a terabyte a second */

/* ---- memory: a device's is the host's, so that copies really copy --------------------------- */

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    struct lgr_call call;
    lgr_begin(&call, "cuMemAlloc_v2");
    lgr_argue(&call, "size", size);
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = NULL;
        call.result = lgr_current(&context);
        if (!call.result)
            call.result = lgr_allocate(address, size, context->device);
        if (!call.result)
            lgr_argue(&call, "address", *address);
    }
    return lgr_end(&call);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    struct lgr_call call;
    lgr_begin(&call, "cuMemFree_v2");
    lgr_argue(&call, "address", address);
    if (lgr_goes_on(&call) && address)
        call.result = lgr_release(address);
    return lgr_end(&call);
}

/* Returns where a device's bytes are kept, or NULL where they are not all of one allocation. */
static void *backing(CUdeviceptr address, size_t size) {
    const struct lgr_range *range = lgr_find_range(address);
    if (!range || !range->backing || size > range->size - (address - range->address))
        return NULL;
    return (char *)range->backing + (address - range->address);
}

/* Begins a call about device memory; returns its bytes where it goes on. */
static void *begin_with_memory(struct lgr_call *call, const char *name, CUdeviceptr address,
                               size_t size) {
    struct lgr_object *context = NULL;
    lgr_begin(call, name);
    lgr_argue(call, "address", address);
    lgr_argue(call, "size", size);
    if (!lgr_goes_on(call))
        return NULL;
    call->result = lgr_current(&context);
    if (call->result)
        return NULL;
    void *bytes = backing(address, size);
    if (!bytes && size)
        call->result = CUDA_ERROR_INVALID_VALUE;
    return size ? bytes : NULL;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size) {
    struct lgr_call call;
    void *bytes = begin_with_memory(&call, "cuMemcpyHtoD_v2", target, size);
    if (bytes)
        memcpy(bytes, source, size);
    return lgr_end(&call);
}

CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size) {
    struct lgr_call call;
    const void *bytes = begin_with_memory(&call, "cuMemcpyDtoH_v2", source, size);
    if (bytes) {
        memcpy(target, bytes, size);
        lgr_finish(lgr_top(), true, NULL, UINT64_MAX); /* it waits for what was launched before */
    }
    return lgr_end(&call);
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t size, CUstream stream) {
    struct lgr_call call;
    struct lgr_object *context = NULL;
    lgr_begin(&call, "cuMemsetD8Async");
    lgr_argue(&call, "address", target);
    lgr_argue(&call, "size", size);
    lgr_argue_handle(&call, "stream", stream);
    if (lgr_goes_on(&call))
        call.result = lgr_stream_context(stream, &context);
    if (context && !call.result && size) {
        void *bytes = backing(target, size);
        if (bytes) {
            memset(bytes, value, size);
            lgr_spend((double)size / FILLED_EACH_MICROSECOND);
        } else {
            call.result = CUDA_ERROR_INVALID_VALUE;
        }
    }
    return lgr_end(&call);
}

CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t size) {
    struct lgr_call call;
    void *bytes = begin_with_memory(&call, "cuMemsetD8_v2", target, size);
    if (bytes)
        memset(bytes, value, size);
    return lgr_end(&call);
}

/* ---- pointers ------------------------------------------------------------------------------- */

static CUresult describe_pointer(void *value, int attribute, CUdeviceptr address) {
    const struct lgr_range *range = lgr_find_range(address);
    if (!value || !range)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t device_address = range->device_address + (address - range->address);
    struct lgr_object *context = NULL;
    CUresult error = CUDA_SUCCESS;
    void *handle = lgr_primary[range->device] ? lgr_primary[range->device]->handle : NULL;
    switch (attribute) {
    case LGR_POINTER_CONTEXT:
        memcpy(value, &handle, sizeof handle);
        return CUDA_SUCCESS;
    case LGR_POINTER_MEMORY_TYPE:
        *(unsigned *)value = range->host ? LGR_MEMORYTYPE_HOST : LGR_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case LGR_POINTER_DEVICE_POINTER:
        /* Kernels of this context reach pinned and managed memory and their own device's.  Only
           here is a context needed; an address that is none is told from it before. */
        error = lgr_current(&context);
        if (error)
            return error;
        if (!range->host && !range->managed && range->device != context->device)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(value, &device_address, sizeof device_address);
        return CUDA_SUCCESS;
    case LGR_POINTER_IS_MANAGED:
        *(unsigned *)value = range->managed;
        return CUDA_SUCCESS;
    case LGR_POINTER_DEVICE_ORDINAL:
        *(int *)value = range->device;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    struct lgr_call call;
    lgr_begin(&call, "cuPointerGetAttribute");
    lgr_argue_signed(&call, "attribute", attribute);
    lgr_argue(&call, "address", address);
    if (lgr_goes_on(&call))
        call.result = describe_pointer(value, attribute, address);
    return lgr_end(&call);
}

/* ---- tensor maps ---------------------------------------------------------------------------- */

struct tensor {
    int type;
    uint32_t rank;
    uint64_t address;
    const uint64_t *sizes;
    const uint64_t *strides; /* one less than the rank */
    const uint32_t *element_strides;
    int interleave, swizzle, promotion, fill;
};

enum {
    TYPE_COUNT = 16,
    FIRST_SUBBYTE = 13, /* types and swizzles that are new in sm_100 */
    TYPE_4_BITS_PADDED = 14,
    FIRST_NEW_SWIZZLE = 4,
    FIRST_FLOAT = 6,
    LAST_FLOAT = 12
};

/* Bytes of an element, of CUtensorMapDataType. */
static const unsigned char element_bytes[TYPE_COUNT] = {1, 2, 4, 4, 8, 8, 2, 4,
                                                        8, 2, 4, 4, 4, 1, 1, 1};

static bool good_tensor(const struct tensor *tensor, int device) {
    if (lgr_settings.capability[device] < 100 &&
        (tensor->type >= FIRST_SUBBYTE || tensor->swizzle >= FIRST_NEW_SWIZZLE))
        return false;
    if (tensor->type < 0 || tensor->type >= TYPE_COUNT || !tensor->rank || tensor->rank > 5 ||
        !tensor->sizes || !tensor->element_strides || (tensor->rank > 1 && !tensor->strides))
        return false;
    bool wide = tensor->interleave == 2 || tensor->type == TYPE_4_BITS_PADDED;
    unsigned alignment = wide ? 32 : 16;
    if (tensor->address % alignment || tensor->interleave < 0 || tensor->interleave > 2 ||
        tensor->swizzle < 0 || tensor->swizzle > 6 || tensor->promotion < 0 ||
        tensor->promotion > 3 || tensor->fill < 0 || tensor->fill > 1)
        return false;
    if (tensor->fill && (tensor->type < FIRST_FLOAT || tensor->type > LAST_FLOAT))
        return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!tensor->sizes[i] || tensor->sizes[i] > (uint64_t)1 << 32 ||
            !tensor->element_strides[i] || tensor->element_strides[i] > 8)
            return false;
    for (uint32_t i = 0; i + 1 < tensor->rank; i++)
        if (tensor->strides[i] % alignment || tensor->strides[i] >= (uint64_t)1 << 40)
            return false;
    return tensor->type != TYPE_4_BITS_PADDED || tensor->sizes[0] % 128 == 0;
}

static bool good_box(const struct tensor *tensor, const uint32_t *box) {
    static const unsigned spans[] = {0, 32, 64, 128, 128, 128, 128}; /* of each swizzle */
    if (!box)
        return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!box[i] || box[i] > 256)
            return false;
    if (tensor->type == TYPE_4_BITS_PADDED)
        return box[0] == 128;
    uint32_t inner = box[0] * element_bytes[tensor->type];
    unsigned span = spans[tensor->swizzle];
    return tensor->interleave || (inner % 16 == 0 && (!span || inner <= span));
}

/* What tests find in a parameter: "LGRTMAP1", then ones (some driver versions need a bit cleared,
   which shows), then the number of the call that made the map, then ones again. */
static void fill_map(void *map, uint64_t sequence) {
    CUtensorMap made; /* the caller's need not be aligned */
    memset(&made, 0xff, sizeof made);
    memcpy(&made, "LGRTMAP1", 8);
    made.words[2] = sequence;
    memcpy(map, &made, sizeof made);
}

static void argue_words(struct lgr_call *call, const char *key, const void *from, unsigned width,
                        uint32_t count) {
    lgr_argue_key(call, key);
    lgr_print(&call->text, "[");
    for (uint32_t i = 0; from && i < count && i < 8; i++) {
        if (width == 8)
            lgr_print(&call->text, i ? ",%llu" : "%llu",
                      (unsigned long long)((const uint64_t *)from)[i]);
        else
            lgr_print(&call->text, i ? ",%d" : "%d", ((const int *)from)[i]);
    }
    lgr_print(&call->text, "]");
}

static void argue_tensor(struct lgr_call *call, const struct tensor *tensor) {
    if (!call->recorded)
        return;
    lgr_argue_signed(call, "type", tensor->type);
    lgr_argue(call, "rank", tensor->rank);
    lgr_argue(call, "address", tensor->address);
    argue_words(call, "sizes", tensor->sizes, 8, tensor->rank);
    argue_words(call, "strides", tensor->strides, 8, tensor->rank ? tensor->rank - 1 : 0);
    argue_words(call, "element_strides", tensor->element_strides, 4, tensor->rank);
    lgr_argue_signed(call, "interleave", tensor->interleave);
    lgr_argue_signed(call, "swizzle", tensor->swizzle);
    lgr_argue_signed(call, "promotion", tensor->promotion);
    lgr_argue_signed(call, "fill", tensor->fill);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address,
                                const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *element_strides, int interleave, int swizzle,
                                int promotion, int fill) {
    const struct tensor tensor = {type,       rank,    (uint64_t)(uintptr_t)address,
                                  sizes,      strides, element_strides,
                                  interleave, swizzle, promotion,
                                  fill};
    struct lgr_call call;
    lgr_begin(&call, "cuTensorMapEncodeTiled");
    argue_tensor(&call, &tensor);
    if (call.recorded)
        argue_words(&call, "box", box, 4, rank);
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = NULL;
        call.result = lgr_current(&context);
        if (!call.result &&
            (!map || !good_tensor(&tensor, context->device) || !good_box(&tensor, box)))
            call.result = CUDA_ERROR_INVALID_VALUE;
        if (!call.result)
            fill_map(map, call.sequence);
    }
    return lgr_end(&call);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, int type, uint32_t rank, void *address,
                                 const uint64_t *sizes, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_strides, int interleave, int swizzle,
                                 int promotion, int fill) {
    const struct tensor tensor = {type,       rank,    (uint64_t)(uintptr_t)address,
                                  sizes,      strides, element_strides,
                                  interleave, swizzle, promotion,
                                  fill};
    struct lgr_call call;
    lgr_begin(&call, "cuTensorMapEncodeIm2col");
    argue_tensor(&call, &tensor);
    if (call.recorded) {
        argue_words(&call, "lower", lower, 4, rank > 2 ? rank - 2 : 0);
        argue_words(&call, "upper", upper, 4, rank > 2 ? rank - 2 : 0);
        lgr_argue(&call, "channels", channels);
        lgr_argue(&call, "pixels", pixels);
    }
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = NULL;
        call.result = lgr_current(&context);
        if (!call.result && (!map || rank < 3 || !good_tensor(&tensor, context->device) ||
                             !lower || !upper || !channels || channels > 256 || !pixels ||
                             pixels > 1024))
            call.result = CUDA_ERROR_INVALID_VALUE;
        if (!call.result)
            fill_map(map, call.sequence);
    }
    return lgr_end(&call);
}
