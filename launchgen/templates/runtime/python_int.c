/* Reads an int: without a call where the interpreter has it in one digit and tells so. */
static inline int lg_overflows(PyObject *number, int64_t *value)
{
    int overflow = 0;
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((const PyLongObject *)number)) {
        *value = PyUnstable_Long_CompactValue((const PyLongObject *)number);
        return 0;
    }
#endif
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow != 0;
}
