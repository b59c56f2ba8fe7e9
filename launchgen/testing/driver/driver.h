/* What the files of the recording driver share.
 *
 *   record.c   the log, the settings, chosen failures and delays: how every call begins and ends
 *   state.c    handles, contexts, streams, memory: what exists
 *   image.c    reads a cubin: entries and their parameters; which devices run an image
 *   ptx.c      reads PTX: the same
 *   errors.c   names and texts of CUresult
 *   time.c     the devices' clock, and which events are over
 *   calls_*.c  the entry points, thin
 *   control.c  lgr_*: what a test calls
 *
 * One mutex guards everything; it is held from lgr_begin to lgr_end.
 */
#ifndef LGR_DRIVER_H
#define LGR_DRIVER_H

#include "cuda_abi.h"

#include <stdatomic.h> /* the switch that is read without the mutex */
#include <stdbool.h>   /* bool */

enum {
    LGR_MAX_DEVICES = 16,
    LGR_MAX_DEPTH = 64,      /* contexts pushed by one thread */
    LGR_MAX_NAME = 64,       /* an entry point's name */
    LGR_MAX_THREADS = 1024,  /* of a block */
    LGR_PORTABLE_CLUSTER = 8,
    LGR_MULTIPROCESSORS = 132,
    LGR_L2_CACHE = 60 << 20,
    LGR_KERNEL_TIME = 10,    /* microseconds of a launch where no test says how many */
    LGR_DEFAULT_SHARED = 48 * 1024
};

/* ---- text: a growing buffer; on lack of memory it stays short ------------------------------- */

struct lgr_text {
    char *data;
    size_t length;
    size_t capacity;
};

__attribute__((format(printf, 2, 3))) void lgr_print(struct lgr_text *text, const char *format,
                                                     ...);
void lgr_print_bytes(struct lgr_text *text, const char *bytes, size_t length);
void lgr_print_quoted(struct lgr_text *text, const char *string);
void lgr_print_hex(struct lgr_text *text, const void *bytes, size_t length);

/* ---- settings ------------------------------------------------------------------------------- */

struct lgr_fault {
    char name[LGR_MAX_NAME]; /* an entry point, or "*" */
    CUresult code;
    uint64_t skip;  /* calls that still succeed */
    uint64_t times; /* calls that then fail; UINT64_MAX for all */
};

struct lgr_delay {
    char name[LGR_MAX_NAME];
    double milliseconds;
};

struct lgr_settings {
    int devices;
    int capability[LGR_MAX_DEVICES]; /* 90 is 9.0 */
    int opt_in_shared[LGR_MAX_DEVICES];
    int static_shared; /* of every function; -1: what its image says */
    int driver_version;
    bool texts; /* cuGetErrorName and cuGetErrorString know any */
    bool capturing;
    bool reuses_handles; /* what is loaded gets those of what was unloaded */
    double *kernel_times; /* microseconds of one launch after the other; the last holds on */
    size_t kernel_time_count;
    bool eager; /* libraries are looked at when they are loaded */
};

extern struct lgr_settings lgr_settings;

/* Nothing is recorded and no launch is looked at while this is set. */
extern atomic_bool lgr_off;

/* Returns false where name or value is none that is known. */
bool lgr_set(const char *name, const char *value);

/* ---- a call --------------------------------------------------------------------------------- */

struct lgr_call {
    const char *name;
    CUresult result;
    bool forced;
    bool recorded;
    bool has_argument;
    uint64_t sequence;
    struct lgr_text text;  /* the arguments, as members of a JSON object */
    struct lgr_text extra; /* further members of the record: "launch": {...} */
};

/* Starts a call: waits where it was told to be slow, then takes the mutex. */
void lgr_begin(struct lgr_call *call, const char *name);
/* Writes an argument down; a no-op where nothing is recorded. */
void lgr_argue(struct lgr_call *call, const char *key, uint64_t value);
void lgr_argue_signed(struct lgr_call *call, const char *key, int64_t value);
void lgr_argue_handle(struct lgr_call *call, const char *key, const void *value);
void lgr_argue_text(struct lgr_call *call, const char *key, const char *value);
/* Starts an argument whose JSON value the caller prints into call->text. */
void lgr_argue_key(struct lgr_call *call, const char *key);
/* Whether the call takes place: false where it was told to fail, or before cuInit. */
bool lgr_goes_on(struct lgr_call *call);
bool lgr_goes_on_uninitialised(struct lgr_call *call);
/* Appends the record, lets the mutex go and returns the result. */
CUresult lgr_end(struct lgr_call *call);

void lgr_lock(void);
void lgr_unlock(void);
void lgr_clear_log(void);
/* Failures, delays and what else one test may have switched. */
void lgr_clear_faults(void);
void lgr_restart_settings(void);
uint64_t lgr_log_length(void);
char *lgr_log_text(uint64_t first);

/* ---- images --------------------------------------------------------------------------------- */

struct lgr_parameter {
    uint32_t offset;
    uint32_t size;
};

struct lgr_entry {
    char *name;
    struct lgr_parameter *parameters;
    size_t count;
    int static_shared;
    int registers;       /* of a thread; 0: unknown */
    uint32_t block[3];   /* required; zeros: none */
    uint32_t cluster[3]; /* required; zeros: none */
};

struct lgr_image {
    int capability; /* 90 */
    char suffix;    /* the "a" of sm_90a, or "f"; 0: neither */
    bool is_text;   /* PTX, which is compiled for the device */
    struct lgr_entry *entries;
    size_t count;
};

