/* The log, the settings, chosen failures and delays. */
#include "driver.h"

#include <errno.h>       /* EINTR */
#include <fcntl.h>       /* open */
#include <pthread.h>     /* the mutex */
#include <stdarg.h>      /* lgr_print */
#include <stdio.h>       /* vsnprintf */
#include <stdlib.h>      /* calloc, realloc, getenv, strtol */
#include <string.h>      /* memcpy, strcmp */
#include <sys/syscall.h> /* SYS_gettid */
#include <time.h>        /* nanosleep */
#include <unistd.h>      /* write */

struct lgr_settings lgr_settings;
atomic_bool lgr_off;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static char **records;
static size_t record_count, record_capacity;
static uint64_t next_sequence;
static int log_file = -1;

enum { MAX_RULES = 64 };
static struct lgr_fault faults[MAX_RULES];
static size_t fault_count;
static struct lgr_delay delays[MAX_RULES];
static size_t delay_count;

/* ---- text ----------------------------------------------------------------------------------- */

static bool reserve(struct lgr_text *text, size_t more) {
    if (more < text->capacity - text->length)
        return true;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity - text->length <= more)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data)
        return false;
    text->data = data;
    text->capacity = capacity;
    return true;
}

void lgr_print_bytes(struct lgr_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length))
        return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void lgr_print(struct lgr_text *text, const char *format, ...) {
    char buffer[512]; /* no format here is longer: strings go through lgr_print_quoted */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    if (length > 0)
        lgr_print_bytes(text, buffer, (size_t)length < sizeof buffer ? (size_t)length : 0);
}

void lgr_print_quoted(struct lgr_text *text, const char *string) {
    if (!string) {
        lgr_print(text, "null");
        return;
    }
    lgr_print(text, "\"");
    for (const char *at = string; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\')
            lgr_print(text, "\\u%04x", byte);
        else
            lgr_print_bytes(text, at, 1);
    }
    lgr_print(text, "\"");
}

void lgr_print_hex(struct lgr_text *text, const void *bytes, size_t length) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    if (!reserve(text, 2 * length + 2))
        return;
    text->data[text->length++] = '"';
    for (size_t i = 0; i < length; i++) {
        text->data[text->length++] = digits[from[i] >> 4];
        text->data[text->length++] = digits[from[i] & 15];
    }
    text->data[text->length++] = '"';
    text->data[text->length] = '\0';
}

/* ---- settings ------------------------------------------------------------------------------- */

static bool read_integer(const char *text, long least, long most, int *result) {
    char *end = NULL;
    long value = strtol(text, &end, 0);
    if (end == text || *end || value < least || value > most)
        return false;
    *result = (int)value;
    return true;
}

/* Fills an array of one number for each device; the last one given holds for the rest. */
static bool read_per_device(const char *text, bool dotted, int *result) {
    int values[LGR_MAX_DEVICES], count = 0;
    for (const char *at = text;; at++) {
        char *end = NULL;
        long value = strtol(at, &end, 10);
        if (end == at || value < 0 || value > (1 << 30) || count == LGR_MAX_DEVICES)
            return false;
        if (dotted && *end == '.' && end[1] >= '0' && end[1] <= '9') {
            value = 10 * value + (end[1] - '0');
            end += 2;
        }
        values[count++] = (int)value;
        at = end;
        if (!*at)
            break;
        if (*at != ',')
            return false;
    }
    for (int i = 0; i < LGR_MAX_DEVICES; i++)
        result[i] = values[i < count ? i : count - 1];
    return true;
}

static bool copy_name(char *target, const char *from, size_t length) {
    if (!length || length >= LGR_MAX_NAME)
        return false;
    memcpy(target, from, length);
    target[length] = '\0';
    return true;
}

