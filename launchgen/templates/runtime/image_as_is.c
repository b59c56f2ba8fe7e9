/* This kernel needs nothing of its function beyond the defaults. */
static inline int lg_prepare(const lg_state *state, const lg_kernel *kernel, const lg_loaded *node)
{
    (void)state;
    (void)kernel;
    (void)node;
    return LG_SUCCESS;
}
