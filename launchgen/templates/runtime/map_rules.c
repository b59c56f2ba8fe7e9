/* A tensor map as the encoder takes it: everything innermost first, strides in bytes, and the
 * innermost one left out. The box of im2col is channels for each pixel, pixels for each column. */
typedef struct lg_map_plan {
    uint64_t base;
    uint64_t sizes[LG_MOST_RANK];
    uint64_t strides[LG_MOST_RANK];
    uint32_t box[LG_MOST_RANK];
    uint32_t element_strides[LG_MOST_RANK];
    int32_t lower[LG_MOST_RANK];
    int32_t upper[LG_MOST_RANK];
    int rank;
    int is_im2col;
    int type;
    int element_bytes;
    int swizzle;
    int fill;
} lg_map_plan;

/* Bytes of a stride that is given in elements; too many for a tensor map where they do not fit. */
static uint64_t lg_stride_bytes(int64_t elements, int element_bytes)
{
    int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, (int64_t)element_bytes, &bytes))
        bytes = INT64_MAX;
    return (uint64_t)bytes;
}

static inline int lg_is_float_type(int type)
{
    return type >= LG_TENSOR_FLOAT16 && type <= LG_TENSOR_TFLOAT32_FTZ;
}

/* The encoder answers a broken rule with "invalid value" and no more: these are its rules, so that
 * a refusal names the one. Dimensions are counted as the caller does, outermost first. Source: the
 * driver's documentation of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. */
static int lg_check_sizes(const char *who, const lg_map_plan *map)
{
    const int is_fp4 = map->type == LG_TENSOR_FP4_PADDED;
    const unsigned int multiple = is_fp4 ? 32 : 16;
    if (map->rank < (map->is_im2col ? 3 : 1) || map->rank > LG_MOST_RANK)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: a rank of %d; a tensor map has %d to %d", who,
                         map->rank, map->is_im2col ? 3 : 1, LG_MOST_RANK);
    if (map->base % multiple != 0)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: base address 0x%llx is not aligned to %u bytes", who,
                         (unsigned long long)map->base, multiple);
    for (int i = 0; i < map->rank; i++) {
        if (map->sizes[i] < 1 || map->sizes[i] > UINT64_C(1) << 32)
            return lg_refuse(LG_ERROR_INVALID_VALUE,
                             "%s: shape[%d] is %lld; a tensor map takes 1 to 4294967296", who,
                             map->rank - 1 - i, (long long)map->sizes[i]);
    }
    for (int i = 0; i + 1 < map->rank; i++) {
        if (map->strides[i] >= UINT64_C(1) << 40)
            return lg_refuse(LG_ERROR_INVALID_VALUE,
                             "%s: strides[%d] is %lld bytes; a tensor map takes 0 to 2^40 - 1", who,
                             map->rank - 2 - i, (long long)map->strides[i]);
        if (map->strides[i] % multiple != 0)
            return lg_refuse(LG_ERROR_INVALID_VALUE,
                             "%s: strides[%d] is %lld bytes, no multiple of %u", who,
                             map->rank - 2 - i, (long long)map->strides[i], multiple);
    }
    if (is_fp4 && map->sizes[0] % 128 != 0)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: shape[%d] is %lld values of padded fp4, no multiple of 128", who,
                         map->rank - 1, (long long)map->sizes[0]);
    for (int i = 0; i < map->rank; i++) {
        if (map->element_strides[i] < 1 || map->element_strides[i] > 8)
            return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: element_strides[%d] is %u, not 1 to 8",
                             who, map->rank - 1 - i, map->element_strides[i]);
    }
    if (map->fill != 0 && !lg_is_float_type(map->type))
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: padding with NaN takes a type of float, not number %d", who,
                         map->type);
    return LG_SUCCESS;
}

static int lg_check_box(const char *who, const lg_map_plan *map)
{
    static const uint32_t spans[] = {0, 32, 64, 128};
    static const char *const words[] = {"channels of a pixel", "pixels of a column"};
    const int count = map->is_im2col ? 2 : map->rank;
    if (map->swizzle < 0 || map->swizzle > 3)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: swizzle %d is not 0 to 3", who, map->swizzle);
    for (int i = 0; i < count; i++) {
        const uint32_t most = map->is_im2col && i == 1 ? 1024 : 256;
        const int is_wrong = map->box[i] < 1 || map->box[i] > most;
        if (is_wrong && map->is_im2col)
            return lg_refuse(LG_ERROR_INVALID_VALUE,
                             "%s: block size[%d], the %s, is %u, not 1 to %u", who, 1 - i,
                             words[i], map->box[i], most);
        if (is_wrong)
            return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: block size[%d] is %u, not 1 to %u", who,
                             count - 1 - i, map->box[i], most);
    }
    if (map->type == LG_TENSOR_FP4_PADDED) {
        if (map->box[0] != 128)
            return lg_refuse(LG_ERROR_INVALID_VALUE,
                             "%s: padded fp4 takes a last block size of 128, not %u", who,
                             map->box[0]);
        return LG_SUCCESS;
    }
    const uint32_t bytes = map->box[0] * (uint32_t)map->element_bytes;
    if (bytes % 16 != 0)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: a row of the block has %u bytes, no multiple of 16", who, bytes);
    if (map->swizzle != 0 && bytes > spans[map->swizzle])
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: a row of the block has %u bytes, but this swizzle spans %u", who,
                         bytes, spans[map->swizzle]);
    return LG_SUCCESS;
}

/* How far the corners of a pixel box reach, by the number of spatial dimensions. */
static int lg_check_corners(const char *who, const lg_map_plan *map)
{
    static const int32_t reaches[] = {0, 32768, 128, 16};
    const int32_t reach = reaches[map->rank - 2];
    for (int i = 0; i < map->rank - 2; i++) {
        const int32_t lower = map->lower[i];
        const int32_t upper = map->upper[i];
        if (lower < -reach || lower >= reach || upper < -reach || upper >= reach)
            return lg_refuse(LG_ERROR_INVALID_VALUE,
                             "%s: the pixel box goes from %d to %d in dimension %d; it may reach "
                             "from %d to %d",
                             who, lower, upper, map->rank - 2 - i, -reach, reach - 1);
    }
    return LG_SUCCESS;
}

static int lg_check_map(const char *who, const lg_map_plan *map)
{
    int status = lg_check_sizes(who, map);
    if (status == LG_SUCCESS)
        status = lg_check_box(who, map);
    if (status == LG_SUCCESS && map->is_im2col)
        status = lg_check_corners(who, map);
    return status;
}
