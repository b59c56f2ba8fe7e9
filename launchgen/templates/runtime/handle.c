static int lg_need_loaded(const lg_state *state, const lg_kernel *kernel, void *stream,
                          const lg_loaded **loaded)
{
    void *context = NULL;
    int device = 0;
    int status = lg_take_function(state, kernel, stream);
    *loaded = &state->loaded;
    if (status != LG_SUCCESS || lg_cuda_devices < 2 || lg_is_default_stream(stream))
        return status;
    return lg_find_place(kernel->name, stream, &context, &device);
}