/* "cuInit:100", "cuInit:100:2" (the second call), "cuInit:100:1:3" (three calls) or ":1:always". */
static bool add_fault(const char *text, size_t length) {
    struct lgr_fault fault = {"", 0, 0, 1};
    char name[4 * LGR_MAX_NAME], *fields[4], *at = name, *end = NULL;
    size_t count = 0;
    if (length >= sizeof name || fault_count == MAX_RULES)
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    for (; at && count < 4; count++) {
        fields[count] = at;
        at = strchr(at, ':');
        if (at)
            *at++ = '\0';
    }
    if (at || count < 2 || !copy_name(fault.name, fields[0], strlen(fields[0])) ||
        !read_integer(fields[1], 1, 1 << 30, &fault.code))
        return false;
    if (count > 2) {
        fault.skip = strtoull(fields[2], &end, 10);
        if (end == fields[2] || *end || !fault.skip--)
            return false;
    }
    if (count > 3 && !strcmp(fields[3], "always")) {
        fault.times = UINT64_MAX;
    } else if (count > 3) {
        fault.times = strtoull(fields[3], &end, 10);
        if (end == fields[3] || *end)
            return false;
    }
    faults[fault_count++] = fault;
    return true;
}

/* "cuLibraryLoadData:50" in milliseconds; a later one for the same name replaces it. */
static bool add_delay(const char *text, size_t length) {
    struct lgr_delay delay;
    const char *colon = memchr(text, ':', length);
    char *end = NULL;
    if (!colon || !copy_name(delay.name, text, (size_t)(colon - text)))
        return false;
    delay.milliseconds = strtod(colon + 1, &end);
    if (end != text + length || !(delay.milliseconds >= 0 && delay.milliseconds < 1e6))
        return false;
    for (size_t i = 0; i < delay_count; i++)
        if (!strcmp(delays[i].name, delay.name)) {
            delays[i] = delay;
            return true;
        }
    if (delay_count == MAX_RULES)
        return false;
    delays[delay_count++] = delay;
    return true;
}

