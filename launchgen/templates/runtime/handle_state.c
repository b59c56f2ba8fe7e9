/* The caller loads the kernel and hands over its function, so there is nothing to remember. */
typedef struct lg_state {
    void *function;
} lg_state;

static int lg_take_function(const lg_state *state, const lg_kernel *kernel, void **function)
{
    int status = lg_need_driver(kernel->name);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    if (LG_UNLIKELY(state->function == NULL))
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the function handle is null", kernel->name);
    *function = state->function;
    return LG_SUCCESS;
}
