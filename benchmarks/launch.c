/* Times `add` through its C launchers and through a bare loop with ready parameters.
 *
 *   launch IMAGE ENTRY bare|launcher|processor|wall ROUNDS LAUNCHES
 *
 * "processor" and "wall" name a clock and print, for each round, the nanoseconds of one launch: the
 * bare loop, the launcher with the image, the bare loop with a CUfunction, the launcher by handle
 * with that, and by handle with the CUkernel of the first.  The other two run one side alone, for a
 * count of instructions.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "add.h"
#include "by_handle.h"

typedef struct config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    void *stream;
    void *attributes;
    uint32_t attribute_count;
} config;

typedef int launch_function(const config *, void *, void **, void **);

static launch_function *driver_launch;
static int (*synchronize)(void);
static void *kernel;
static void *function;

/* No element is touched, so on a GPU too the addresses may be any. */
static float *const X = (float *)0x10000;
static float *const Y = (float *)0x20000;
static float *const OUT = (float *)0x30000;
enum { ELEMENTS = 0 };

static void check(int status, const char *what)
{
    if (status != 0) {
        fprintf(stderr, "%s failed: %d: %s\n", what, status, add_error());
        exit(1);
    }
}

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL)
        check(-1, name);
    return symbol;
}

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        check(-1, path);
    long size = ftell(file);
    char *data = malloc((size_t)size);
    rewind(file);
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size)
        check(-1, path);
    fclose(file);
    return data;
}

static void load(const char *image, const char *entry)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *context = NULL;
    void *library = NULL;
    if (driver == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    int (*init)(unsigned) = find(driver, "cuInit");
    int (*retain)(void **, int) = find(driver, "cuDevicePrimaryCtxRetain");
    int (*set_current)(void *) = find(driver, "cuCtxSetCurrent");
    int (*load_library)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned) =
        find(driver, "cuLibraryLoadData");
    int (*get_kernel)(void **, void *, const char *) = find(driver, "cuLibraryGetKernel");
    driver_launch = find(driver, "cuLaunchKernelEx");
    synchronize = find(driver, "cuCtxSynchronize");
    check(init(0), "cuInit");
    check(retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(set_current(context), "cuCtxSetCurrent");
    check(load_library(&library, read_file(image), NULL, NULL, 0, NULL, NULL, 0),
          "cuLibraryLoadData");
    int (*get_function)(void **, void *) = find(driver, "cuKernelGetFunction");
    check(get_kernel(&kernel, library, entry), "cuLibraryGetKernel");
    check(get_function(&function, kernel), "cuKernelGetFunction");
    check(add_load(), "add_load");
}

static void run_bare_of(void *handle, long launches)
{
    uint64_t x = (uint64_t)(uintptr_t)X;
    uint64_t y = (uint64_t)(uintptr_t)Y;
    uint64_t out = (uint64_t)(uintptr_t)OUT;
    int32_t n = ELEMENTS;
    float alpha = 2.0f;
    uint64_t none = 0;
    void *slots[] = {&x, &y, &out, &n, &alpha, &none, &none};
    const config ready = {{1, 1, 1}, {128, 1, 1}, 0, NULL, NULL, 0};
    for (long i = 0; i < launches; i++)
        check(driver_launch(&ready, handle, slots, NULL), "cuLaunchKernelEx");
}

static void run_bare(long launches)
{
    run_bare_of(kernel, launches);
}

static void run_bare_function(long launches)
{
    run_bare_of(function, launches);
}

static void run_launcher(long launches)
{
    for (long i = 0; i < launches; i++)
        check(add_launch(NULL, 1, 1, 1, X, Y, OUT, ELEMENTS, 2.0f), "add_launch");
}

static void run_by_handle(void *handle, long launches)
{
    for (long i = 0; i < launches; i++)
        check(by_handle_launch(handle, NULL, 1, 1, 1, X, Y, OUT, ELEMENTS, 2.0f),
              by_handle_error());
}

static void run_by_function(long launches)
{
    run_by_handle(function, launches);
}

static void run_by_kernel(long launches)
{
    run_by_handle(kernel, launches);
}

static double nanoseconds(void (*run)(long), long launches, clockid_t clock)
{
    struct timespec begin;
    struct timespec end;
    check(synchronize(), "cuCtxSynchronize");
    clock_gettime(clock, &begin);
    run(launches);
    clock_gettime(clock, &end);
    check(synchronize(), "cuCtxSynchronize");
    double passed = (double)(end.tv_sec - begin.tv_sec) * 1e9;
    return (passed + (double)(end.tv_nsec - begin.tv_nsec)) / (double)launches;
}

int main(int count, char **words)
{
    if (count != 6)
        return 2;
    const long rounds = atol(words[4]);
    const long launches = atol(words[5]);
    const clockid_t clock =
        strcmp(words[3], "wall") == 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    load(words[1], words[2]);
    if (strcmp(words[3], "bare") == 0)
        run_bare(launches);
    else if (strcmp(words[3], "launcher") == 0)
        run_launcher(launches);
    else
        for (long i = 0; i < rounds; i++) {
            void (*const sides[])(long) = {run_bare, run_launcher, run_bare_function,
                                           run_by_function, run_by_kernel};
            for (size_t side = 0; side < sizeof sides / sizeof sides[0]; side++)
                printf("%.3f ", nanoseconds(sides[side], launches, clock));
            printf("\n");
        }
    return 0;
}
