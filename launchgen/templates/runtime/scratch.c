/* Bytes of scratch memory for a whole grid: `each` for every block or cluster that it counts. */
static int lg_scratch_bytes(uint64_t each, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                            uint64_t *bytes)
{
    uint64_t count = (uint64_t)grid_x * grid_y;
    return !__builtin_mul_overflow(count, (uint64_t)grid_z, &count) &&
           !__builtin_mul_overflow(count, each, bytes);
}

static int lg_check_scratch(const char *kernel, const char *what, uint64_t address,
                            uint64_t align, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z)
{
    if (lg_is_empty(grid_x, grid_y, grid_z))
        return LG_SUCCESS;
    if (LG_UNLIKELY(address == 0))
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: needs a buffer as %s, but it is null",
                         kernel, what);
    if (LG_UNLIKELY(address % align != 0))
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: %s at 0x%llx is not aligned to %llu bytes",
                         kernel, what, (unsigned long long)address,
                         (unsigned long long)align);
    return LG_SUCCESS;
}
