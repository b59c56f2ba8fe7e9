/* A handle may be a CUfunction or, where the driver has libraries, a CUkernel, which the call for
 * functions refuses. Leaves the name of the last call in `call`. */
LG_COLD
static int lg_try_attribute(void *function, int attribute, int value, const char **call)
{
    int device = 0;
    *call = "cuFuncSetAttribute";
    int status = lg_cuda.function_set(function, attribute, value);
    if (status != LG_ERROR_INVALID_HANDLE || lg_cuda.kernel_set == NULL)
        return status;
    *call = "cuCtxGetDevice";
    status = lg_cuda.context_device(&device);
    if (status != LG_SUCCESS)
        return status;
    *call = "cuKernelSetAttribute";
    return lg_cuda.kernel_set(attribute, value, function, device);
}

/* `purpose` ends the text of a failure. */
LG_COLD
static int lg_set_attribute(const lg_kernel *kernel, void *function, int attribute, int value,
                            const char *purpose)
{
    const char *call = NULL;
    int status = lg_try_attribute(function, attribute, value, &call);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name, call, status, purpose);
    return LG_SUCCESS;
}

LG_COLD
static int lg_allow_shared(const lg_kernel *kernel, void *function)
{
    const char *call = NULL;
    /* Triton 3.8 and newer: more than any device's limit, from drivers that know this mode. */
    if (kernel->oversized_shared &&
        lg_try_attribute(function, LG_FUNCTION_SHARED_MEMORY_MODE, LG_SHARED_MEMORY_OVERSIZED,
                         &call) == LG_SUCCESS)
        return LG_SUCCESS;
    return lg_set_attribute(kernel, function, LG_FUNCTION_MAX_DYNAMIC_SHARED, (int)kernel->shared,
                            "; raising the limit of dynamic shared memory");
}

static int lg_prepare(const lg_kernel *kernel, void *function)
{
    if (kernel->shared > LG_DEFAULT_SHARED) {
        int status = lg_allow_shared(kernel, function);
        if (status != LG_SUCCESS)
            return status;
    }
    if (kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] > LG_PORTABLE_CLUSTER)
        return lg_set_attribute(kernel, function, LG_FUNCTION_NON_PORTABLE_CLUSTER, 1,
                                "; allowing a non-portable cluster size");
    return LG_SUCCESS;
}

/* What a handle needs is set for the current device, so then there must be one. */
static inline int lg_needs_device(const void *stream)
{
    (void)stream;
    return 1;
}
