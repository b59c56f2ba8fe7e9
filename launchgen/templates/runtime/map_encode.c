/* Drivers up to CUDA 13.3 set a bit that is wrong on Blackwell for a tensor of less than 128 KiB;
 * without it all devices read the tensor right. Define LG_KEEP_SMALL_TENSOR_BIT to leave it be.
 * Source: CUTLASS 4.4 and Triton 3.7, which clear the same bit up to CUDA 13.1. */
static void lg_mend_small_tensor(const lg_map_plan *map, lg_tensor_map *made)
{
#ifdef LG_KEEP_SMALL_TENSOR_BIT
    (void)map;
    (void)made;
#else
    uint64_t last = 0;
    int version = 0;
    if (lg_cuda.driver_version(&version) == LG_SUCCESS && version > 13030)
        return;
    for (int i = 0; i < map->rank; i++) {
        const uint64_t stride = i == 0 ? (uint64_t)map->element_bytes : map->strides[i - 1];
        uint64_t bytes = 0;
        if (__builtin_mul_overflow(map->sizes[i] - 1, stride, &bytes) ||
            __builtin_add_overflow(last, bytes, &last))
            return;
    }
    if (last + 1 < 128 * 1024)
        made->opaque[1] &= ~(UINT64_C(1) << 21);
#endif
}

LG_COLD
static int lg_map_failed(const char *who, const lg_map_plan *map, int status)
{
    char detail[320];
    (void)snprintf(detail, sizeof detail,
                   "; innermost first: type %d, rank %d, base 0x%llx, sizes %llu %llu %llu %llu "
                   "%llu, strides %llu %llu %llu %llu bytes, block %u %u %u %u %u, swizzle %d",
                   map->type, map->rank, (unsigned long long)map->base,
                   (unsigned long long)map->sizes[0], (unsigned long long)map->sizes[1],
                   (unsigned long long)map->sizes[2], (unsigned long long)map->sizes[3],
                   (unsigned long long)map->sizes[4], (unsigned long long)map->strides[0],
                   (unsigned long long)map->strides[1], (unsigned long long)map->strides[2],
                   (unsigned long long)map->strides[3], map->box[0], map->box[1], map->box[2],
                   map->box[3], map->box[4], map->swizzle);
    return lg_driver_failed(
        who, map->is_im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled", status, detail);
}

static int lg_try_map(const lg_map_plan *map, lg_tensor_map *made)
{
    const uint32_t rank = (uint32_t)map->rank;
    void *base = (void *)(uintptr_t)map->base;
    if (map->is_im2col)
        return lg_cuda.map_im2col(made, map->type, rank, base, map->sizes, map->strides, map->lower,
                                  map->upper, map->box[0], map->box[1], map->element_strides, 0,
                                  map->swizzle, LG_PROMOTE_L2_128, map->fill);
    return lg_cuda.map_tiled(made, map->type, rank, base, map->sizes, map->strides, map->box,
                             map->element_strides, 0, map->swizzle, LG_PROMOTE_L2_128, map->fill);
}

/* The encoder wants a current context: a thread without one gets the one that a launch on `stream`
 * would bring. */
static int lg_encode_map(const char *kernel, const char *who, const lg_map_plan *map,
                         void *stream, lg_tensor_map *made)
{
    const int lacks = map->is_im2col ? lg_cuda.map_im2col == NULL : lg_cuda.map_tiled == NULL;
    void *context = NULL;
    if (LG_UNLIKELY(lacks))
        return lg_refuse(LG_ERROR_SYMBOL_NOT_FOUND,
                         "%s: the driver is older than CUDA 12 and encodes no tensor maps", who);
    int status = lg_try_map(map, made);
    if (LG_UNLIKELY(status == LG_ERROR_INVALID_CONTEXT)) {
        status = lg_need_context(kernel, stream, &context);
        if (status != LG_SUCCESS)
            return status;
        status = lg_try_map(map, made);
    }
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return lg_map_failed(who, map, status);
    lg_mend_small_tensor(map, made);
    return LG_SUCCESS;
}
