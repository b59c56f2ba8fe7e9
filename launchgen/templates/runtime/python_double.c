enum { LG_KEEPS = 0, LG_NARROWS = 1 };

/* An int above 2^53 does not fit a double, and rounding it there and again to the kernel's type
 * could miss the nearest value. Cut off instead and marked inexact in the last bit, it rounds
 * right to any narrower type. */
LG_COLD
static int lg_round_int_to_odd(PyObject *object, double *value)
{
    uint64_t bits = 0;
    PyObject *number = PyNumber_Index(object);
    if (number == NULL) {
        /* An array of one float has the method, and says only now that it is no int. */
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *back = PyLong_FromDouble(*value);
    PyObject *magnitude = PyNumber_Absolute(number);
    PyObject *rounded = back == NULL ? NULL : PyNumber_Absolute(back);
    int exact = -1;
    int above = -1;
    if (magnitude != NULL && rounded != NULL) {
        exact = PyObject_RichCompareBool(magnitude, rounded, Py_EQ);
        above = PyObject_RichCompareBool(rounded, magnitude, Py_GT);
    }
    Py_DECREF(number);
    Py_XDECREF(back);
    Py_XDECREF(magnitude);
    Py_XDECREF(rounded);
    if (exact < 0 || above < 0)
        return -1;
    memcpy(&bits, value, sizeof bits);
    if (above)
        bits -= 1;
    if (!exact)
        bits |= 1;
    memcpy(value, &bits, sizeof bits);
    return 0;
}

static int lg_double_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                                 int narrows, double *value)
{
    *value = PyFloat_AsDouble(object);
    if (LG_UNLIKELY(*value == -1.0 && PyErr_Occurred() != NULL)) {
        const PyNumberMethods *methods = Py_TYPE(object)->tp_as_number;
        if (methods != NULL && (methods->nb_float != NULL || methods->nb_index != NULL))
            return lg_explain(kernel, argument);
        PyErr_Clear();
        return LG_WRONG_KIND(kernel, argument, "a float", object);
    }
    if (narrows && LG_UNLIKELY(*value > 9007199254740992.0 || *value < -9007199254740992.0) &&
        PyIndex_Check(object))
        return lg_round_int_to_odd(object, value);
    return 0;
}
