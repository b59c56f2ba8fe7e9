/* One load: of a library, which serves every context of a device, or, where the driver has no
 * libraries, of a module, which serves one context. */
typedef struct lg_loaded {
    struct lg_loaded *next;
    void *context;
    int device;
    void *module;
    void *function;
} lg_loaded;

/* `anywhere` is the function once nothing has to be asked before a launch: one device, one
 * library. Otherwise each launch looks its device or context up in `loaded`, to which nodes are
 * only ever added until all are released. */
typedef struct lg_state {
    void *anywhere;
    lg_loaded *loaded;
    void *library;
    pthread_mutex_t mutex;
} lg_state;

static void *lg_lookup(const lg_state *state, const void *context, int device)
{
    const lg_loaded *node = __atomic_load_n(&state->loaded, __ATOMIC_ACQUIRE);
    for (; node != NULL; node = node->next) {
        if (node->context == NULL ? node->device == device : node->context == context)
            return node->function;
    }
    return NULL;
}

LG_COLD
static int lg_entry_failed(const lg_kernel *kernel, const char *call, int status)
{
    char detail[512];
    (void)snprintf(detail, sizeof detail, "; the image was asked for '%s'", kernel->entry);
    return lg_driver_failed(kernel->name, call, status, detail);
}

LG_COLD
static int lg_load_library(lg_state *state, const lg_kernel *kernel, lg_loaded *node)
{
    void *function = NULL;
    int status = LG_SUCCESS;
    if (state->library == NULL) {
        status = lg_cuda.library_load(&state->library, kernel->image, NULL, NULL, 0, NULL, NULL,
                                      0);
        if (status != LG_SUCCESS) {
            state->library = NULL;
            return lg_driver_failed(kernel->name, "cuLibraryLoadData", status, "");
        }
    }
    status = lg_cuda.library_kernel(&node->function, state->library, kernel->entry);
    if (status != LG_SUCCESS)
        return lg_entry_failed(kernel, "cuLibraryGetKernel", status);
    /* Drivers load lazily: this is what brings the code onto the device, and says so if the
     * device cannot run it, before a stream capture or the first launch depends on it. */
    status = lg_cuda.kernel_function(&function, node->function);
    if (status != LG_SUCCESS)
        return lg_driver_failed(kernel->name, "cuKernelGetFunction", status, "");
    return LG_SUCCESS;
}

LG_COLD
static int lg_load_module(const lg_kernel *kernel, lg_loaded *node)
{
    int status = lg_cuda.module_load(&node->module, kernel->image);
    if (status != LG_SUCCESS) {
        node->module = NULL;
        return lg_driver_failed(kernel->name, "cuModuleLoadData", status, "");
    }
    status = lg_cuda.module_function(&node->function, node->module, kernel->entry);
    if (status != LG_SUCCESS)
        return lg_entry_failed(kernel, "cuModuleGetFunction", status);
    return LG_SUCCESS;
}

/* Called with the mutex held. What fails half way is undone, but for a loaded library: it is as
 * good for the next try. */
LG_COLD
static int lg_load_here(lg_state *state, const lg_kernel *kernel, void *context, int device,
                        void **function)
{
    const int libraries = lg_cuda.library_load != NULL;
    lg_loaded *node = (lg_loaded *)calloc(1, sizeof *node);
    if (node == NULL)
        return lg_refuse(LG_ERROR_OUT_OF_MEMORY, "%s: out of memory", kernel->name);
    node->context = libraries ? NULL : context;
    node->device = device;
    int status = libraries ? lg_load_library(state, kernel, node) : lg_load_module(kernel, node);
    if (status == LG_SUCCESS)
        status = lg_prepare(kernel, node->function, device, libraries);
    if (status != LG_SUCCESS) {
        if (node->module != NULL)
            (void)lg_cuda.module_unload(node->module);
        free(node);
        return status;
    }
    *function = node->function;
    node->next = state->loaded;
    __atomic_store_n(&state->loaded, node, __ATOMIC_RELEASE);
    if (libraries && lg_cuda_devices == 1)
        __atomic_store_n(&state->anywhere, node->function, __ATOMIC_RELEASE);
    return LG_SUCCESS;
}

/* Loads the kernel where the thread is, unless another thread has meanwhile. */
LG_COLD
static int lg_load_once(lg_state *state, const lg_kernel *kernel, void *context, int device,
                        void **function)
{
    int status = LG_SUCCESS;
    (void)pthread_mutex_lock(&state->mutex);
    *function = lg_lookup(state, context, device);
    if (*function == NULL)
        status = lg_load_here(state, kernel, context, device, function);
    (void)pthread_mutex_unlock(&state->mutex);
    return status;
}

/* Finds what to launch in the current context. */
static int lg_find_function(lg_state *state, const lg_kernel *kernel, void *stream,
                            void **function)
{
    void *context = NULL;
    int device = 0;
    int status = lg_need_driver(kernel->name);
    if (status == LG_SUCCESS)
        status = lg_find_place(kernel->name, stream, &context, &device);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    *function = lg_lookup(state, context, device);
    if (LG_UNLIKELY(*function == NULL))
        return lg_load_once(state, kernel, context, device, function);
    return LG_SUCCESS;
}

static inline int lg_need_function(lg_state *state, const lg_kernel *kernel, void *stream,
                                   void **function)
{
    *function = __atomic_load_n(&state->anywhere, __ATOMIC_ACQUIRE);
    if (LG_UNLIKELY(*function == NULL))
        return lg_find_function(state, kernel, stream, function);
    return LG_SUCCESS;
}

/* Leaves the name of the call that failed in `call`. */
LG_COLD
static int lg_release_module(const lg_loaded *node, const char **call)
{
    void *context = NULL;
    *call = "cuCtxPushCurrent";
    int status = lg_cuda.context_push(node->context);
    if (status != LG_SUCCESS)
        return status;
    *call = "cuModuleUnload";
    status = lg_cuda.module_unload(node->module);
    int popped = lg_cuda.context_pop(&context);
    if (status == LG_SUCCESS && popped != LG_SUCCESS)
        *call = "cuCtxPopCurrent";
    return status != LG_SUCCESS ? status : popped;
}

/* Everything is forgotten even where the driver refuses to release it: the next launch loads
 * again rather than use a handle of unknown state. The first refusal is what is returned. */
LG_COLD
static int lg_release(lg_state *state, const lg_kernel *kernel)
{
    const char *call = NULL;
    const char *failed_call = NULL;
    int failed = LG_SUCCESS;
    (void)pthread_mutex_lock(&state->mutex);
    lg_loaded *node = state->loaded;
    __atomic_store_n(&state->anywhere, (void *)NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&state->loaded, (lg_loaded *)NULL, __ATOMIC_RELEASE);
    while (node != NULL) {
        lg_loaded *next = node->next;
        int status = node->module != NULL ? lg_release_module(node, &call) : LG_SUCCESS;
        if (failed == LG_SUCCESS && status != LG_SUCCESS) {
            failed = status;
            failed_call = call;
        }
        free(node);
        node = next;
    }
    if (state->library != NULL) {
        int status = lg_cuda.library_unload(state->library);
        if (failed == LG_SUCCESS && status != LG_SUCCESS) {
            failed = status;
            failed_call = "cuLibraryUnload";
        }
        state->library = NULL;
    }
    (void)pthread_mutex_unlock(&state->mutex);
    if (failed != LG_SUCCESS)
        return lg_driver_failed(kernel->name, failed_call, failed, "");
    return LG_SUCCESS;
}
