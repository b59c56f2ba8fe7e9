enum { LG_KEEPS = 0, LG_NARROWS = 1 };

/* Clears an exception that says of a value what it is not; without memory, or when the user
 * interrupts, nothing was said of it. */
LG_COLD
static int lg_forgive(void)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_ArithmeticError))
        return 0;
    PyErr_Clear();
    return 1;
}

/* A large int, a fraction or a decimal need not fit a double, and rounding it there and again to
 * the kernel's type could miss the nearest value. Cut off instead, and marked inexact in the last
 * bit, it rounds right to any narrower type. What cannot be compared counts as its float. */
LG_COLD
static int lg_round_to_odd(PyObject *object, double *value)
{
    uint64_t bits = 0;
    PyObject *exact = PyIndex_Check(object) ? PyNumber_Index(object) : Py_NewRef(object);
    /* No int after all, as an array of one float: it may compare itself. */
    if (exact == NULL && lg_forgive())
        exact = Py_NewRef(object);
    PyObject *rounded = exact == NULL ? NULL : PyFloat_FromDouble(*value);
    int below = rounded == NULL ? -1 : PyObject_RichCompareBool(exact, rounded, Py_LT);
    int above = below != 0 ? 0 : PyObject_RichCompareBool(exact, rounded, Py_GT);
    Py_XDECREF(exact);
    Py_XDECREF(rounded);
    if (below < 0 || above < 0)
        return lg_forgive() ? 0 : -1;
    if (below == 0 && above == 0)
        return 0;
    memcpy(&bits, value, sizeof bits);
    if (below > 0 ? *value > 0 : *value < 0)
        bits -= 1;
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
        return LG_WRONG_KIND(kernel, argument, "a float", object);
    }
    if (narrows && LG_UNLIKELY(!PyFloat_Check(object)) &&
        (!PyLong_Check(object) || *value > 9007199254740992.0 || *value < -9007199254740992.0) &&
        lg_round_to_odd(object, value) != 0)
        return lg_explain(kernel, argument);
    return 0;
}
