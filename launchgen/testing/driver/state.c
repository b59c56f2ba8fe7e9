/* What exists: contexts, streams, modules, functions, libraries, kernels and memory. */
#include "driver.h"

#include <stdlib.h> /* calloc, posix_memalign */
#include <string.h> /* strcmp */

bool lgr_initialised;
bool lgr_forked;
struct lgr_object *lgr_primary[LGR_MAX_DEVICES];

static struct lgr_object **objects;
static size_t object_count, object_capacity;
/* Handles are numbers, never addresses: a launcher that looks into one crashes at once.  They are
   not given twice, restarts included. */
static size_t first_index = 1;

static struct lgr_range *ranges;
static size_t range_count, range_capacity;

/* A thread's contexts count only while the epoch is that of the state. */
static uint64_t epoch = 1;
static _Thread_local struct {
    uint64_t epoch;
    int depth;
    struct lgr_object *contexts[LGR_MAX_DEPTH];
} mine;

/* ---- objects -------------------------------------------------------------------------------- */

static const uintptr_t HANDLE_BASE = (uintptr_t)0x4c47 << 32;

/* Returns a dead function or kernel to make a new one in its place, or NULL. */
static struct lgr_object *find_dead(enum lgr_kind kind) {
    bool is_loaded = kind == LGR_FUNCTION || kind == LGR_KERNEL;
    for (size_t i = 0; is_loaded && lgr_settings.reuses_handles && i < object_count; i++)
        if (objects[i]->kind == kind && !objects[i]->alive &&
            objects[i]->entry != &objects[i]->made)
            return objects[i];
    return NULL;
}

struct lgr_object *lgr_create(enum lgr_kind kind, struct lgr_object *parent, int device) {
    struct lgr_object *dead = find_dead(kind);
    if (dead) {
        *dead = (struct lgr_object){.kind = kind, .alive = true, .handle = dead->handle,
                                    .parent = parent, .device = device};
        return dead;
    }
    if (object_count == object_capacity) {
        size_t capacity = object_capacity ? 2 * object_capacity : 64;
        struct lgr_object **more = realloc(objects, capacity * sizeof *objects);
        if (!more)
            return NULL;
        objects = more;
        object_capacity = capacity;
    }
    struct lgr_object *object = calloc(1, sizeof *object);
    if (!object)
        return NULL;
    uintptr_t index = first_index + object_count;
    object->kind = kind;
    object->alive = true;
    object->handle = (void *)(HANDLE_BASE | (uintptr_t)kind << 28 | index << 4);
    object->parent = parent;
    object->device = device;
    objects[object_count++] = object;
    return object;
}

struct lgr_object *lgr_find(enum lgr_kind kind, const void *handle) {
    uintptr_t number = (uintptr_t)handle;
    uintptr_t index = number >> 4 & 0xffffff;
    if ((number & ~((uintptr_t)0xffffff << 4)) != (HANDLE_BASE | (uintptr_t)kind << 28) ||
        index < first_index || index - first_index >= object_count)
        return NULL;
    struct lgr_object *object = objects[index - first_index];
    return object->alive ? object : NULL;
}

struct lgr_object *lgr_find_context(const void *handle) {
    for (int i = 0; handle && i < LGR_MAX_DEVICES; i++)
        if (lgr_primary[i] && lgr_primary[i]->handle == handle)
            return lgr_primary[i];
    return lgr_find(LGR_CONTEXT, handle);
}

struct lgr_object *lgr_find_launchable(const void *handle) {
    struct lgr_object *object = lgr_find(LGR_FUNCTION, handle);
    return object ? object : lgr_find(LGR_KERNEL, handle);
}

void lgr_destroy(struct lgr_object *object) {
    object->alive = false;
    if (object->kind == LGR_STREAM || object->kind == LGR_FUNCTION || object->kind == LGR_EVENT)
        return; /* nothing lives in them, and there may be many */
    for (size_t i = 0; i < object_count; i++)
        if (objects[i]->alive && (objects[i]->parent == object || objects[i]->kernel == object))
            lgr_destroy(objects[i]);
}

struct lgr_object *lgr_event_at(size_t *index, const struct lgr_object *context) {
    for (; *index < object_count; ++*index) {
        struct lgr_object *object = objects[*index];
        if (object->kind == LGR_EVENT && object->alive && object->parent == context)
            return object;
    }
    return NULL;
}

