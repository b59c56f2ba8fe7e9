/* The kernel was compiled on a promise about this argument; a value that breaks it would make
 * the kernel read or write the wrong memory. */
LG_COLD
static int lg_refuse_hint(const char *kernel, int index, const char *name, const char *type,
                          uint64_t value, int is_signed, const char *promise)
{
    if (is_signed)
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: argument %d '%s' (%s): %lld is not %s",
                         kernel, index, name, type, (long long)value, promise);
    return lg_refuse(LG_ERROR_INVALID_VALUE,
                     "%s: argument %d '%s' (%s): %llu (0x%llx) is not %s", kernel, index, name,
                     type, (unsigned long long)value, (unsigned long long)value, promise);
}
