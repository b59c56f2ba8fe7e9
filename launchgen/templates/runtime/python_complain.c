/* One source argument, in the signature's words, for messages. */
typedef struct lg_argument {
    const char *place;
    const char *type;
} lg_argument;

/* Raises an exception whose text begins with the launcher, the argument and its declared type. */
LG_COLD
static int lg_complain(PyObject *type, const char *kernel, const lg_argument *argument,
                       const char *format, ...)
{
    va_list values;
    PyErr_Clear(); /* showing a value may run its own code */
    va_start(values, format);
    PyObject *text = PyUnicode_FromFormatV(format, values);
    va_end(values);
    if (text == NULL && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1; /* the user interrupts, or the program ends */
    if (text == NULL) {
        /* An int of thousands of digits, say, which the interpreter refuses to print. */
        PyErr_Clear();
        text = PyUnicode_FromString("refused, and so is showing the value");
    }
    if (text != NULL)
        PyErr_Format(type, "%s: %s (%s): %U", kernel, argument->place, argument->type, text);
    Py_XDECREF(text);
    return -1;
}

#define LG_WRONG_KIND(kernel, argument, expected, given)                                       \
    ((void)lg_complain(PyExc_TypeError, kernel, argument, "expected " expected                  \
                       ", got %.200R of type %s", given, Py_TYPE(given)->tp_name), -1)