/* Returns a module's function or a library's kernel, the same each time; NULL for no such entry. */
struct lgr_object *lgr_find_function(struct lgr_object *owner, const char *name) {
    for (size_t i = 0; i < object_count; i++)
        if (objects[i]->parent == owner && objects[i]->entry && objects[i]->alive &&
            !strcmp(objects[i]->entry->name, name))
            return objects[i];
    for (size_t i = 0; i < owner->image.count; i++) {
        if (strcmp(owner->image.entries[i].name, name) != 0)
            continue;
        enum lgr_kind kind = owner->kind == LGR_LIBRARY ? LGR_KERNEL : LGR_FUNCTION;
        struct lgr_object *function = lgr_create(kind, owner, owner->device);
        if (function)
            function->entry = &owner->image.entries[i];
        return function;
    }
    return NULL;
}

struct lgr_object *lgr_function_of_kernel(struct lgr_object *kernel, struct lgr_object *context) {
    for (size_t i = 0; i < object_count; i++)
        if (objects[i]->kernel == kernel && objects[i]->parent == context && objects[i]->alive)
            return objects[i];
    struct lgr_object *function = lgr_create(LGR_FUNCTION, context, context->device);
    if (function) {
        function->kernel = kernel;
        function->entry = kernel->entry;
    }
    return function;
}

/* ---- attributes of functions ---------------------------------------------------------------- */

static int static_shared(const struct lgr_object *function) {
    return lgr_settings.static_shared >= 0 ? lgr_settings.static_shared
                                           : function->entry->static_shared;
}

static const struct lgr_image *image_of(const struct lgr_object *function) {
    const struct lgr_object *kernel = function->kernel ? function->kernel : function;
    return kernel->parent ? &kernel->parent->image : NULL;
}

int lgr_warps_by_registers(const struct lgr_entry *entry) {
    int each = (entry->registers + 7) / 8 * 8 * 32; /* of a warp */
    return each ? 65536 / each / 4 * 4 : LGR_MAX_THREADS; /* four schedulers share them */
}

static int max_threads(const struct lgr_entry *entry) {
    int threads = 32 * lgr_warps_by_registers(entry);
    return threads < LGR_MAX_THREADS ? threads : LGR_MAX_THREADS;
}

int lgr_attribute(const struct lgr_object *function, int device, int attribute) {
    const struct lgr_object *owner = function->kernel ? function->kernel : function;
    const struct lgr_image *image = image_of(function);
    if (owner->attribute_set[device][attribute])
        return owner->attributes[device][attribute];
    const struct lgr_entry *entry = function->entry;
    switch (attribute) {
    case LGR_FUNC_MAX_THREADS:
        return max_threads(entry);
    case LGR_FUNC_REGISTERS:
        return entry->registers;
    case LGR_FUNC_MUST_SET_CLUSTER:
        return entry->cluster[0] != 0;
    case LGR_FUNC_CLUSTER_WIDTH:
    case LGR_FUNC_CLUSTER_WIDTH + 1:
    case LGR_FUNC_CLUSTER_WIDTH + 2:
        return (int)entry->cluster[attribute - LGR_FUNC_CLUSTER_WIDTH];
    case LGR_FUNC_STATIC_SHARED:
        return static_shared(function);
    case LGR_FUNC_BINARY_VERSION:
        return image && !image->is_text ? image->capability : lgr_settings.capability[device];
    case LGR_FUNC_MAX_DYNAMIC_SHARED:
        return LGR_DEFAULT_SHARED - static_shared(function);
    case LGR_FUNC_CARVEOUT:
        return -1;
    default:
        return 0;
    }
}

CUresult lgr_set_attribute(struct lgr_object *function, int device, int attribute, int value) {
    struct lgr_object *owner = function->kernel ? function->kernel : function;
    switch (attribute) {
    case LGR_FUNC_MAX_DYNAMIC_SHARED:
        if (value < 0 || value > lgr_settings.opt_in_shared[device] - static_shared(function))
            return CUDA_ERROR_INVALID_VALUE;
        break;
    case LGR_FUNC_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        break;
    case LGR_FUNC_NON_PORTABLE_CLUSTER:
    case LGR_FUNC_CLUSTER_POLICY:
        break;
    case LGR_FUNC_SHARED_MODE: /* new in CUDA 13.4 */
        if (lgr_settings.driver_version < 13040)
            return CUDA_ERROR_INVALID_VALUE;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    owner->attributes[device][attribute] = value;
    owner->attribute_set[device][attribute] = true;
    return CUDA_SUCCESS;
}

/* ---- devices and contexts ------------------------------------------------------------------- */

bool lgr_is_device(int device) {
    return device >= 0 && device < lgr_settings.devices;
}

struct lgr_object *lgr_retain_primary(int device) {
    struct lgr_object *context = lgr_primary[device];
    if (!context) {
        context = lgr_create(LGR_CONTEXT, NULL, device);
        if (!context)
            return NULL;
        context->primary = true;
        lgr_primary[device] = context;
    }
    context->alive = true; /* the handle is the same after a release */
    context->references++;
    return context;
}

CUresult lgr_release_primary(int device) {
    struct lgr_object *context = lgr_primary[device];
    if (!context || !context->references)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->references == 0)
        lgr_destroy(context);
    return CUDA_SUCCESS;
}

