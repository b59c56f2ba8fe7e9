/* A bool, 0 or 1; anything else is more likely a mistake than a truth value. */
static int lg_bool_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                               uint64_t high, uint64_t *value)
{
    if (LG_UNLIKELY(!PyBool_Check(object) && !PyLong_Check(object) && !PyIndex_Check(object)))
        return LG_WRONG_KIND(kernel, argument, "a bool", object);
    return lg_unsigned_from_object(kernel, argument, object, high, value);
}