static bool for_each(const char *text, bool (*add)(const char *, size_t)) {
    while (*text) {
        size_t length = strcspn(text, ",");
        if (!add(text, length))
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool set_file(const char *path) {
    if (log_file >= 0)
        close(log_file);
    log_file = *path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    return !*path || log_file >= 0;
}

static bool set_capability(const char *value) {
    if (!read_per_device(value, true, lgr_settings.capability))
        return false;
    /* What devices of that capability have: the greatest block's shared memory, opted in. */
    for (int i = 0; i < LGR_MAX_DEVICES; i++) {
        int capability = lgr_settings.capability[i];
        int kilobytes = capability == 80 || capability == 87 ? 163
                        : capability >= 90 && capability < 120 ? 227
                        : capability == 70                     ? 96
                        : capability == 75                     ? 64
                                                               : 99;
        lgr_settings.opt_in_shared[i] = kilobytes * 1024;
    }
    return true;
}

static bool set_switch(const char *value, bool *result) {
    int number = 0;
    if (!read_integer(value, 0, 1, &number))
        return false;
    *result = number != 0;
    return true;
}

/* "5,7.5" in microseconds: the first launch takes 5, every later one 7.5. */
static bool set_kernel_times(const char *value) {
    size_t count = 1;
    for (const char *at = value; *at; at++)
        count += *at == ',';
    double *times = calloc(count, sizeof *times);
    if (!times)
        return false;
    for (size_t i = 0; i < count; i++) {
        char *end = NULL;
        times[i] = strtod(value, &end);
        if (end == value || *end != (i + 1 < count ? ',' : '\0') ||
            !(times[i] >= 0 && times[i] < 1e9)) {
            free(times);
            return false;
        }
        value = end + 1;
    }
    free(lgr_settings.kernel_times);
    lgr_settings.kernel_times = times;
    lgr_settings.kernel_time_count = count;
    return true;
}

static bool set_one(const char *name, const char *value) {
    bool flag = false;
    if (!strcmp(name, "FILE"))
        return set_file(value);
    if (!strcmp(name, "OFF")) {
        if (!set_switch(value, &flag))
            return false;
        atomic_store(&lgr_off, flag);
        return true;
    }
    if (!strcmp(name, "DEVICES"))
        return read_integer(value, 0, LGR_MAX_DEVICES, &lgr_settings.devices);
    if (!strcmp(name, "CAPABILITY"))
        return set_capability(value);
    if (!strcmp(name, "OPT_IN_SHARED"))
        return read_per_device(value, false, lgr_settings.opt_in_shared);
    if (!strcmp(name, "STATIC_SHARED"))
        return read_integer(value, -1, 1 << 30, &lgr_settings.static_shared);
    if (!strcmp(name, "DRIVER_VERSION"))
        return read_integer(value, 0, 1 << 30, &lgr_settings.driver_version);
    if (!strcmp(name, "TEXTS"))
        return set_switch(value, &lgr_settings.texts);
    if (!strcmp(name, "CAPTURING"))
        return set_switch(value, &lgr_settings.capturing);
    if (!strcmp(name, "REUSES_HANDLES"))
        return set_switch(value, &lgr_settings.reuses_handles);
    if (!strcmp(name, "KERNEL_TIMES"))
        return set_kernel_times(value);
    if (!strcmp(name, "FAIL"))
        return for_each(value, add_fault);
    if (!strcmp(name, "SLOW"))
        return for_each(value, add_delay);
    return false;
}

static void set_defaults(void) {
    const char *loading = getenv("CUDA_MODULE_LOADING");
    lgr_settings = (struct lgr_settings){.devices = 1,
                                         .static_shared = -1,
                                         .driver_version = 13000,
                                         .texts = true,
                                         .capturing = false,
                                         .reuses_handles = false,
                                         .eager = loading && !strcmp(loading, "EAGER")};
    (void)set_capability("9.0");
}

/* As with the real driver, whose answers in a child were looked at: all that it returns there is
   CUDA_ERROR_NOT_INITIALIZED, but for the names of errors.  No lock is left behind held. */
static void after_fork(void) {
    lgr_forked = lgr_initialised;
    pthread_mutex_unlock(&mutex);
}

/* The environment is read once, in the order in which settings build on each other. */
static void start(void) {
    static const char *const names[] = {"DEVICES",       "CAPABILITY", "OPT_IN_SHARED",
                                        "STATIC_SHARED", "DRIVER_VERSION", "TEXTS",
                                        "CAPTURING",     "REUSES_HANDLES", "KERNEL_TIMES",
                                        "FAIL",          "SLOW",           "OFF"};
    set_defaults();
    pthread_atfork(lgr_lock, lgr_unlock, after_fork);
    const char *path = getenv("LAUNCHGEN_RECORD");
    if (path && *path && !set_file(path))
        fprintf(stderr, "recording driver: cannot write LAUNCHGEN_RECORD=%s\n", path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "LAUNCHGEN_RECORD_%s", names[i]);
        const char *value = getenv(variable);
        if (value && *value && !set_one(names[i], value))
            fprintf(stderr, "recording driver: ignored %s=%s\n", variable, value);
    }
}

void lgr_lock(void) {
    pthread_once(&once, start);
    pthread_mutex_lock(&mutex);
}

void lgr_unlock(void) {
    pthread_mutex_unlock(&mutex);
}

bool lgr_set(const char *name, const char *value) {
    lgr_lock();
    bool good = set_one(name, value);
    lgr_unlock();
    return good;
}

/* A launch that is not looked at must still find the environment's wish. */
__attribute__((constructor)) static void start_early(void) {
    pthread_once(&once, start);
}

/* ---- a call --------------------------------------------------------------------------------- */

static bool matches(const char *pattern, const char *name) {
    return !strcmp(pattern, "*") || !strcmp(pattern, name);
}

static void wait_for(const char *name) {
    double milliseconds = 0;
    for (size_t i = 0; i < delay_count; i++)
        if (matches(delays[i].name, name))
            milliseconds += delays[i].milliseconds;
    if (milliseconds <= 0)
        return;
    long nanoseconds = (long)(milliseconds * 1e6);
    struct timespec left = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    lgr_unlock(); /* the others are not kept waiting */
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
    lgr_lock();
}

void lgr_begin(struct lgr_call *call, const char *name) {
    *call = (struct lgr_call){.name = name};
    lgr_lock();
    wait_for(name);
    call->recorded = !atomic_load_explicit(&lgr_off, memory_order_relaxed);
    call->sequence = next_sequence++;
}

void lgr_argue_key(struct lgr_call *call, const char *key) {
    lgr_print(&call->text, call->has_argument ? ",\"%s\":" : "\"%s\":", key);
    call->has_argument = true;
}

void lgr_argue(struct lgr_call *call, const char *key, uint64_t value) {
    if (!call->recorded)
        return;
    lgr_argue_key(call, key);
    lgr_print(&call->text, "%llu", (unsigned long long)value);
}

void lgr_argue_signed(struct lgr_call *call, const char *key, int64_t value) {
    if (!call->recorded)
        return;
    lgr_argue_key(call, key);
    lgr_print(&call->text, "%lld", (long long)value);
}

void lgr_argue_handle(struct lgr_call *call, const char *key, const void *value) {
    lgr_argue(call, key, (uint64_t)(uintptr_t)value);
}

void lgr_argue_text(struct lgr_call *call, const char *key, const char *value) {
    if (!call->recorded)
        return;
    lgr_argue_key(call, key);
    lgr_print_quoted(&call->text, value);
}

bool lgr_goes_on_uninitialised(struct lgr_call *call) {
    for (size_t i = 0; i < fault_count; i++) {
        struct lgr_fault *fault = &faults[i];
        if (!matches(fault->name, call->name))
            continue;
        if (fault->skip) {
            fault->skip--;
        } else if (fault->times && !call->forced) {
            if (fault->times != UINT64_MAX)
                fault->times--;
            call->result = fault->code;
            call->forced = true;
        }
    }
    return !call->forced;
}

bool lgr_goes_on(struct lgr_call *call) {
    if (!lgr_goes_on_uninitialised(call))
        return false;
    if (lgr_initialised && !lgr_forked)
        return true;
    call->result = CUDA_ERROR_NOT_INITIALIZED;
    return false;
}

static void keep(char *line) {
    if (record_count == record_capacity) {
        size_t capacity = record_capacity ? 2 * record_capacity : 256;
        char **more = realloc(records, capacity * sizeof *records);
        if (!more) {
            free(line);
            return;
        }
        records = more;
        record_capacity = capacity;
    }
    records[record_count++] = line;
}

static void write_line(const char *data, size_t length) {
    while (length) {
        ssize_t written = write(log_file, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        data += written;
        length -= (size_t)written;
    }
}

static void append_record(const struct lgr_call *call) {
    struct lgr_text line = {NULL, 0, 0};
    lgr_print(&line, "{\"seq\":%llu,\"process\":%ld,\"thread\":%ld,\"call\":\"%s\",\"result\":%d",
              (unsigned long long)call->sequence, (long)getpid(), (long)syscall(SYS_gettid),
              call->name, call->result);
    lgr_print(&line, ",\"forced\":%s,\"args\":{", call->forced ? "true" : "false");
    lgr_print_bytes(&line, call->text.data ? call->text.data : "", call->text.length);
    lgr_print(&line, "}");
    if (call->extra.length)
        lgr_print_bytes(&line, call->extra.data, call->extra.length);
    lgr_print(&line, "}\n");
    if (!line.data)
        return;
    if (log_file >= 0)
        write_line(line.data, line.length);
    keep(line.data);
}

CUresult lgr_end(struct lgr_call *call) {
    if (call->recorded)
        append_record(call);
    lgr_unlock();
    free(call->text.data);
    free(call->extra.data);
    return call->result;
}

/* ---- for control.c, under the mutex --------------------------------------------------------- */

void lgr_clear_log(void) {
    for (size_t i = 0; i < record_count; i++)
        free(records[i]);
    record_count = 0;
    next_sequence = 0;
}

void lgr_clear_faults(void) {
    fault_count = 0;
    delay_count = 0;
    lgr_settings.texts = true;
    lgr_settings.capturing = false;
    free(lgr_settings.kernel_times);
    lgr_settings.kernel_times = NULL;
    lgr_settings.kernel_time_count = 0;
    atomic_store(&lgr_off, false);
}

uint64_t lgr_log_length(void) {
    return record_count;
}

char *lgr_log_text(uint64_t first) {
    struct lgr_text text = {NULL, 0, 0};
    lgr_print(&text, "%s", "");
    for (size_t i = (size_t)first; i < record_count; i++)
        lgr_print_bytes(&text, records[i], strlen(records[i]));
    return text.data;
}

void lgr_restart_settings(void) {
    lgr_clear_faults();
    set_defaults();
}
