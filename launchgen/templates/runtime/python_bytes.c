static int lg_bytes_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                                void *storage, Py_ssize_t size)
{
    Py_buffer view;
    if (!PyObject_CheckBuffer(object))
        return LG_WRONG_KIND(kernel, argument, "a bytes-like object", object);
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0)
        return lg_explain(kernel, argument);
    const Py_ssize_t given = view.len;
    if (given == size)
        memcpy(storage, view.buf, (size_t)size);
    PyBuffer_Release(&view);
    if (given == size)
        return 0;
    return lg_complain(PyExc_ValueError, kernel, argument, "expected %zd bytes, got %zd", size,
                       given);
}
