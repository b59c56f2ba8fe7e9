/* Puts the launcher and the argument in front of the interpreter's own words. What an object's own
 * code raised, as a traceback shows, is the cause; an exception of another type stays as it is. */
LG_COLD
static void lg_say_again(const char *kernel, const lg_argument *argument, PyObject *error)
{
    PyObject *trace = PyException_GetTraceback(error);
    PyErr_Format((PyObject *)Py_TYPE(error), "%s: %s (%s): %S", kernel, argument->place,
                 argument->type, error);
    if (trace != NULL) {
        PyObject *said = lg_take_exception();
        PyException_SetCause(said, Py_NewRef(error));
        PyErr_SetObject((PyObject *)Py_TYPE(said), said);
        Py_DECREF(said);
    }
    Py_XDECREF(trace);
}

LG_COLD
static int lg_explain(const char *kernel, const lg_argument *argument)
{
    PyObject *error = lg_take_exception();
    PyObject *type = (PyObject *)Py_TYPE(error);
    if (type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_OverflowError ||
        type == PyExc_BufferError)
        lg_say_again(kernel, argument, error);
    else
        PyErr_SetObject(type, error);
    Py_DECREF(error);
    return -1;
}
