/* Loads an image many times, each time with a few bytes changed, from a buffer of just its size.
 *
 * Run with the address sanitizer it shows that the driver's reader keeps within the image.  The ELF
 * header stays as it is: the driver has no other way to know where an image ends.  PTX ends with a
 * zero.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64 };

static uint32_t state = 12345;

static uint32_t next(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

int main(int count, char **arguments) {
    FILE *file = count == 3 ? fopen(arguments[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END))
        return 1;
    size_t size = (size_t)ftell(file);
    rewind(file);
    unsigned char *original = malloc(size + 1);
    if (!original || fread(original, 1, size, file) != size)
        return 1;
    size_t fixed = original[0] == 0x7f ? HEADER : 0, end = size;
    if (!fixed)
        original[size++] = 0;
    fclose(file);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 1;
    void *addresses[] = {dlsym(driver, "cuInit"), dlsym(driver, "cuDevicePrimaryCtxRetain"),
                         dlsym(driver, "cuCtxSetCurrent"), dlsym(driver, "cuModuleLoadData"),
                         dlsym(driver, "cuModuleUnload")};
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), (*load)(void **, const void *),
        (*unload)(void *);
    memcpy(&init, &addresses[0], sizeof init);
    memcpy(&retain, &addresses[1], sizeof retain);
    memcpy(&set, &addresses[2], sizeof set);
    memcpy(&load, &addresses[3], sizeof load);
    memcpy(&unload, &addresses[4], sizeof unload);
    void *context = NULL;
    if (init(0) || retain(&context, 0) || set(context))
        return 1;
    int loaded = 0, refused = 0;
    for (int i = atoi(arguments[2]); i > 0; i--) {
        unsigned char *image = malloc(size);
        void *module = NULL;
        memcpy(image, original, size);
        for (uint32_t k = 1 + next() % 4; k > 0; k--)
            image[fixed + next() % (end - fixed)] = (unsigned char)next();
        int result = load(&module, image);
        free(image);
        if (result == 0 && unload(module) == 0)
            loaded++;
        else if (result == 200 || result == 218 || result == 222)
            refused++;
        else
            return 1;
    }
    free(original);
    printf("%d %d\n", loaded > 0, refused > 0);
    return 0;
}
