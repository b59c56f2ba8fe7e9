/* Threads that launch at once, in rounds, while calls of the driver fail; between rounds the
 * launcher is unloaded. Arguments: rounds, launches of each thread and round. Each launch has
 * arguments of its own, so that a log tells which were made. Prints a line for each that failed,
 * "failed ROUND THREAD LAUNCH STATUS", and then how many were refused. */
#define _POSIX_C_SOURCE 200809L /* barriers */

#include "add.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, REFUSE_EACH = 16 };

static int rounds;
static int launches;
static int round_now;
static long refused[THREADS];
static pthread_barrier_t barrier;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void launch(int thread, int number)
{
    const uintptr_t base = ((uintptr_t)round_now * THREADS + (uintptr_t)thread + 1) << 20;
    float *x = (float *)base;
    int status = add_launch(NULL, 1, 1, 1, x, x + 4, x + 8, thread, (float)number);
    if (status == 0)
        return;
    (void)pthread_mutex_lock(&output);
    printf("failed %d %d %d %d\n", round_now, thread, number, status);
    if (*add_error() == '\0')
        exit(3);
    (void)pthread_mutex_unlock(&output);
}

static void *work(void *argument)
{
    const int thread = (int)(intptr_t)argument;
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < launches; i++) {
        launch(thread, i);
        if (i % REFUSE_EACH == thread) {
            float *wrong = (float *)4;
            if (add_launch(NULL, 1, 65536, 1, wrong, wrong, wrong, thread, 1.0f) != 1)
                exit(4);
            refused[thread]++;
        }
    }
    return NULL;
}

int main(int count, char **values)
{
    pthread_t threads[THREADS];
    long all = 0;
    if (count != 3)
        return 2;
    rounds = atoi(values[1]);
    launches = atoi(values[2]);
    for (round_now = 0; round_now < rounds; round_now++) {
        (void)pthread_barrier_init(&barrier, NULL, THREADS);
        for (intptr_t i = 0; i < THREADS; i++) {
            if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
                return 2;
        }
        for (int i = 0; i < THREADS; i++)
            (void)pthread_join(threads[i], NULL);
        (void)pthread_barrier_destroy(&barrier);
        if (add_unload() != 0)
            return 5;
    }
    for (int i = 0; i < THREADS; i++)
        all += refused[i];
    printf("refused %ld\n", all);
    return 0;
}
