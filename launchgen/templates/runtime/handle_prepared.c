/* What a launch needs is set on the handle each time, for the current device. The caller may have
 * loaded it as a CUkernel, which the calls for functions refuse. */
static int lg_need_loaded(const lg_state *state, const lg_kernel *kernel, void *stream,
                          const lg_loaded **loaded)
{
    void *function = state->loaded.function;
    void *context = NULL;
    int device = 0;
    int fixed = 0;
    int status = lg_take_function(state, kernel, stream);
    *loaded = &state->loaded;
    if (status == LG_SUCCESS)
        status = lg_find_place(kernel->name, stream, &context, &device);
    if (status != LG_SUCCESS)
        return status;
    status = lg_cuda.function_get(&fixed, LG_FUNCTION_STATIC_SHARED, function);
    const int is_kernel = status == LG_ERROR_INVALID_HANDLE && lg_cuda.kernel_get != NULL &&
                          lg_cuda.kernel_set != NULL;
    if (status != LG_SUCCESS && !is_kernel)
        return lg_driver_failed(kernel->name, "cuFuncGetAttribute", status, "");
    return lg_prepare(kernel->variants, function, device, is_kernel);
}