/* Returns CUDA_SUCCESS, or an error and an empty image. */
CUresult lgr_read_image(struct lgr_image *image, const void *data);
/* For lgr_read_image, which empties the image where this fails. */
CUresult lgr_read_ptx(struct lgr_image *image, const char *text);
bool lgr_set_parameter(struct lgr_entry *entry, uint32_t ordinal, uint32_t offset, uint32_t size);
void lgr_free_image(struct lgr_image *image);
/* Returns CUDA_SUCCESS where the device runs the image, and else what loading it there returns. */
CUresult lgr_check_image(const struct lgr_image *image, int device);

/* ---- objects -------------------------------------------------------------------------------- */

enum lgr_kind {
    LGR_CONTEXT = 1,
    LGR_STREAM,
    LGR_MODULE,
    LGR_FUNCTION,
    LGR_LIBRARY,
    LGR_KERNEL,
    LGR_EVENT
};

/* What was last recorded into an event. */
struct lgr_moment {
    bool recorded;
    bool over;       /* a host has waited for it: only then is it known to have happened */
    bool asked;      /* a host has asked once whether it is over */
    void *stream;    /* NULL for any default stream */
    uint64_t order;  /* among all that was recorded */
    double time;     /* of the devices' clock */
};

/* One struct for all kinds: only a test holds them, by the dozen.  They are kept when dead, so that
   a stale handle is told from a live one, unless the settings want them used again. */
struct lgr_object {
    enum lgr_kind kind;
    bool alive;
    void *handle;
    struct lgr_object *parent; /* of a stream, module or event its context, of a function its
                                  module, of a kernel its library; destroyed with it */
    int device;                /* of contexts and what lives in them; -1 otherwise */
    bool primary;              /* contexts */
    int references;            /* primary contexts */
    size_t limits[LGR_LIMIT_COUNT]; /* contexts, where set; 0: as it was made */
    struct lgr_image image;    /* modules and libraries */
    CUresult load_error;       /* of libraries: what asking for a kernel returns */
    struct lgr_entry *entry;   /* functions and kernels */
    struct lgr_entry made;     /* the entry of a function without an image */
    struct lgr_object *kernel; /* of a function made from a kernel */
    int attributes[LGR_MAX_DEVICES][LGR_FUNC_COUNT]; /* functions and kernels, where set */
    bool attribute_set[LGR_MAX_DEVICES][LGR_FUNC_COUNT];
    unsigned flags;            /* events */
    struct lgr_moment moment;  /* events */
};

struct lgr_object *lgr_create(enum lgr_kind kind, struct lgr_object *parent, int device);
/* Returns the live object of that kind and handle, or NULL. */
struct lgr_object *lgr_find(enum lgr_kind kind, const void *handle);
/* Returns a live context, or a primary one that was released: that may be made current. */
struct lgr_object *lgr_find_context(const void *handle);
/* Returns the live function or kernel of that handle, or NULL. */
struct lgr_object *lgr_find_launchable(const void *handle);
/* Ends an object and all that lives in it. */
void lgr_destroy(struct lgr_object *object);
/* Returns the first live event of a context from that index on, which becomes its own. */
struct lgr_object *lgr_event_at(size_t *index, const struct lgr_object *context);
struct lgr_object *lgr_find_function(struct lgr_object *owner, const char *name);
struct lgr_object *lgr_function_of_kernel(struct lgr_object *kernel, struct lgr_object *context);

/* Warps that a multiprocessor has registers for. */
int lgr_warps_by_registers(const struct lgr_entry *entry);
int lgr_attribute(const struct lgr_object *function, int device, int attribute);
CUresult lgr_set_attribute(struct lgr_object *function, int device, int attribute, int value);

bool lgr_is_device(int device);
extern bool lgr_initialised;
extern bool lgr_forked; /* from a process in which it was */
extern struct lgr_object *lgr_primary[LGR_MAX_DEVICES];
struct lgr_object *lgr_retain_primary(int device);
CUresult lgr_release_primary(int device);

/* Returns CUDA_SUCCESS and the calling thread's context, or 201, or 709 for a dead one. */
CUresult lgr_current(struct lgr_object **context);
struct lgr_object *lgr_top(void); /* the same, dead or alive; NULL if none */
void lgr_replace_top(struct lgr_object *context);
bool lgr_push(struct lgr_object *context);
struct lgr_object *lgr_pop(void);
/* The context of a stream; that of a default stream is the current one. */
CUresult lgr_stream_context(CUstream stream, struct lgr_object **context);
bool lgr_is_default_stream(const void *stream);

/* The devices' clock in microseconds: launches and fills move it on, in the order of the calls, and
   nothing else does.  So the time between two events is that of what was launched between them. */
void lgr_spend(double microseconds);
double lgr_next_kernel_time(void);
void lgr_record_event(struct lgr_object *event, CUstream stream);
/* A host has waited: events of the context (and of the stream, unless any_stream) recorded up to
   that order are over. */
void lgr_finish(const struct lgr_object *context, bool any_stream, const void *stream,
                uint64_t order);

struct lgr_range {
    uint64_t address;
    uint64_t size;
    int device;
    bool host;
    bool managed;
    uint64_t device_address;
    void *backing; /* memory of cuMemAlloc; NULL for a range that a test added */
};

const struct lgr_range *lgr_find_range(uint64_t address);
bool lgr_add_range(struct lgr_range range);
CUresult lgr_allocate(uint64_t *address, size_t size, int device);
CUresult lgr_release(uint64_t address);

/* Forgets current contexts and the ranges that tests added. */
void lgr_reset_state(void);
/* As if the library were loaded anew. */
void lgr_restart_state(void);

#endif
