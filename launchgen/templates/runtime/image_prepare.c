/* What the kernel needs of its function beyond the defaults, once for each device or context. */
LG_COLD
static int lg_get_attribute(const lg_state *state, const lg_kernel *kernel, const lg_loaded *node,
                            int attribute, int *value)
{
    const int libraries = state->library != NULL;
    int status = libraries
                     ? lg_cuda.kernel_get(value, attribute, node->function, node->device)
                     : lg_cuda.function_get(value, attribute, node->function);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name,
                                libraries ? "cuKernelGetAttribute" : "cuFuncGetAttribute", status,
                                "");
    return LG_SUCCESS;
}

LG_COLD
static int lg_try_attribute(const lg_state *state, const lg_loaded *node, int attribute, int value)
{
    if (state->library != NULL)
        return lg_cuda.kernel_set(attribute, value, node->function, node->device);
    return lg_cuda.function_set(node->function, attribute, value);
}

/* `purpose` ends the text of a failure. */
LG_COLD
static int lg_set_attribute(const lg_state *state, const lg_kernel *kernel, const lg_loaded *node,
                            int attribute, int value, const char *purpose)
{
    int status = lg_try_attribute(state, node, attribute, value);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name,
                                state->library != NULL ? "cuKernelSetAttribute"
                                                       : "cuFuncSetAttribute",
                                status, purpose);
    return LG_SUCCESS;
}

/* A launch gets 48 KiB of shared memory, the kernel's static use included; more has to be asked
 * for, and the device's limit counts the static use too. */
LG_COLD
static int lg_allow_shared(const lg_state *state, const lg_kernel *kernel, const lg_loaded *node)
{
    int fixed = 0;
    int limit = 0;
    int status = lg_get_attribute(state, kernel, node, LG_FUNCTION_STATIC_SHARED, &fixed);
    if (status != LG_SUCCESS)
        return status;
    if ((uint64_t)kernel->shared + (uint64_t)fixed <= LG_DEFAULT_SHARED)
        return LG_SUCCESS;
    /* Triton 3.8 and newer: more than any device's limit, from drivers that know this mode. */
    if (kernel->oversized_shared &&
        lg_try_attribute(state, node, LG_FUNCTION_SHARED_MEMORY_MODE,
                         LG_SHARED_MEMORY_OVERSIZED) == LG_SUCCESS)
        return LG_SUCCESS;
    status = lg_cuda.device_attribute(&limit, LG_DEVICE_SHARED_OPTIN, node->device);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name, "cuDeviceGetAttribute", status, "");
    if ((int64_t)kernel->shared > (int64_t)limit - fixed)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: needs %u bytes of dynamic shared memory, but device %d allows %d "
                         "(%d, of which the kernel's static use takes %d)",
                         kernel->name, kernel->shared, node->device, limit - fixed, limit, fixed);
    return lg_set_attribute(state, kernel, node, LG_FUNCTION_MAX_DYNAMIC_SHARED,
                            (int)kernel->shared, "; raising the limit of dynamic shared memory");
}

LG_COLD
static int lg_prepare(const lg_state *state, const lg_kernel *kernel, const lg_loaded *node)
{
    if (kernel->shared != 0) {
        int status = lg_allow_shared(state, kernel, node);
        if (status != LG_SUCCESS)
            return status;
    }
    if (kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] > LG_PORTABLE_CLUSTER)
        return lg_set_attribute(state, kernel, node, LG_FUNCTION_NON_PORTABLE_CLUSTER, 1,
                                "; allowing a non-portable cluster size");
    return LG_SUCCESS;
}
