/* The caller loads the kernel and hands over its function, so there is nothing to remember. */
typedef struct lg_state {
    void *function;
} lg_state;

static int lg_need_function(const lg_state *state, const lg_kernel *kernel, void *stream,
                            void **function)
{
    void *context = NULL;
    int device = 0;
    int status = lg_need_driver(kernel->name);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    if (LG_UNLIKELY(state->function == NULL))
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the function handle is null", kernel->name);
    *function = state->function;
    if (lg_cuda_devices < 2 || lg_is_default_stream(stream))
        return LG_SUCCESS;
    return lg_find_place(kernel->name, stream, &context, &device);
}
