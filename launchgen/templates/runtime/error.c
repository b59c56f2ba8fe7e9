/* What a call returns is a CUresult; what it means stands here, for each thread on its own, as
 * errno does. `refused` tells a refusal of the launcher from a failure of the driver. */
typedef struct lg_failure {
    int refused;
    char text[1024];
} lg_failure;

static LG_THREAD_LOCAL lg_failure lg_last_failure;

LG_COLD __attribute__((format(printf, 2, 3)))
static int lg_refuse(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    lg_last_failure.refused = 1;
    (void)vsnprintf(lg_last_failure.text, sizeof lg_last_failure.text, format, arguments);
    va_end(arguments);
    return status;
}
