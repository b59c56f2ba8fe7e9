/* The part of CUDA's driver interface that is played here, declared without CUDA's headers. */
#ifndef LGR_CUDA_ABI_H
#define LGR_CUDA_ABI_H

#include <stddef.h> /* size_t */
#include <stdint.h> /* uint32_t, uint64_t */

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUcontext;
typedef void *CUstream;
typedef void *CUmodule;
typedef void *CUfunction;
typedef void *CUlibrary;
typedef void *CUkernel;
typedef void *CUgreenCtx;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912
};

/* CUfunction_attribute */
enum {
    LGR_FUNC_MAX_THREADS = 0,
    LGR_FUNC_STATIC_SHARED = 1,
    LGR_FUNC_REGISTERS = 4,
    LGR_FUNC_BINARY_VERSION = 6,
    LGR_FUNC_MAX_DYNAMIC_SHARED = 8,
    LGR_FUNC_CARVEOUT = 9,
    LGR_FUNC_MUST_SET_CLUSTER = 10,
    LGR_FUNC_CLUSTER_WIDTH = 11, /* then height and depth */
    LGR_FUNC_NON_PORTABLE_CLUSTER = 14,
    LGR_FUNC_CLUSTER_POLICY = 15,
    LGR_FUNC_SHARED_MODE = 17,
    LGR_FUNC_COUNT = 18
};

/* CUlimit */
enum { LGR_LIMIT_STACK = 0, LGR_LIMIT_PRINTF = 1, LGR_LIMIT_HEAP = 2, LGR_LIMIT_COUNT = 3 };

/* CUfunc_cache */
enum { LGR_CACHE_NONE = 0, LGR_CACHE_EQUAL = 3 };

/* CUlaunchAttributeID */
enum {
    LGR_LAUNCH_COOPERATIVE = 2,
    LGR_LAUNCH_CLUSTER = 4,
    LGR_LAUNCH_CLUSTER_POLICY = 5,
    LGR_LAUNCH_PREFERRED_CLUSTER = 11
};

/* CUpointer_attribute */
enum {
    LGR_POINTER_CONTEXT = 1,
    LGR_POINTER_MEMORY_TYPE = 2,
    LGR_POINTER_DEVICE_POINTER = 3,
    LGR_POINTER_IS_MANAGED = 8,
    LGR_POINTER_DEVICE_ORDINAL = 9
};

enum { LGR_MEMORYTYPE_HOST = 1, LGR_MEMORYTYPE_DEVICE = 2 };

/* CUdriverProcAddressQueryResult */
enum { LGR_PROC_FOUND = 0, LGR_PROC_NOT_FOUND = 1, LGR_PROC_VERSION_NOT_SUFFICIENT = 2 };

/* Handles of the two default streams besides NULL. */
#define LGR_STREAM_LEGACY ((uintptr_t)1)
#define LGR_STREAM_PER_THREAD ((uintptr_t)2)

typedef struct {
    int id;
    char pad[4];
    union {
        unsigned char bytes[64];
        uint32_t words[16];
        uint64_t longs[8]; /* for the alignment of the real union, which holds pointers */
    } value;
} CUlaunchAttribute;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

typedef struct {
    uint64_t words[16];
} CUtensorMap;

_Static_assert(sizeof(CUlaunchAttribute) == 72, "as in cuda.h");
_Static_assert(sizeof(CUlaunchConfig) == 56, "as in cuda.h");
_Static_assert(sizeof(CUtensorMap) == 128, "as in cuda.h");

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetLimit(size_t *value, int limit);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSetLimit(int limit, size_t value);
CUresult cuCtxSynchronize(void);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDriverGetVersion(int *version);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction function, int config);
CUresult cuGetErrorName(CUresult error, const char **text);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuGetProcAddress(const char *name, void **address, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags,
                             int *status);
CUresult cuInit(unsigned flags);
CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device);
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size);
CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **parameters, void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult cuLibraryLoadData(CUlibrary *library, const void *image, void *jit_options,
                           void **jit_values, unsigned jit_count, void *library_options,
                           void **library_values, unsigned library_count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size);
CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size);
CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t size);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function,
                                      const CUlaunchConfig *config);
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context);
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
CUresult cuStreamIsCapturing(CUstream stream, int *status);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, int type, uint32_t rank, void *address,
                                 const uint64_t *sizes, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_strides, int interleave, int swizzle,
                                 int promotion, int fill);
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address,
                                const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *element_strides, int interleave, int swizzle,
                                int promotion, int fill);

#endif
