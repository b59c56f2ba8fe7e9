LG_COLD
static int lg_too_large(const char *kernel, const lg_argument *argument, PyObject *given)
{
    PyErr_Format(PyExc_OverflowError, "%s: %s (%s): %.200R is too large", kernel,
                 argument->place, argument->type, given);
    return -1;
}
