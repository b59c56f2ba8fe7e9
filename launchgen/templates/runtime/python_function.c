static int lg_function_from_object(const char *kernel, PyObject *object, void **function)
{
    if (!PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: function must be an int handle, got %.200R of type %s",
                     kernel, object, Py_TYPE(object)->tp_name);
        return -1;
    }
    return lg_handle_from_int(kernel, "function", object, function);
}
