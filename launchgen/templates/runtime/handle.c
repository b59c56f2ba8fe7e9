static int lg_need_function(const lg_state *state, const lg_kernel *kernel, void *stream,
                            void **function)
{
    void *context = NULL;
    int device = 0;
    int status = lg_take_function(state, kernel, function);
    if (status != LG_SUCCESS || lg_cuda_devices < 2 || lg_is_default_stream(stream))
        return status;
    return lg_find_place(kernel->name, stream, &context, &device);
}
