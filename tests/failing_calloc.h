/* Included before a launcher: what it asks of the C library's heap fails while a test says so. */
#include <stdlib.h>

__attribute__((visibility("default"))) int calloc_fails;

static inline void *calloc_unless_failing(size_t count, size_t size)
{
    return calloc_fails ? NULL : calloc(count, size);
}

#define calloc calloc_unless_failing
