/* The recording driver's own functions, beside CUDA's.  A C test may declare them from here. */
#ifndef LGR_CONTROL_H
#define LGR_CONTROL_H

#include <stdint.h> /* uint64_t */

#ifdef __cplusplus
extern "C" {
#endif

/* Changes a setting: the name is that of an environment variable LAUNCHGEN_RECORD_<name>, or FILE
   for LAUNCHGEN_RECORD itself.  Returns 0, or -1 for a name or value that is none. */
int lgr_control_set(const char *name, const char *value);

/* Forgets the log, failures, delays, memory that a test added, and every thread's current context.
   What was loaded stays loaded. */
void lgr_control_reset(void);

/* As if the process had just started, with default settings: every handle is void. */
void lgr_control_restart(void);

/* Records so far, and their text from that of the given index on: a JSON object for each line.
   NULL where there are none; to be freed with lgr_control_free. */
uint64_t lgr_control_count(void);
char *lgr_control_log(uint64_t first);
void lgr_control_free(void *memory);

/* Makes addresses known to cuPointerGetAttribute.  Returns 0, or -1. */
int lgr_control_add_memory(uint64_t address, uint64_t size, int device, int host, int managed,
                           uint64_t device_address);

/* What a host program has before it calls a launcher, unlogged and as after cuInit: a device's
   primary context (retained) or a new one, a stream of a context, and the calling thread's current
   context (NULL: none).  NULL or -1 where there is no such device or context. */
void *lgr_control_context(int device, int primary);
void *lgr_control_stream(void *context);
int lgr_control_set_current(void *context);
void *lgr_control_current(void);

/* Makes a handle that can be launched in every context, with parameters of these sizes. */
void *lgr_control_make_function(const char *name, const uint32_t *offsets, const uint32_t *sizes,
                                uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
