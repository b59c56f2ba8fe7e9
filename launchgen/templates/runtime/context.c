/* The default streams belong to whatever context is current. */
static inline int lg_is_default_stream(const void *stream)
{
    return (uintptr_t)stream <= 2;
}

/* Tells the device of a stream that is not a default one. */
LG_COLD
static int lg_stream_device(const char *kernel, void *stream, int *device)
{
    void *context = NULL;
    int status = lg_cuda.stream_context(stream, &context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuStreamGetCtx", status, "");
    status = lg_cuda.context_push(context);
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
        status = lg_stream_device(kernel, stream, &device);
        if (status != LG_SUCCESS)
            return status;
    }
    status = lg_cuda.primary_retain(context, device);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuDevicePrimaryCtxRetain", status, "");
    status = lg_cuda.context_set(*context);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxSetCurrent", status, "");
    return LG_SUCCESS;
}

/* Makes sure of a context and tells which one it is, and its device. A kernel that serves every
 * context would run on the stream's device without a word, on addresses of the current one; with
 * a single device there is nothing to mistake. */
LG_COLD
static int lg_find_place(const char *kernel, void *stream, void **context, int *device)
{
    int other = 0;
    int status = lg_need_context(kernel, stream, context);
    if (status != LG_SUCCESS)
        return status;
    status = lg_cuda.context_device(device);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel, "cuCtxGetDevice", status, "");
    if (lg_cuda_devices < 2 || lg_is_default_stream(stream) || lg_cuda.stream_context == NULL)
        return LG_SUCCESS;
    status = lg_stream_device(kernel, stream, &other);
    if (status == LG_SUCCESS && other != *device)
        status = lg_refuse(LG_ERROR_INVALID_VALUE,
                           "%s: the stream belongs to device %d, but device %d is current",
                           kernel, other, *device);
    return status;
}
