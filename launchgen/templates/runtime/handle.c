static int lg_need_function(const lg_state *state, const lg_kernel *kernel, void *stream,
                            void **function)
{
    void *context = NULL;
    int device = 0;
    int status = lg_need_driver(kernel->name);
    if (status != LG_SUCCESS)
        return status;
    if (state->function == NULL)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the function handle is null", kernel->name);
    if (lg_needs_device(stream)) {
        status = lg_find_place(kernel->name, stream, &context, &device);
        if (status != LG_SUCCESS)
            return status;
    }
    *function = state->function;
    return lg_prepare(kernel, state->function);
}
