/* `part` names the sequence in messages. */
static int lg_ints_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                               const char *part, int count, int64_t *values)
{
    PyObject *items = PySequence_Fast(object, "");
    if (items == NULL) {
        PyErr_Clear();
        return lg_complain(PyExc_TypeError, kernel, argument,
                           "%s is %.200R, not a sequence of ints", part, object);
    }
    int status = 0;
    if (PySequence_Fast_GET_SIZE(items) != count)
        status = lg_complain(PyExc_ValueError, kernel, argument, "%s has %zd elements, not %d",
                             part, PySequence_Fast_GET_SIZE(items), count);
    for (int i = 0; status == 0 && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        if (LG_UNLIKELY(!PyLong_Check(item) && !PyIndex_Check(item))) {
            status = lg_complain(PyExc_TypeError, kernel, argument, "%s[%d] is %.200R, not an int",
                                 part, i, item);
            break;
        }
        PyObject *number = PyNumber_Index(item);
        if (LG_UNLIKELY(number == NULL))
            status = lg_explain(kernel, argument);
        else if (LG_UNLIKELY(lg_overflows(number, &values[i])))
            status = lg_complain(PyExc_OverflowError, kernel, argument,
                                 "%s[%d] is %.200R, beyond 64 bits", part, i, number);
        Py_XDECREF(number);
    }
    Py_DECREF(items);
    return status;
}
