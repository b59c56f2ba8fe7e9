/* One load: of a library, which serves every context of a device, or, where the driver has no
 * libraries, of a module, which serves one context. */
typedef struct lg_node {
    lg_loaded loaded;
    struct lg_node *next;
    void *context;
    int device;
    void *module;
} lg_node;

/* `anywhere` is what to launch once nothing has to be asked before it: one device, one library.
 * Otherwise each launch looks its device or context up in `nodes`, to which some are only ever
 * added until all are released. `libraries` has one for each variant, shared by its devices. */
typedef struct lg_state {
    const lg_loaded *anywhere;
    lg_node *nodes;
    void **libraries;
    pthread_mutex_t mutex;
} lg_state;

static const lg_loaded *lg_lookup(const lg_state *state, const void *context, int device)
{
    const lg_node *node = __atomic_load_n(&state->nodes, __ATOMIC_ACQUIRE);
    for (; node != NULL; node = node->next) {
        if (node->context == NULL ? node->device == device : node->context == context)
            return &node->loaded;
    }
    return NULL;
}

/* Finds the best image that the device runs; NULL is a failure, of which `status` tells. */
LG_COLD
static const lg_variant *lg_choose(const lg_kernel *kernel, int device, int *status)
{
    int major = 0;
    int minor = 0;
    *status = lg_cuda.device_attribute(&major, LG_DEVICE_CAPABILITY_MAJOR, device);
    if (*status == LG_SUCCESS)
        *status = lg_cuda.device_attribute(&minor, LG_DEVICE_CAPABILITY_MINOR, device);
    if (*status != LG_SUCCESS) {
        (void)lg_driver_failed(kernel->name, "cuDeviceGetAttribute", *status, "");
        return NULL;
    }
    const int capability = 10 * major + minor;
    for (uint32_t i = 0; i < kernel->choice_count; i++) {
        const lg_choice *choice = &kernel->choices[i];
        if (choice->first <= capability && capability <= choice->last)
            return choice->variant;
    }
    *status = lg_refuse(LG_ERROR_NO_BINARY_FOR_GPU,
                        "%s: no image fits device %d of capability %d.%d; at hand %s %s",
                        kernel->name, device, major, minor,
                        kernel->variant_count == 1 ? "is" : "are", kernel->architectures);
    return NULL;
}

LG_COLD
static int lg_entry_failed(const lg_variant *variant, const char *call, int status)
{
    char detail[512];
    (void)snprintf(detail, sizeof detail, "; the image was asked for '%s'", variant->entry);
    return lg_driver_failed(variant->name, call, status, detail);
}

/* Leaves what the driver launches in the node, and the same as the current context's function in
 * `function`. */
LG_COLD
static int lg_load_library(void **library, lg_node *node, void **function)
{
    const lg_variant *variant = node->loaded.variant;
    int status = LG_SUCCESS;
    if (*library == NULL) {
        status = lg_cuda.library_load(library, variant->image, NULL, NULL, 0, NULL, NULL, 0);
        if (status != LG_SUCCESS) {
            *library = NULL;
            return lg_driver_failed(variant->name, "cuLibraryLoadData", status, "");
        }
    }
    status = lg_cuda.library_kernel(&node->loaded.function, *library, variant->entry);
    if (status != LG_SUCCESS)
        return lg_entry_failed(variant, "cuLibraryGetKernel", status);
    /* Drivers load lazily: this is what brings the code onto the device, and says so if the
     * device cannot run it, before a stream capture or the first launch depends on it. */
    status = lg_cuda.kernel_function(function, node->loaded.function);
    if (status != LG_SUCCESS)
        return lg_driver_failed(variant->name, "cuKernelGetFunction", status, "");
    return LG_SUCCESS;
}

LG_COLD
static int lg_load_module(lg_node *node, void **function)
{
    const lg_variant *variant = node->loaded.variant;
    int status = lg_cuda.module_load(&node->module, variant->image);
    if (status != LG_SUCCESS) {
        node->module = NULL;
        return lg_driver_failed(variant->name, "cuModuleLoadData", status, "");
    }
    status = lg_cuda.module_function(function, node->module, variant->entry);
    if (status != LG_SUCCESS)
        return lg_entry_failed(variant, "cuModuleGetFunction", status);
    node->loaded.function = *function;
    return LG_SUCCESS;
}

/* Called with the mutex held. What fails half way is undone, but for a loaded library: it is as
 * good for the next try. */
