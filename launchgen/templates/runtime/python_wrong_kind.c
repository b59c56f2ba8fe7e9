LG_COLD
static int lg_wrong_kind(const char *kernel, const lg_argument *argument, const char *expected,
                         PyObject *given)
{
    PyErr_Format(PyExc_TypeError, "%s: %s (%s): expected %s, got %.200R of type %s",
                 kernel, argument->place, argument->type, expected, given,
                 Py_TYPE(given)->tp_name);
    return -1;
}
