/* Entry points: modules, libraries, functions and kernels. */
#include "driver.h"

/* ---- loading -------------------------------------------------------------------------------- */

static CUresult check_any_device(const struct lgr_image *image) {
    CUresult error = CUDA_ERROR_NO_BINARY_FOR_GPU;
    for (int i = 0; error && i < lgr_settings.devices; i++)
        error = lgr_check_image(image, i);
    return error;
}

/* A module belongs to the current context, a library to none: it fits where any device takes it.
   A library is looked at when a kernel is asked for, unless CUDA_MODULE_LOADING is EAGER. */
static CUresult load(enum lgr_kind kind, const void *data, struct lgr_object **result) {
    struct lgr_object *context = NULL;
    struct lgr_image image;
    if (kind == LGR_MODULE) {
        CUresult error = lgr_current(&context);
        if (error)
            return error;
    }
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = lgr_read_image(&image, data);
    if (!error)
        error = context ? lgr_check_image(&image, context->device) : check_any_device(&image);
    if (error && (kind == LGR_MODULE || lgr_settings.eager)) {
        lgr_free_image(&image);
        return error;
    }
    *result = lgr_create(kind, context, context ? context->device : -1);
    if (!*result) {
        lgr_free_image(&image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (*result)->image = image;
    (*result)->load_error = error;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    struct lgr_call call;
    struct lgr_object *object = NULL;
    lgr_begin(&call, "cuModuleLoadData");
    if (lgr_goes_on(&call))
        call.result = module ? load(LGR_MODULE, image, &object) : CUDA_ERROR_INVALID_VALUE;
    if (object) {
        *module = object->handle;
        lgr_argue_handle(&call, "module", object->handle);
        lgr_argue_handle(&call, "context", object->parent->handle);
    }
    return lgr_end(&call);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, void *jit_options,
                           void **jit_values, unsigned jit_count, void *library_options,
                           void **library_values, unsigned library_count) {
    struct lgr_call call;
    struct lgr_object *object = NULL;
    lgr_begin(&call, "cuLibraryLoadData");
    if (lgr_goes_on(&call)) {
        bool good = library && (!jit_count || (jit_options && jit_values)) &&
                    (!library_count || library_options);
        call.result = good ? load(LGR_LIBRARY, image, &object) : CUDA_ERROR_INVALID_VALUE;
    }
    (void)library_values; /* options without a value have none */
    if (object) {
        *library = object->handle;
        lgr_argue_handle(&call, "library", object->handle);
    }
    return lgr_end(&call);
}

static CUresult unload(const char *name, enum lgr_kind kind, const char *key, const void *handle) {
    struct lgr_call call;
    lgr_begin(&call, name);
    lgr_argue_handle(&call, key, handle);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find(kind, handle);
        if (object)
            lgr_destroy(object);
        else
            call.result = CUDA_ERROR_INVALID_HANDLE;
    }
    return lgr_end(&call);
}

CUresult cuModuleUnload(CUmodule module) {
    return unload("cuModuleUnload", LGR_MODULE, "module", module);
}

CUresult cuLibraryUnload(CUlibrary library) {
    return unload("cuLibraryUnload", LGR_LIBRARY, "library", library);
}

static CUresult find(struct lgr_call *call, enum lgr_kind kind, const void *owner,
                     const char *name, void **result) {
    struct lgr_object *object = lgr_find(kind, owner);
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!result || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (object->load_error)
        return object->load_error;
    struct lgr_object *function = lgr_find_function(object, name);
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    *result = function->handle;
    lgr_argue_handle(call, "function", function->handle);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    struct lgr_call call;
    lgr_begin(&call, "cuModuleGetFunction");
    lgr_argue_handle(&call, "module", module);
    lgr_argue_text(&call, "name", name);
    if (lgr_goes_on(&call))
        call.result = find(&call, LGR_MODULE, module, name, function);
    return lgr_end(&call);
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    struct lgr_call call;
    lgr_begin(&call, "cuLibraryGetKernel");
    lgr_argue_handle(&call, "library", library);
    lgr_argue_text(&call, "name", name);
    if (lgr_goes_on(&call))
        call.result = find(&call, LGR_LIBRARY, library, name, kernel);
    return lgr_end(&call);
}

static CUresult get_function(CUfunction *function, CUkernel kernel) {
    struct lgr_object *object = lgr_find(LGR_KERNEL, kernel), *context = NULL;
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult error = lgr_current(&context);
    if (error)
        return error;
    if (object->parent)
        error = lgr_check_image(&object->parent->image, context->device);
    if (error)
        return error;
    struct lgr_object *result = lgr_function_of_kernel(object, context);
    if (!result)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *function = result->handle;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    struct lgr_call call;
    lgr_begin(&call, "cuKernelGetFunction");
    lgr_argue_handle(&call, "kernel", kernel);
    if (lgr_goes_on(&call)) {
        call.result = get_function(function, kernel);
        if (!call.result)
            lgr_argue_handle(&call, "function", *function);
    }
    return lgr_end(&call);
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* A function lives on its context's device; one that a test made up, on the current one. */
static CUresult device_of(const struct lgr_object *function, int *device) {
    struct lgr_object *context = NULL;
    if (function->device >= 0) {
        *device = function->device;
        return CUDA_SUCCESS;
    }
    CUresult error = lgr_current(&context);
    if (!error)
        *device = context->device;
    return error;
}

static CUresult find_attribute(const struct lgr_object *function, int attribute, int device,
                               int *value) {
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!value || attribute < 0 || attribute >= LGR_FUNC_COUNT)
        return CUDA_ERROR_INVALID_VALUE;
    *value = lgr_attribute(function, device, attribute);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    struct lgr_call call;
    lgr_begin(&call, "cuFuncGetAttribute");
    lgr_argue_handle(&call, "function", function);
    lgr_argue_signed(&call, "attribute", attribute);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find(LGR_FUNCTION, function);
        int device = 0;
        call.result = object ? device_of(object, &device) : CUDA_ERROR_INVALID_HANDLE;
        if (!call.result)
            call.result = find_attribute(object, attribute, device, value);
        if (!call.result)
            lgr_argue_signed(&call, "value", *value);
    }
    return lgr_end(&call);
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    struct lgr_call call;
    lgr_begin(&call, "cuFuncSetAttribute");
    lgr_argue_handle(&call, "function", function);
    lgr_argue_signed(&call, "attribute", attribute);
    lgr_argue_signed(&call, "value", value);
    if (lgr_goes_on(&call)) {
        /* A kernel's handle can be launched like a function's, but is none here. */
        struct lgr_object *object = lgr_find(LGR_FUNCTION, function);
        int device = 0;
        call.result = object ? device_of(object, &device) : CUDA_ERROR_INVALID_HANDLE;
        if (!call.result)
            call.result = lgr_set_attribute(object, device, attribute, value);
    }
    return lgr_end(&call);
}

