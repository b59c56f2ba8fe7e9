/* Bytes of scratch memory for a whole grid: `each` for every block of every cluster. */
static int lg_scratch_bytes(const lg_kernel *kernel, uint64_t each, uint32_t grid_x,
                            uint32_t grid_y, uint32_t grid_z, uint64_t *bytes)
{
    uint64_t blocks = (uint64_t)grid_x * grid_y;
    uint64_t cluster = 1;
    if (kernel->grid_counts_clusters)
        cluster = (uint64_t)kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2];
    return !__builtin_mul_overflow(blocks, (uint64_t)grid_z, &blocks) &&
           !__builtin_mul_overflow(blocks, cluster, &blocks) &&
           !__builtin_mul_overflow(blocks, each, bytes);
}

static int lg_check_scratch(const lg_kernel *kernel, const char *what, uint64_t address,
                            uint64_t align, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z)
{
    if (lg_is_empty(grid_x, grid_y, grid_z))
        return LG_SUCCESS;
    if (LG_UNLIKELY(address == 0))
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: needs a buffer as %s, but it is null",
                         kernel->name, what);
    if (LG_UNLIKELY(address % align != 0))
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: %s at 0x%llx is not aligned to %llu bytes",
                         kernel->name, what, (unsigned long long)address,
                         (unsigned long long)align);
    return LG_SUCCESS;
}
