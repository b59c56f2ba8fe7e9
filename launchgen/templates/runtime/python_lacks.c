/* Tells whether what went wrong is that the object has no such attribute. Any other exception
 * stays: it is the object's own. */
LG_COLD
static int lg_lacks(PyObject *object, const char *attribute)
{
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return 0;
    PyObject *error = lg_take_exception();
    const int lacks = !PyObject_HasAttrString(object, attribute);
    if (!lacks)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return lacks;
}
