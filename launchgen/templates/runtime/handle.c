/* The caller loads the kernel and hands over its function, so there is nothing to remember. */
typedef struct lg_state {
    void *function;
} lg_state;

/* A handle may be a CUfunction or, where the driver has libraries, a CUkernel, which the call for
 * functions refuses. `purpose` ends the text of a failure. */
static int lg_set_attribute(const lg_kernel *kernel, void *function, int attribute, int value,
                            const char *purpose)
{
    int device = 0;
    int status = lg_cuda.function_set(function, attribute, value);
    if (status == LG_SUCCESS)
        return LG_SUCCESS;
    if (status != LG_ERROR_INVALID_HANDLE || lg_cuda.kernel_set == NULL)
        return lg_driver_failed(kernel->name, "cuFuncSetAttribute", status, purpose);
    status = lg_current_device(kernel->name, &device);
    if (status != LG_SUCCESS)
        return status;
    status = lg_cuda.kernel_set(attribute, value, function, device);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name, "cuKernelSetAttribute", status, purpose);
    return LG_SUCCESS;
}

static int lg_prepare(const lg_kernel *kernel, void *function)
{
    if (kernel->shared > LG_DEFAULT_SHARED) {
        int status = lg_set_attribute(kernel, function, LG_FUNCTION_MAX_DYNAMIC_SHARED,
                                      (int)kernel->shared,
                                      "; raising the limit of dynamic shared memory");
        if (status != LG_SUCCESS)
            return status;
    }
    if (kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] > LG_PORTABLE_CLUSTER)
        return lg_set_attribute(kernel, function, LG_FUNCTION_NON_PORTABLE_CLUSTER, 1,
                                "; allowing a non-portable cluster size");
    return LG_SUCCESS;
}

/* What a handle needs is set for the current device, so then there must be one. */
static int lg_needs_device(const lg_kernel *kernel, const void *stream)
{
    return kernel->shared > LG_DEFAULT_SHARED ||
           kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] > LG_PORTABLE_CLUSTER ||
           (lg_cuda_devices > 1 && !lg_is_default_stream(stream));
}

static int lg_need_function(const lg_state *state, const lg_kernel *kernel, void *stream,
                            void **function)
{
    int device = 0;
    int status = lg_need_driver(kernel->name);
    if (status != LG_SUCCESS)
        return status;
    if (state->function == NULL)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the function handle is null", kernel->name);
    if (lg_needs_device(kernel, stream)) {
        status = lg_need_context(kernel->name, stream);
        if (status == LG_SUCCESS)
            status = lg_current_device(kernel->name, &device);
        if (status == LG_SUCCESS)
            status = lg_check_stream(kernel->name, stream, device);
        if (status != LG_SUCCESS)
            return status;
    }
    *function = state->function;
    return lg_prepare(kernel, state->function);
}
