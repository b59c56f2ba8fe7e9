/* lgr_*: what tests call.  The only exported functions that are not the driver's. */
#include "control.h"

#include "driver.h"

#include <stdlib.h> /* calloc, free */
#include <string.h> /* strdup */

int lgr_control_set(const char *name, const char *value) {
    return lgr_set(name, value) ? 0 : -1;
}

void lgr_control_reset(void) {
    lgr_lock();
    lgr_clear_log();
    lgr_clear_faults();
    lgr_reset_state();
    lgr_unlock();
}

void lgr_control_restart(void) {
    lgr_lock();
    lgr_clear_log();
    lgr_restart_settings();
    lgr_restart_state();
    lgr_unlock();
}

uint64_t lgr_control_count(void) {
    lgr_lock();
    uint64_t count = lgr_log_length();
    lgr_unlock();
    return count;
}

char *lgr_control_log(uint64_t first) {
    lgr_lock();
    char *text = lgr_log_text(first);
    lgr_unlock();
    return text;
}

void lgr_control_free(void *memory) {
    free(memory);
}

int lgr_control_add_memory(uint64_t address, uint64_t size, int device, int host, int managed,
                           uint64_t device_address) {
    lgr_lock();
    bool good = size && address + (size - 1) >= address && lgr_is_device(device) &&
                lgr_add_range((struct lgr_range){.address = address,
                                                 .size = size,
                                                 .device = device,
                                                 .host = host != 0,
                                                 .managed = managed != 0,
                                                 .device_address = device_address});
    lgr_unlock();
    return good ? 0 : -1;
}

void *lgr_control_context(int device, int primary) {
    struct lgr_object *context = NULL;
    lgr_lock();
    lgr_initialised = true;
    if (lgr_is_device(device))
        context = primary ? lgr_retain_primary(device) : lgr_create(LGR_CONTEXT, NULL, device);
    void *handle = context ? context->handle : NULL;
    lgr_unlock();
    return handle;
}

void *lgr_control_stream(void *context) {
    void *handle = NULL;
    lgr_lock();
    struct lgr_object *parent = lgr_find(LGR_CONTEXT, context);
    if (parent) {
        struct lgr_object *stream = lgr_create(LGR_STREAM, parent, parent->device);
        handle = stream ? stream->handle : NULL;
    }
    lgr_unlock();
    return handle;
}

int lgr_control_set_current(void *context) {
    lgr_lock();
    struct lgr_object *object = lgr_find(LGR_CONTEXT, context);
    bool good = !context || object;
    if (good)
        lgr_replace_top(object);
    lgr_unlock();
    return good ? 0 : -1;
}

void *lgr_control_current(void) {
    lgr_lock();
    struct lgr_object *context = lgr_top();
    void *handle = context ? context->handle : NULL;
    lgr_unlock();
    return handle;
}

void *lgr_control_make_function(const char *name, const uint32_t *offsets, const uint32_t *sizes,
                                uint64_t count) {
    void *handle = NULL;
    lgr_lock();
    struct lgr_object *function = lgr_create(LGR_FUNCTION, NULL, -1);
    if (function) {
        struct lgr_entry *entry = &function->made;
        entry->name = strdup(name);
        entry->parameters = calloc((size_t)count + 1, sizeof *entry->parameters);
        function->entry = entry;
        if (entry->name && entry->parameters) {
            entry->count = (size_t)count;
            for (size_t i = 0; i < entry->count; i++)
                entry->parameters[i] = (struct lgr_parameter){offsets[i], sizes[i]};
            handle = function->handle;
        }
    }
    lgr_unlock();
    return handle;
}