LG_COLD
static int lg_load_here(lg_state *state, const lg_kernel *kernel, void *context, int device,
                        const lg_loaded **loaded)
{
    const lg_question question = {"cuFuncGetParamInfo", lg_cuda.function_parameter};
    const int libraries = lg_cuda.library_load != NULL;
    void *function = NULL;
    int status = LG_SUCCESS;
    const lg_variant *variant = lg_choose(kernel, device, &status);
    if (variant == NULL)
        return status;
    lg_node *node = (lg_node *)calloc(1, sizeof *node);
    if (node == NULL)
        return lg_refuse(LG_ERROR_OUT_OF_MEMORY, "%s: out of memory", kernel->name);
    node->loaded.variant = variant;
    node->context = libraries ? NULL : context;
    node->device = device;
    if (libraries)
        status = lg_load_library(&state->libraries[variant - kernel->variants], node, &function);
    else
        status = lg_load_module(node, &function);
    if (status == LG_SUCCESS)
        status = lg_check_parameters(kernel, variant, function, &question, LG_ERROR_INVALID_IMAGE,
                                     "image");
    if (status == LG_SUCCESS)
        status = lg_prepare(variant, node->loaded.function, device, libraries);
    if (status != LG_SUCCESS) {
        if (node->module != NULL)
            (void)lg_cuda.module_unload(node->module);
        free(node);
        return status;
    }
    *loaded = &node->loaded;
    node->next = state->nodes;
    __atomic_store_n(&state->nodes, node, __ATOMIC_RELEASE);
    if (libraries && lg_cuda_devices == 1)
        __atomic_store_n(&state->anywhere, *loaded, __ATOMIC_RELEASE);
    return LG_SUCCESS;
}

/* Loads the kernel where the thread is, unless another thread has meanwhile. */
LG_COLD
static int lg_load_once(lg_state *state, const lg_kernel *kernel, void *context, int device,
                        const lg_loaded **loaded)
{
    int status = lg_lock(kernel->name, &state->mutex);
    if (status != LG_SUCCESS)
        return status;
    *loaded = lg_lookup(state, context, device);
    if (*loaded == NULL)
        status = lg_load_here(state, kernel, context, device, loaded);
    (void)pthread_mutex_unlock(&state->mutex);
    return status;
}

/* Finds what to launch in the current context. */
static int lg_find_loaded(lg_state *state, const lg_kernel *kernel, void *stream,
                          const lg_loaded **loaded)
{
    void *context = NULL;
    int device = 0;
    int status = lg_need_driver(kernel->name);
    if (status == LG_SUCCESS)
        status = lg_find_place(kernel->name, stream, &context, &device);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    *loaded = lg_lookup(state, context, device);
    if (LG_UNLIKELY(*loaded == NULL))
        return lg_load_once(state, kernel, context, device, loaded);
    return LG_SUCCESS;
}

static inline int lg_need_loaded(lg_state *state, const lg_kernel *kernel, void *stream,
                                 const lg_loaded **loaded)
{
    *loaded = __atomic_load_n(&state->anywhere, __ATOMIC_ACQUIRE);
    if (LG_UNLIKELY(*loaded == NULL))
        return lg_find_loaded(state, kernel, stream, loaded);
    return LG_SUCCESS;
}

/* Leaves the name of the call that failed in `call`. */
LG_COLD
static int lg_release_module(const lg_node *node, const char **call)
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
    int failed = lg_lock(kernel->name, &state->mutex);
    if (failed != LG_SUCCESS)
        return failed;
    lg_node *node = state->nodes;
    __atomic_store_n(&state->anywhere, (const lg_loaded *)NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&state->nodes, (lg_node *)NULL, __ATOMIC_RELEASE);
    while (node != NULL) {
        lg_node *next = node->next;
        int status = node->module != NULL ? lg_release_module(node, &call) : LG_SUCCESS;
        if (failed == LG_SUCCESS && status != LG_SUCCESS) {
            failed = status;
            failed_call = call;
        }
        free(node);
        node = next;
    }
    for (uint32_t i = 0; i < kernel->variant_count; i++) {
        void *library = state->libraries[i];
        int status = library != NULL ? lg_cuda.library_unload(library) : LG_SUCCESS;
        if (failed == LG_SUCCESS && status != LG_SUCCESS) {
            failed = status;
            failed_call = "cuLibraryUnload";
        }
        state->libraries[i] = NULL;
    }
    (void)pthread_mutex_unlock(&state->mutex);
    if (failed != LG_SUCCESS)
        return lg_driver_failed(kernel->name, failed_call, failed, "");
    return LG_SUCCESS;
}
