/* Good and bad calls of several launchers, for sanitizers. Prints each status and text. */
#include "add.h"
#include "device_desc.h"
#include "halves.h"
#include "matmul.h"
#include "structs.h"

#include <stdio.h>

static void say(const char *name, int status, const char *text)
{
    printf("%s|%d|%s\n", name, status, status != 0 ? text : "");
}

int main(void)
{
    float *x = (float *)0x10000;
    static unsigned char bytes[24];
    static uint64_t map[16];
    uint64_t size = 0;

    say("unload", add_unload(), add_error());
    say("empty", add_launch(NULL, 0, 1, 1, x, x, x, 1, 1.0f), add_error());
    say("good", add_launch(NULL, 1, 1, 1, x, x, x, 1, 1.0f), add_error());
    say("null", add_launch(NULL, 1, 1, 1, NULL, NULL, NULL, -1, -1.0f), add_error());
    say("largest", add_launch(NULL, 0x7fffffff, 65535, 65535, x, x, x, 1, 1.0f), add_error());
    say("too large", add_launch(NULL, UINT32_MAX, UINT32_MAX, UINT32_MAX, x, x, x, 1, 1.0f),
        add_error());
    say("stream", add_launch((void *)0x1234, 1, 1, 1, x, x, x, 1, 1.0f), add_error());
    say("hint", matmul_launch(NULL, 1, 1, 1, x, x, x, 1, 1, 16, 3, 16, 16), matmul_error());
    say("hinted", matmul_launch(NULL, 1, 1, 1, x, x, x, 1, 1, 16, 16, 16, 16), matmul_error());
    size = device_desc_global_scratch_size(UINT32_MAX, UINT32_MAX, UINT32_MAX);
    printf("overflow|%d|\n", size == UINT64_MAX);
    size = device_desc_global_scratch_size(2, 3, 4);
    printf("scratch bytes|%d|\n", (int)size);
    say("no scratch", device_desc_launch(NULL, 1, 1, 1, NULL, x, x, 1, 1), device_desc_error());
    say("misaligned", device_desc_launch(NULL, 1, 1, 1, (void *)0x1001, x, x, 1, 1),
        device_desc_error());
    say("scratch", device_desc_launch(NULL, 1, 1, 1, (void *)0x1000, x, x, 1, 1),
        device_desc_error());
    say("half", halves_launch((void *)0x1, NULL, 1, 1, 1, 65504.0f, 1e38f, true), halves_error());
    say("large half", halves_launch((void *)0x1, NULL, 1, 1, 1, 1e6f, 1.0f, true), halves_error());
    say("no handle", halves_launch(NULL, NULL, 1, 1, 1, 1.0f, 1.0f, true), halves_error());
    say("bytes", structs_launch((void *)0x1, NULL, 1, 1, 1, bytes, map), structs_error());
    say("no bytes", structs_launch((void *)0x1, NULL, 1, 1, 1, NULL, map), structs_error());
    say("unload", add_unload(), add_error());
    say("again", add_launch(NULL, 1, 1, 1, x, x, x, 1, 1.0f), add_error());
    say("unload", add_unload(), add_error());
    say("unload", matmul_unload(), matmul_error());
    say("unload", device_desc_unload(), device_desc_error());
    return 0;
}
