/* Launches `desc_copy` over and over, with the same two tensors or with two pairs in turn.
 *
 * A shared library: descriptors.py calls it once for a batch, and takes the time.
 */
#include <stdbool.h>
#include <stddef.h>

#include "desc_copy.h"

static desc_copy_desc_2 describe(void *base)
{
    const desc_copy_desc_2 made = {base, {64, 64}, {64, 1}, false, false};
    return made;
}

/* `bases` are source and target of one pair, then of the other; `in_turn` is 0 or 1. */
int launch_repeatedly(void *const *bases, long in_turn, long launches)
{
    const desc_copy_desc_2 tensors[4] = {describe(bases[0]), describe(bases[1]),
                                         describe(bases[2]), describe(bases[3])};
    for (long i = 0; i < launches; i++) {
        const desc_copy_desc_2 *pair = &tensors[2 * (i & in_turn)];
        const int status = desc_copy_launch(NULL, 1, 1, 1, &pair[0], &pair[1]);
        if (status != 0)
            return status;
    }
    return 0;
}
