/* Entry points: events. */
#include "driver.h"

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    const unsigned known =
        LGR_EVENT_BLOCKING_SYNC | LGR_EVENT_DISABLE_TIMING | LGR_EVENT_INTERPROCESS;
    struct lgr_call call;
    lgr_begin(&call, "cuEventCreate");
    lgr_argue(&call, "flags", flags);
    if (lgr_goes_on(&call)) {
        struct lgr_object *context = NULL, *object = NULL;
        bool is_timed_between_processes =
            (flags & LGR_EVENT_INTERPROCESS) && !(flags & LGR_EVENT_DISABLE_TIMING);
        call.result = lgr_current(&context);
        if (!call.result && (!event || flags & ~known || is_timed_between_processes))
            call.result = CUDA_ERROR_INVALID_VALUE;
        if (!call.result && !(object = lgr_create(LGR_EVENT, context, context->device)))
            call.result = CUDA_ERROR_OUT_OF_MEMORY;
        if (!call.result) {
            object->flags = flags;
            *event = object->handle;
            lgr_argue_handle(&call, "event", object->handle);
        }
    }
    return lgr_end(&call);
}

/* Begins a call about an event and returns it where it goes on and the event exists. */
static struct lgr_object *begin_with_event(struct lgr_call *call, const char *name,
                                           CUevent event) {
    lgr_begin(call, name);
    lgr_argue_handle(call, "event", event);
    if (!lgr_goes_on(call))
        return NULL;
    struct lgr_object *object = lgr_find(LGR_EVENT, event);
    if (!object)
        call->result = CUDA_ERROR_INVALID_HANDLE;
    return object;
}

CUresult cuEventDestroy_v2(CUevent event) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_event(&call, "cuEventDestroy_v2", event);
    if (object)
        lgr_destroy(object);
    return lgr_end(&call);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_event(&call, "cuEventRecord", event);
    lgr_argue_handle(&call, "stream", stream);
    if (object) {
        struct lgr_object *context = NULL;
        call.result = lgr_stream_context(stream, &context);
        if (!call.result && context != object->parent)
            call.result = CUDA_ERROR_INVALID_HANDLE;
        if (!call.result)
            lgr_record_event(object, stream);
    }
    return lgr_end(&call);
}

CUresult cuEventSynchronize(CUevent event) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_event(&call, "cuEventSynchronize", event);
    if (object && object->moment.recorded)
        lgr_finish(object->parent, false, object->moment.stream, object->moment.order);
    return lgr_end(&call);
}

/* A GPU that was given work is busy when it is first asked, and done when it is asked again. */
CUresult cuEventQuery(CUevent event) {
    struct lgr_call call;
    struct lgr_object *object = begin_with_event(&call, "cuEventQuery", event);
    if (object && object->moment.recorded && !object->moment.over) {
        if (object->moment.asked)
            lgr_finish(object->parent, false, object->moment.stream, object->moment.order);
        else
            call.result = CUDA_ERROR_NOT_READY;
        object->moment.asked = true;
    }
    return lgr_end(&call);
}

static CUresult elapsed(const struct lgr_object *start, const struct lgr_object *end,
                        float *milliseconds) {
    if (!milliseconds || !start || !end || (start->flags | end->flags) & LGR_EVENT_DISABLE_TIMING ||
        !start->moment.recorded || !end->moment.recorded)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->moment.over || !end->moment.over)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((end->moment.time - start->moment.time) / 1000);
    return CUDA_SUCCESS;
}

static CUresult measure(const char *name, float *milliseconds, CUevent start, CUevent end) {
    struct lgr_call call;
    lgr_begin(&call, name);
    lgr_argue_handle(&call, "start", start);
    lgr_argue_handle(&call, "end", end);
    if (lgr_goes_on(&call))
        call.result = elapsed(lgr_find(LGR_EVENT, start), lgr_find(LGR_EVENT, end), milliseconds);
    return lgr_end(&call);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    return measure("cuEventElapsedTime", milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
    return measure("cuEventElapsedTime_v2", milliseconds, start, end);
}
