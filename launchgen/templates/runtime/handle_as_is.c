/* This kernel needs nothing of its function beyond the defaults. */
static inline int lg_prepare(const lg_kernel *kernel, void *function)
{
    (void)kernel;
    (void)function;
    return LG_SUCCESS;
}

static inline int lg_needs_device(const void *stream)
{
    return lg_cuda_devices > 1 && !lg_is_default_stream(stream);
}