static void catch_up(void) {
    if (mine.epoch == epoch)
        return;
    mine.epoch = epoch;
    mine.depth = 0;
}

struct lgr_object *lgr_top(void) {
    catch_up();
    return mine.depth ? mine.contexts[mine.depth - 1] : NULL;
}

void lgr_replace_top(struct lgr_object *context) {
    (void)lgr_pop();
    if (context)
        (void)lgr_push(context);
}

bool lgr_push(struct lgr_object *context) {
    catch_up();
    if (mine.depth == LGR_MAX_DEPTH)
        return false;
    mine.contexts[mine.depth++] = context;
    return true;
}

struct lgr_object *lgr_pop(void) {
    struct lgr_object *context = lgr_top();
    if (context)
        mine.depth--;
    return context;
}

CUresult lgr_current(struct lgr_object **context) {
    *context = lgr_top();
    if (!*context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return (*context)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool lgr_is_default_stream(const void *stream) {
    return !stream || (uintptr_t)stream == LGR_STREAM_LEGACY ||
           (uintptr_t)stream == LGR_STREAM_PER_THREAD;
}

CUresult lgr_stream_context(CUstream stream, struct lgr_object **context) {
    if (lgr_is_default_stream(stream))
        return lgr_current(context);
    struct lgr_object *object = lgr_find(LGR_STREAM, stream);
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    *context = object->parent;
    return CUDA_SUCCESS;
}

/* ---- memory --------------------------------------------------------------------------------- */

const struct lgr_range *lgr_find_range(uint64_t address) {
    for (size_t i = range_count; i-- > 0;) /* the newest wins */
        if (address >= ranges[i].address && address - ranges[i].address < ranges[i].size)
            return &ranges[i];
    return NULL;
}

bool lgr_add_range(struct lgr_range range) {
    if (range_count == range_capacity) {
        size_t capacity = range_capacity ? 2 * range_capacity : 32;
        struct lgr_range *more = realloc(ranges, capacity * sizeof *ranges);
        if (!more)
            return false;
        ranges = more;
        range_capacity = capacity;
    }
    ranges[range_count++] = range;
    return true;
}

CUresult lgr_allocate(uint64_t *address, size_t size, int device) {
    void *backing = NULL;
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    if (posix_memalign(&backing, 512, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (uint64_t)(uintptr_t)backing;
    if (lgr_add_range((struct lgr_range){.address = *address,
                                         .size = size,
                                         .device = device,
                                         .device_address = *address,
                                         .backing = backing}))
        return CUDA_SUCCESS;
    free(backing);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void remove_range(size_t index) {
    free(ranges[index].backing);
    ranges[index] = ranges[--range_count];
}

CUresult lgr_release(uint64_t address) {
    for (size_t i = 0; i < range_count; i++)
        if (ranges[i].backing && ranges[i].address == address) {
            remove_range(i);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- for control.c, under the mutex --------------------------------------------------------- */

void lgr_reset_state(void) {
    epoch++;
    for (size_t i = range_count; i-- > 0;)
        if (!ranges[i].backing)
            remove_range(i);
}

void lgr_restart_state(void) {
    epoch++;
    while (range_count)
        remove_range(range_count - 1);
    for (size_t i = 0; i < object_count; i++) {
        lgr_free_image(&objects[i]->image);
        free(objects[i]->made.name);
        free(objects[i]->made.parameters);
        free(objects[i]);
    }
    first_index += object_count;
    object_count = 0;
    for (int i = 0; i < LGR_MAX_DEVICES; i++)
        lgr_primary[i] = NULL;
    lgr_initialised = false;
    lgr_forked = false;
}
