/* Eight threads that launch at once, in rounds; between rounds the launchers are unloaded.
 * Arguments: devices to spread over, rounds, launches of each thread. Prints what went wrong. */
#define _POSIX_C_SOURCE 200809L /* barriers */

#include "add.h"
#include "matmul.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

static int (*cu_init)(unsigned int);
static int (*cu_retain)(void **, int);
static int (*cu_set_current)(void *);

static void *contexts[2];
static int launches;
static pthread_barrier_t barrier;

static void find(void *library, const char *name, void *entry_point)
{
    void *symbol = dlsym(library, name);
    memcpy(entry_point, &symbol, sizeof symbol);
    if (symbol == NULL)
        exit(2);
}

static void check(int status, const char *text)
{
    if (status == 0)
        return;
    printf("%d: %s\n", status, text);
    exit(1);
}

static void *work(void *argument)
{
    const int number = (int)(intptr_t)argument;
    void *context = contexts[number % 2];
    if (context != NULL)
        (void)cu_set_current(context);
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < launches; i++) {
        const uintptr_t base = (uintptr_t)(number + 1) << 20;
        float *x = (float *)base;
        check(add_launch(NULL, (uint32_t)number + 1, 1, 1, x, x + 4, x + 8, number, (float)i),
              add_error());
        check(matmul_launch(NULL, 1, 1, (uint32_t)number + 1, (void *)base, (void *)base, x, number,
                            i, 48, 16, 16, 16),
              matmul_error());
        if (add_launch(NULL, 1, 65536, 1, x, x, x, number, 1.0f) != 1 || *add_error() == '\0')
            exit(3);
    }
    return NULL;
}

int main(int count, char **values)
{
    pthread_t threads[THREADS];
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (count != 4 || library == NULL)
        return 2;
    find(library, "cuInit", &cu_init);
    find(library, "cuDevicePrimaryCtxRetain", &cu_retain);
    find(library, "cuCtxSetCurrent", &cu_set_current);
    const int devices = atoi(values[1]);
    const int rounds = atoi(values[2]);
    launches = atoi(values[3]);
    for (int i = 0; i < devices; i++) {
        if (cu_init(0) != 0 || cu_retain(&contexts[i], i) != 0)
            return 2;
    }
    if (devices == 1)
        contexts[1] = contexts[0];
    for (int round = 0; round < rounds; round++) {
        (void)pthread_barrier_init(&barrier, NULL, THREADS);
        for (intptr_t i = 0; i < THREADS; i++) {
            if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
                return 2;
        }
        for (int i = 0; i < THREADS; i++)
            (void)pthread_join(threads[i], NULL);
        (void)pthread_barrier_destroy(&barrier);
        check(add_unload(), add_error());
        check(matmul_unload(), matmul_error());
    }
    printf("fine\n");
    return 0;
}
