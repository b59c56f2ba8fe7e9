/* Calls the emitted C launcher: out = x * alpha + y on a million numbers.
 *
 * `demo` launches and reports; `demo verify` also checks the numbers, which needs a GPU. The
 * driver is used for memory only; a program of yours may as well take the CUDA runtime. */
#include "add.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000003, BLOCK = 1024, BYTES = COUNT * 4 };

static int (*cu_init)(unsigned int);
static int (*cu_retain)(void **, int);
static int (*cu_set_current)(void *);
static int (*cu_allocate)(uint64_t *, size_t);
static int (*cu_upload)(uint64_t, const void *, size_t);
static int (*cu_download)(void *, uint64_t, size_t);

static void find(void *library, const char *name, void *entry_point)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    memcpy(entry_point, &symbol, sizeof symbol);
}

static void check(int status, const char *what)
{
    if (status != 0) {
        fprintf(stderr, "%s: %d %s\n", what, status, add_error());
        exit(1);
    }
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context = NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find(library, "cuInit", &cu_init);
    find(library, "cuDevicePrimaryCtxRetain", &cu_retain);
    find(library, "cuCtxSetCurrent", &cu_set_current);
    find(library, "cuMemAlloc_v2", &cu_allocate);
    find(library, "cuMemcpyHtoD_v2", &cu_upload);
    find(library, "cuMemcpyDtoH_v2", &cu_download);
    check(cu_init(0), "cuInit");
    check(cu_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cu_set_current(context), "cuCtxSetCurrent");
}

static float *on_device(const float *values)
{
    uint64_t address = 0;
    check(cu_allocate(&address, BYTES), "cuMemAlloc");
    check(cu_upload(address, values, BYTES), "cuMemcpyHtoD");
    return (float *)(uintptr_t)address;
}

int main(int argc, char **argv)
{
    static float x[COUNT];
    static float y[COUNT];
    static float out[COUNT];
    const float alpha = 2.5f;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = (float)(COUNT - i);
    }
    open_driver();
    float *device_out = on_device(out);
    check(add_launch(NULL, (COUNT + BLOCK - 1) / BLOCK, 1, 1, on_device(x), on_device(y),
                     device_out, COUNT, alpha),
          "add_launch");
    if (argc == 2 && strcmp(argv[1], "verify") == 0) {
        check(cu_download(out, (uint64_t)(uintptr_t)device_out, BYTES), "cuMemcpyDtoH");
        for (int i = 0; i < COUNT; i++) {
            if (out[i] != x[i] * alpha + y[i]) {
                fprintf(stderr, "out[%d] is %g, not %g\n", i, (double)out[i],
                        (double)(x[i] * alpha + y[i]));
                return 1;
            }
        }
        printf("C:      %d numbers are right\n", COUNT);
    }
    return 0;
}
