/* The default streams belong to whatever context is current. */
static inline int lg_is_default_stream(const void *stream)
{
    return (uintptr_t)stream <= 2;
}

/* Tells the device of a context that need not be current. cuStreamGetDevice would tell a stream's
 * without this, but it breaks a stream capture that is under way. */
LG_COLD
static int lg_context_device(const char *kernel, void *context, int *device)
{
    int status = lg_cuda.context_push(context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxPushCurrent", status, "");
    int asked = lg_cuda.context_device(device);
    status = lg_cuda.context_pop(&context);
    if (asked != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxGetDevice", asked, "");
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxPopCurrent", status, "");
    return LG_SUCCESS;
}

/* Makes a device's primary context current. It stays retained for good: whoever finds it current
 * later relies on it. */
LG_COLD
static int lg_use_primary(const char *kernel, int device, void **context)
{
    int status = lg_cuda.primary_retain(context, device);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuDevicePrimaryCtxRetain", status, "");
    status = lg_cuda.context_set(*context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxSetCurrent", status, "");
    return LG_SUCCESS;
}

/* A current context is used as it is. A thread without one gets the primary context of the
 * stream's device, or of device 0 where no stream names a device, and keeps it. */
LG_COLD
static int lg_need_context(const char *kernel, void *stream, void **context)
{
    int device = 0;
    int status = lg_cuda.context_current(context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxGetCurrent", status, "");
    if (*context != NULL)
        return LG_SUCCESS;
    if (!lg_is_default_stream(stream) && lg_cuda.stream_context != NULL) {
        void *owner = NULL;
        status = lg_cuda.stream_context(stream, &owner);
        if (status != LG_SUCCESS)
            return lg_driver_failed(kernel, "cuStreamGetCtx", status, "");
        status = lg_context_device(kernel, owner, &device);
        if (status != LG_SUCCESS)
            return status;
    }
    return lg_use_primary(kernel, device, context);
}
