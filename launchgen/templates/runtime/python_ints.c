/* An item may run code of its own and another thread may be at a list, which then has fewer: the
 * item is owned while it is read, and IndexError says that it is gone. */
static inline PyObject *lg_item_of(PyObject *items, Py_ssize_t at)
{
    if (PyTuple_Check(items))
        return Py_NewRef(PyTuple_GET_ITEM(items, at));
#if PY_VERSION_HEX >= 0x030D0000
    return PyList_GetItemRef(items, at);
#else
    return Py_XNewRef(PyList_GetItem(items, at));
#endif
}

/* `part` names the sequence in messages. */
static int lg_ints_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                               const char *part, int count, int64_t *values)
{
    PyObject *items = PySequence_Fast(object, "");
    if (items == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        return lg_complain(PyExc_TypeError, kernel, argument,
                           "%s is %.200R, not a sequence of ints", part, object);
    }
    int status = 0;
    const Py_ssize_t given = PySequence_Fast_GET_SIZE(items);
    if (given != count)
        status = lg_complain(PyExc_ValueError, kernel, argument, "%s has %zd elements, not %d",
                             part, given, count);
    for (int i = 0; status == 0 && i < count; i++) {
        PyObject *item = lg_item_of(items, i);
        if (LG_UNLIKELY(item == NULL)) {
            status = lg_complain(PyExc_ValueError, kernel, argument,
                                 "%s became shorter while it was read", part);
            break;
        }
        PyObject *number = PyIndex_Check(item) ? PyNumber_Index(item) : NULL;
        if (LG_UNLIKELY(number == NULL && !PyIndex_Check(item)))
            status = lg_complain(PyExc_TypeError, kernel, argument, "%s[%d] is %.200R, not an int",
                                 part, i, item);
        else if (LG_UNLIKELY(number == NULL))
            status = lg_explain(kernel, argument);
        else if (LG_UNLIKELY(lg_overflows(number, &values[i])))
            status = lg_complain(PyExc_OverflowError, kernel, argument,
                                 "%s[%d] is %.200R, beyond 64 bits", part, i, number);
        Py_XDECREF(number);
        Py_DECREF(item);
    }
    Py_DECREF(items);
    return status;
}
