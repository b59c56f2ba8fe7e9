static int lg_function_from_object(const char *kernel, PyObject *object, void **function)
{
    static const lg_argument what = {"function", "int"};
    if (!PyLong_Check(object))
        return LG_WRONG_KIND(kernel, &what, "an int handle", object);
    return lg_handle_from_int(kernel, &what, object, function);
}
