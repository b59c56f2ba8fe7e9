/* The caller loads the kernel and hands over its function. `checked` is the last one whose
 * parameters were compared: a program has one, or few. */
typedef struct lg_state {
    lg_loaded loaded;
    void **checked;
} lg_state;

/* A CUkernel is no handle for the first call, and the second needs a current context. */
LG_COLD
static int lg_ask_handle(void *function, size_t index, size_t *offset, size_t *size)
{
    int status = lg_cuda.function_parameter(function, index, offset, size);
    if (status == LG_ERROR_INVALID_HANDLE && lg_cuda.kernel_parameter != NULL)
        status = lg_cuda.kernel_parameter(function, index, offset, size);
    return status;
}

/* A CUkernel can be launched without a current context: a thread that has none gets the one that a
 * launch would bring, so that the driver can be asked. */
LG_COLD
static int lg_check_handle(const lg_state *state, const lg_kernel *kernel, void *stream)
{
    const lg_ask_parameter ask = lg_cuda.function_parameter != NULL ? lg_ask_handle : NULL;
    void *function = state->loaded.function;
    void *context = NULL;
    size_t offset = 0;
    size_t size = 0;
    int status = LG_SUCCESS;
    if (function == NULL)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the function handle is null", kernel->name);
    if (ask != NULL && ask(function, 0, &offset, &size) == LG_ERROR_INVALID_CONTEXT)
        status = lg_need_context(kernel->name, stream, &context);
    if (status == LG_SUCCESS)
        status = lg_check_parameters(kernel, kernel->variants, function, ask,
                                     LG_ERROR_INVALID_VALUE, "kernel");
    if (status == LG_SUCCESS)
        __atomic_store_n(state->checked, function, __ATOMIC_RELAXED);
    return status;
}

static int lg_take_function(const lg_state *state, const lg_kernel *kernel, void *stream)
{
    int status = lg_need_driver(kernel->name);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    /* Before the first check it is NULL, as a handle that is null. */
    void *checked = __atomic_load_n(state->checked, __ATOMIC_RELAXED);
    if (LG_UNLIKELY(checked != state->loaded.function || checked == NULL))
        return lg_check_handle(state, kernel, stream);
    return LG_SUCCESS;
}
