/* A loaded kernel on one device: a CUfunction or, with `is_kernel`, a CUkernel, which has calls of
 * its own. */
typedef struct lg_function {
    void *handle;
    int device;
    int is_kernel;
} lg_function;

LG_COLD
static int lg_get_attribute(const lg_variant *variant, const lg_function *function, int attribute,
                            int *value)
{
    int status = function->is_kernel
                     ? lg_cuda.kernel_get(value, attribute, function->handle, function->device)
                     : lg_cuda.function_get(value, attribute, function->handle);
    if (status != LG_SUCCESS)
        return lg_driver_failed(
            variant->name, function->is_kernel ? "cuKernelGetAttribute" : "cuFuncGetAttribute",
            status, "");
    return LG_SUCCESS;
}

LG_COLD
static int lg_try_attribute(const lg_function *function, int attribute, int value)
{
    if (function->is_kernel)
        return lg_cuda.kernel_set(attribute, value, function->handle, function->device);
    return lg_cuda.function_set(function->handle, attribute, value);
}

/* `purpose` ends the text of a failure. */
LG_COLD
static int lg_set_attribute(const lg_variant *variant, const lg_function *function, int attribute,
                            int value, const char *purpose)
{
    int status = lg_try_attribute(function, attribute, value);
    if (status != LG_SUCCESS)
        return lg_driver_failed(
            variant->name, function->is_kernel ? "cuKernelSetAttribute" : "cuFuncSetAttribute",
            status, purpose);
    return LG_SUCCESS;
}

/* A launch gets 48 KiB of shared memory, the kernel's static use included; more has to be asked
 * for, and the device's limit counts the static use too. */
LG_COLD
static int lg_allow_shared(const lg_variant *variant, const lg_function *function)
{
    int fixed = 0;
    int limit = 0;
    int status = lg_get_attribute(variant, function, LG_FUNCTION_STATIC_SHARED, &fixed);
    if (status != LG_SUCCESS)
        return status;
    if ((uint64_t)variant->shared + (uint64_t)fixed <= LG_DEFAULT_SHARED)
        return LG_SUCCESS;
    /* Triton 3.8 and newer: more than any device's limit, from drivers that know this mode. */
    if (variant->oversized_shared &&
        lg_try_attribute(function, LG_FUNCTION_SHARED_MEMORY_MODE, LG_SHARED_MEMORY_OVERSIZED) ==
            LG_SUCCESS)
        return LG_SUCCESS;
    status = lg_cuda.device_attribute(&limit, LG_DEVICE_SHARED_OPTIN, function->device);
    if (status != LG_SUCCESS)
        return lg_driver_failed(variant->name, "cuDeviceGetAttribute", status, "");
    if ((int64_t)variant->shared > (int64_t)limit - fixed)
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: needs %u bytes of dynamic shared memory, but device %d allows %d "
                         "(%d, of which the kernel's static use takes %d)",
                         variant->name, variant->shared, function->device, limit - fixed, limit,
                         fixed);
    return lg_set_attribute(variant, function, LG_FUNCTION_MAX_DYNAMIC_SHARED, (int)variant->shared,
                            "; raising the limit of dynamic shared memory");
}

/* What a launch of this kernel needs of its function beyond the defaults. */
LG_COLD
static int lg_prepare(const lg_variant *variant, void *handle, int device, int is_kernel)
{
    const lg_function function = {handle, device, is_kernel};
    if (variant->shared != 0) {
        int status = lg_allow_shared(variant, &function);
        if (status != LG_SUCCESS)
            return status;
    }
    if (lg_cluster_size(variant) > LG_PORTABLE_CLUSTER)
        return lg_set_attribute(variant, &function, LG_FUNCTION_NON_PORTABLE_CLUSTER, 1,
                                "; allowing a non-portable cluster size");
    return LG_SUCCESS;
}
