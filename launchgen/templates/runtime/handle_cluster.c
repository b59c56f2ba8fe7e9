/* Whoever loaded the kernel has allowed it its shared memory; a cluster beyond what all devices run
 * is allowed here, each time, as Triton's launchers do. */
static int lg_need_loaded(const lg_state *state, const lg_kernel *kernel, void *stream,
                          const lg_loaded **loaded)
{
    const lg_variant *variant = kernel->variants;
    void *context = NULL;
    int device = 0;
    const int is_large = lg_cluster_size(variant) > LG_PORTABLE_CLUSTER;
    int status = lg_take_function(state, kernel, stream);
    *loaded = &state->loaded;
    if (status == LG_SUCCESS &&
        (is_large || (lg_cuda_devices > 1 && !lg_is_default_stream(stream))))
        status = lg_find_place(kernel->name, stream, &context, &device);
    if (status != LG_SUCCESS || !is_large)
        return status;
    status = lg_cuda.function_set(state->loaded.function, LG_FUNCTION_NON_PORTABLE_CLUSTER, 1);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name, "cuFuncSetAttribute", status,
                                "; allowing a non-portable cluster size");
    return LG_SUCCESS;
}
