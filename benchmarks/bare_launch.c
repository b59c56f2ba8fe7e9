/* Launches a kernel over and over by the driver's own call, with parameters that are all zeros.
 *
 * A shared library: triton_launch.py calls it once for a batch, and takes the time.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    void *stream;
    void *attributes;
    uint32_t attribute_count;
} config;

typedef int launch_function(const config *, void *, void **, void **);

/* The driver reads as many as the kernel takes, none of which is larger than a tensor map. */
enum { MOST_SLOTS = 64 };
static const _Alignas(64) char zeros[128];

/* `launch` is cuLaunchKernelEx. Returns what the first launch that failed did. */
int launch_bare(launch_function *launch, void *function, uint32_t threads, uint32_t shared,
                void *stream, long launches)
{
    const config ready = {{1, 1, 1}, {threads, 1, 1}, shared, stream, NULL, 0};
    void *slots[MOST_SLOTS];
    for (int i = 0; i < MOST_SLOTS; i++)
        slots[i] = (void *)(uintptr_t)zeros;
    for (long i = 0; i < launches; i++) {
        const int status = launch(&ready, function, slots, NULL);
        if (status != 0)
            return status;
    }
    return 0;
}
