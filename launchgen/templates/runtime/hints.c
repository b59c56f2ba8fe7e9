/* The kernel was compiled on a promise about this argument; a value that breaks it would make
 * the kernel read or write the wrong memory. */
LG_COLD
static int lg_refuse_hint(const char *kernel, int index, const char *name, const char *type,
                          uint64_t value, int is_signed, const char *promise)
{
    if (is_signed)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: argument %d '%s' (%s): %" PRId64 " is not %s",
                         kernel, index, name, type, (int64_t)value, promise);
    return lg_refuse(LG_ERROR_INVALID_VALUE,
                     "%s: argument %d '%s' (%s): %" PRIu64 " (0x%" PRIx64 ") is not %s", kernel,
                     index, name, type, value, value, promise);
}
