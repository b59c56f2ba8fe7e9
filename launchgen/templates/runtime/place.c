/* A kernel that serves every context would run on the stream's device without a word, on addresses
 * of the current one. */
LG_COLD
static int lg_check_owner(const char *kernel, void *owner, int device)
{
    int other = device;
    int status = lg_context_device(kernel, owner, &other);
    if (status == LG_SUCCESS && other != device)
        status = lg_refuse(LG_ERROR_INVALID_VALUE,
                           "%s: the stream belongs to device %d, but device %d is current",
                           kernel, other, device);
    return status;
}

/* Tells the current context and its device, and refuses a stream of another one: with a single
 * device there is nothing to mistake. */
static int lg_find_place(const char *kernel, void *stream, void **context, int *device)
{
    void *owner = NULL;
    int status = lg_cuda.context_device(device);
    if (LG_UNLIKELY(status == LG_ERROR_INVALID_CONTEXT)) {
        status = lg_need_context(kernel, stream, context);
        if (status != LG_SUCCESS)
            return status;
        status = lg_cuda.context_device(device);
    }
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return lg_driver_failed(kernel, "cuCtxGetDevice", status, "");
    status = lg_cuda.context_current(context);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return lg_driver_failed(kernel, "cuCtxGetCurrent", status, "");
    if (lg_cuda_devices < 2 || lg_is_default_stream(stream) || lg_cuda.stream_context == NULL)
        return LG_SUCCESS;
    status = lg_cuda.stream_context(stream, &owner);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return lg_driver_failed(kernel, "cuStreamGetCtx", status, "");
    if (LG_UNLIKELY(owner != *context))
        return lg_check_owner(kernel, owner, *device);
    return LG_SUCCESS;
}
