/* Scratch of `kind`, 0 for global and 1 for profile, from Triton's own allocator. */
LG_COLD
static int lg_allocate_scratch(const lg_launcher *self, const lg_call *call, int kind,
                               const uint32_t grid[3], void *stream, PyObject **buffer,
                               uint64_t *address)
{
    static const lg_argument what[2] = {{"global scratch", "memory from the allocator"},
                                        {"profile scratch", "memory from the allocator"}};
    const unsigned long long size = self->scratch[2 * kind];
    const unsigned long long align = self->scratch[2 * kind + 1];
    unsigned long long each = 0;
    if (__builtin_mul_overflow(size, self->num_ctas, &each))
        each = UINT64_MAX;
    if (lg_allocate_from(self->module, self->allocators[kind], &call->kernel, &what[kind], each,
                         align, grid, stream, buffer, address) != 0)
        return -1;
    const int status =
        lg_check_scratch(call->kernel.name, what[kind].place, *address, align == 0 ? 1 : align,
                         grid[0], grid[1], grid[2]);
    return status == LG_SUCCESS ? 0 : lg_raise(self->module, status);
}
