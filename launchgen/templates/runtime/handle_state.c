/* The last handles whose parameters were compared, of either kind: a program has one, or few. */
typedef struct lg_known {
    void *function;
    void *kernel;
} lg_known;

/* The caller loads the kernel and hands over its function. `lasting` says that it stays loaded as
 * long as what is known of it. */
typedef struct lg_state {
    lg_loaded loaded;
    lg_known *known;
    int lasting;
} lg_state;

/* A CUkernel is no handle for the call that takes a function, and the one that takes it wants a
 * current context: a thread that has none gets the one that a launch would bring. */
LG_COLD
static int lg_check_handle(const lg_state *state, const lg_kernel *kernel, void *stream)
{
    lg_question question = {"cuFuncGetParamInfo", lg_cuda.function_parameter};
    void **known = &state->known->function;
    void *function = state->loaded.function;
    void *context = NULL;
    size_t offset = 0;
    size_t size = 0;
    if (function == NULL)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: the function handle is null", kernel->name);
    if (question.ask != NULL) {
        int status = lg_need_context(kernel->name, stream, &context);
        if (status != LG_SUCCESS)
            return status;
        status = question.ask(function, 0, &offset, &size);
        if (status == LG_ERROR_INVALID_HANDLE) {
            question.call = "cuKernelGetParamInfo";
            question.ask = lg_cuda.kernel_parameter;
            known = &state->known->kernel;
        } else if (status != LG_SUCCESS && status != LG_ERROR_INVALID_VALUE) {
            return lg_driver_failed(kernel->name, question.call, status, "");
        }
    }
    int status = lg_check_parameters(kernel, kernel->variants, function, &question,
                                     LG_ERROR_INVALID_VALUE, "kernel");
    if (status == LG_SUCCESS)
        __atomic_store_n(known, function, __ATOMIC_RELAXED);
    return status;
}

/* Tells whether a handle is known, and still means a kernel with these parameters: once a module is
 * unloaded, the driver gives the addresses of its functions to others. Behind the last parameter it
 * is not asked again: that is an error, which takes it a microsecond and a line in its log. */
static int lg_is_known(const lg_state *state, const lg_kernel *kernel)
{
    void *function = state->loaded.function;
    int (*ask)(void *function, size_t index, size_t *offset, size_t *size) = NULL;
    if (function == NULL)
        return 0;
    if (__atomic_load_n(&state->known->function, __ATOMIC_RELAXED) == function)
        ask = lg_cuda.function_parameter;
    else if (__atomic_load_n(&state->known->kernel, __ATOMIC_RELAXED) == function)
        ask = lg_cuda.kernel_parameter;
    else
        return 0;
    if (state->lasting || ask == NULL || kernel->parameters == NULL)
        return 1;
    for (uint32_t i = 0; i < kernel->variants->parameter_count; i++) {
        size_t offset = 0;
        size_t size = 0;
        if (ask(function, i, &offset, &size) != LG_SUCCESS || size != kernel->parameters[i].size)
            return 0;
    }
    return 1;
}

static int lg_take_function(const lg_state *state, const lg_kernel *kernel, void *stream)
{
    int status = lg_need_driver(kernel->name);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    return LG_UNLIKELY(!lg_is_known(state, kernel)) ? lg_check_handle(state, kernel, stream)
                                                    : LG_SUCCESS;
}
