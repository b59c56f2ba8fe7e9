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

LG_COLD
static void *lg_lookup(const lg_state *state, const void *context, int device)
{
    const lg_loaded *node = __atomic_load_n(&state->loaded, __ATOMIC_ACQUIRE);
    for (; node != NULL; node = node->next) {
        if (node->context == NULL ? node->device == device : node->context == context)
            return node->function;
    }
    return NULL;
}
