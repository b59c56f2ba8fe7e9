/* Eight threads that load, launch, look around and unload at once; prints the launches that worked.
 *
 * It knows the driver only as a launcher does: by dlopen.  The one argument is an image.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 20, DEVICES = 2 };

static void *driver;
static unsigned char *image;
static void *kernel;
static int launched[THREADS];

static void *find(const char *name) {
    void *address = dlsym(driver, name);
    if (!address) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    return address;
}

#define CALL(name, types, ...)                                                                     \
    do {                                                                                           \
        void *call_address = find(#name);                                                          \
        int(*call) types;                                                                          \
        memcpy(&call, &call_address, sizeof call);                                                 \
        int call_result = call(__VA_ARGS__);                                                       \
        if (call_result) {                                                                         \
            fprintf(stderr, #name " returned %d\n", call_result);                                  \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

static void launch(void *function, void *stream, int32_t n) {
    uint64_t pointer = 0x1000;
    float alpha = 0.5f;
    void *parameters[] = {&pointer, &pointer, &pointer, &n, &alpha, &pointer, &pointer};
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         function, 1, 1, 1, 128, 1, 1, 0, stream, parameters, NULL);
}

static void *run(void *argument) {
    int number = *(int *)argument;
    void *context = NULL, *stream = NULL;
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, number % DEVICES);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuStreamCreate, (void **, unsigned), &stream, 1);
    for (int i = 0; i < ROUNDS; i++) {
        void *module = NULL, *function = NULL;
        CALL(cuModuleLoadData, (void **, const void *), &module, image);
        CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, "add_kernel");
        CALL(cuFuncSetAttribute, (void *, int, int), function, 8, 65536);
        launch(function, stream, 1000 * number + i);
        launch(kernel, NULL, 1000 * number + i);
        CALL(cuModuleUnload, (void *), module);
        launched[number] += 2;
    }
    CALL(cuStreamDestroy_v2, (void *), stream);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    int numbers[THREADS], total = 0;
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END))
        return 1;
    long size = ftell(file);
    rewind(file);
    image = malloc((size_t)size);
    if (!image || fread(image, 1, (size_t)size, file) != (size_t)size)
        return 1;
    fclose(file);
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *library = NULL;
    CALL(cuInit, (unsigned), 0);
    CALL(cuLibraryLoadData,
         (void **, const void *, void *, void **, unsigned, void *, void **, unsigned), &library,
         image, NULL, NULL, 0, NULL, NULL, 0);
    CALL(cuLibraryGetKernel, (void **, void *, const char *), &kernel, library, "add_kernel");
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run, &numbers[i]))
            return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += launched[i];
    }
    CALL(cuLibraryUnload, (void *), library);
    free(image);
    printf("%d\n", total);
    return 0;
}