/* A hint of which nothing can be read back. */
CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
    struct lgr_call call;
    lgr_begin(&call, "cuFuncSetCacheConfig");
    lgr_argue_handle(&call, "function", function);
    lgr_argue_signed(&call, "config", config);
    if (lgr_goes_on(&call)) {
        if (!lgr_find(LGR_FUNCTION, function))
            call.result = CUDA_ERROR_INVALID_HANDLE;
        else if (config < LGR_CACHE_NONE || config > LGR_CACHE_EQUAL)
            call.result = CUDA_ERROR_INVALID_VALUE;
    }
    return lgr_end(&call);
}

CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, "cuKernelGetAttribute");
    lgr_argue_handle(&call, "kernel", kernel);
    lgr_argue_signed(&call, "attribute", attribute);
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        call.result = lgr_is_device(device) ? find_attribute(lgr_find(LGR_KERNEL, kernel),
                                                             attribute, device, value)
                                            : CUDA_ERROR_INVALID_DEVICE;
        if (!call.result)
            lgr_argue_signed(&call, "value", *value);
    }
    return lgr_end(&call);
}

CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device) {
    struct lgr_call call;
    lgr_begin(&call, "cuKernelSetAttribute");
    lgr_argue_handle(&call, "kernel", kernel);
    lgr_argue_signed(&call, "attribute", attribute);
    lgr_argue_signed(&call, "value", value);
    lgr_argue_signed(&call, "device", device);
    if (lgr_goes_on(&call)) {
        struct lgr_object *object = lgr_find(LGR_KERNEL, kernel);
        if (!object)
            call.result = CUDA_ERROR_INVALID_HANDLE;
        else if (!lgr_is_device(device))
            call.result = CUDA_ERROR_INVALID_DEVICE;
        else
            call.result = lgr_set_attribute(object, device, attribute, value);
    }
    return lgr_end(&call);
}

/* ---- parameters ----------------------------------------------------------------------------- */

static CUresult parameter_info(struct lgr_call *call, const struct lgr_object *function,
                               const void *handle, size_t index, size_t *offset, size_t *size) {
    struct lgr_object *context = NULL;
    lgr_argue_handle(call, "function", handle);
    lgr_argue(call, "index", index);
    if (lgr_goes_on(call)) {
        if (function && function->kind == LGR_KERNEL)
            call->result = lgr_current(&context);
        if (!call->result && !function)
            call->result = CUDA_ERROR_INVALID_HANDLE;
        if (!call->result && (!offset || index >= function->entry->count))
            call->result = CUDA_ERROR_INVALID_VALUE;
        if (!call->result) {
            *offset = function->entry->parameters[index].offset;
            if (size)
                *size = function->entry->parameters[index].size;
        }
    }
    return lgr_end(call);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size) {
    struct lgr_call call;
    lgr_begin(&call, "cuKernelGetParamInfo");
    return parameter_info(&call, lgr_find(LGR_KERNEL, kernel), kernel, index, offset, size);
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    struct lgr_call call;
    lgr_begin(&call, "cuFuncGetParamInfo");
    return parameter_info(&call, lgr_find(LGR_FUNCTION, function), function, index, offset, size);
}
