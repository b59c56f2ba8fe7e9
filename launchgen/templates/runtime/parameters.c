/* A call of the driver that tells where one of a function's parameters begins, and its size. */
typedef struct lg_question {
    const char *call;
    int (*ask)(void *function, size_t index, size_t *offset, size_t *size);
} lg_question;

/* Compares what the kernel takes with what this launcher passes: had the kernel more, it would read
 * whatever lies behind ours. The driver refuses the index behind the last parameter as a bad value.
 * Drivers before CUDA 12.4 have no such call. */
LG_COLD
static int lg_check_parameters(const lg_kernel *kernel, const lg_variant *variant, void *function,
                               const lg_question *question, int refusal, const char *made_for)
{
    const uint32_t count = variant->parameter_count;
    for (uint32_t i = 0; i <= count && question->ask != NULL; i++) {
        size_t offset = 0;
        size_t size = 0;
        const int status = question->ask(function, i, &offset, &size);
        if (status != LG_SUCCESS && status != LG_ERROR_INVALID_VALUE)
            return lg_driver_failed(kernel->name, question->call, status, "");
        if (status != LG_SUCCESS && i == count)
            return LG_SUCCESS;
        if (status != LG_SUCCESS)
            return lg_refuse(refusal,
                             "%s: %s has no parameter in the %s, which has %u; the launcher was "
                             "made for another %s",
                             kernel->name, kernel->parameters[i].text, made_for, i, made_for);
        if (i == count)
            return lg_refuse(refusal,
                             "%s: parameter %u of the %s has no argument (%zu bytes); the "
                             "launcher was made for another %s",
                             kernel->name, i, made_for, size, made_for);
        if (size != kernel->parameters[i].size)
            return lg_refuse(refusal,
                             "%s: %s has %zu bytes, but parameter %u of the %s has %zu; the "
                             "launcher was made for another %s",
                             kernel->name, kernel->parameters[i].text, kernel->parameters[i].size,
                             i, made_for, size, made_for);
    }
    return LG_SUCCESS;
}
