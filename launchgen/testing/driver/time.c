/* The devices' clock, and which events are over. */
#include "driver.h"

static double now;
static uint64_t order;

void lgr_spend(double microseconds) {
    now += microseconds;
}

double lgr_next_kernel_time(void) {
    struct lgr_settings *settings = &lgr_settings;
    if (!settings->kernel_time_count)
        return LGR_KERNEL_TIME;
    double time = settings->kernel_times[0];
    if (settings->kernel_time_count > 1) {
        settings->kernel_time_count--;
        for (size_t i = 0; i < settings->kernel_time_count; i++)
            settings->kernel_times[i] = settings->kernel_times[i + 1];
    }
    return time;
}

void lgr_record_event(struct lgr_object *event, CUstream stream) {
    event->moment = (struct lgr_moment){.recorded = true,
                                        .stream = lgr_is_default_stream(stream) ? NULL : stream,
                                        .order = ++order,
                                        .time = now};
}

void lgr_finish(const struct lgr_object *context, bool any_stream, const void *stream,
                uint64_t last) {
    const void *wanted = lgr_is_default_stream(stream) ? NULL : stream;
    struct lgr_object *event = NULL;
    for (size_t i = 0; (event = lgr_event_at(&i, context)); i++)
        if (event->moment.order <= last && (any_stream || event->moment.stream == wanted))
            event->moment.over = true;
}
