/* A libcuda.so.1 that does nothing and returns at once: what is left of a launch is the launcher.
 *
 * Every handle it gives out is the same, and not null.  The recording driver would do, but Triton's
 * launcher asks for the current context on each launch, which that driver takes seriously.
 */
#include <stddef.h>
#include <stdint.h>

static char handle[64];

#define GIVES(name, ...) \
    int name(void **result, ##__VA_ARGS__) \
    { \
        *result = handle; \
        return 0; \
    }
#define ANSWERS(name, value, ...) \
    int name(int *result, ##__VA_ARGS__) \
    { \
        *result = value; \
        return 0; \
    }
#define DOES(name, ...) \
    int name(__VA_ARGS__) \
    { \
        return 0; \
    }
#define WORDS(name, words) \
    int name(int status, const char **text) \
    { \
        (void)status; \
        *text = words; \
        return 0; \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"

DOES(cuInit, unsigned flags)
DOES(cuCtxSetCurrent, void *context)
DOES(cuCtxPushCurrent_v2, void *context)
DOES(cuCtxSynchronize, void)
DOES(cuModuleUnload, void *module)
DOES(cuLibraryUnload, void *library)
DOES(cuFuncSetAttribute, void *function, int attribute, int value)
DOES(cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
DOES(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
     unsigned by, unsigned bz, unsigned shared, void *stream, void **slots, void **extra)
DOES(cuLaunchKernelEx, const void *config, void *function, void **slots, void **extra)

GIVES(cuCtxGetCurrent)
GIVES(cuCtxPopCurrent_v2)
GIVES(cuDevicePrimaryCtxRetain, int device)
GIVES(cuModuleLoadData, const void *image)
GIVES(cuModuleGetFunction, void *module, const char *name)
GIVES(cuLibraryLoadData, const void *image, int *options, void **values, unsigned count,
      int *library_options, void **library_values, unsigned library_count)
GIVES(cuLibraryGetKernel, void *library, const char *name)
GIVES(cuKernelGetFunction, void *kernel)

ANSWERS(cuDriverGetVersion, 13000)
ANSWERS(cuDeviceGetCount, 1)
ANSWERS(cuDeviceGet, 0, int ordinal)
ANSWERS(cuCtxGetDevice, 0)
ANSWERS(cuFuncGetAttribute, 0, int attribute, void *function)
ANSWERS(cuKernelGetAttribute, 0, int attribute, void *kernel, int device)

WORDS(cuGetErrorName, "CUDA_SUCCESS")
WORDS(cuGetErrorString, "no error")

int cuStreamGetCtx(void *stream, void **context)
{
    *context = handle;
    return 0;
}

/* All memory lies where it says. */
int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    *(uint64_t *)value = address;
    return 0;
}

/* Every image of the benchmarks is for this device: 75 and 76 ask for its capability, 9.0. */
int cuDeviceGetAttribute(int *result, int attribute, int device)
{
    *result = attribute == 75 ? 9 : 0;
    return 0;
}
