/* Descriptors are read by their attributes, as Triton's own are; whoever has them will do. */
static int lg_ints_from_attribute(const char *kernel, const lg_argument *argument,
                                  PyObject *object, PyObject *name, int count, int64_t *values)
{
    PyObject *found = PyObject_GetAttr(object, name);
    if (found == NULL) {
        if (!lg_lacks(object, PyUnicode_AsUTF8(name)))
            return -1;
        return LG_WRONG_KIND(kernel, argument, "a descriptor with base, shape and strides", object);
    }
    int status =
        lg_ints_from_object(kernel, argument, found, PyUnicode_AsUTF8(name), count, values);
    Py_DECREF(found);
    return status;
}

/* Releases add attributes that older descriptors lack: NULL without an exception is such a one. */
static PyObject *lg_optional_attribute(PyObject *object, PyObject *name)
{
    PyObject *found = NULL;
#if PY_VERSION_HEX >= 0x030D0000
    (void)PyObject_GetOptionalAttr(object, name, &found);
#else
    /* Its name before it was public; PyObject_HasAttr would swallow the object's own exceptions. */
    (void)_PyObject_LookupAttr(object, name, &found);
#endif
    return found;
}

static int lg_flags_from_object(PyObject *module, const char *kernel, const lg_argument *argument,
                                PyObject *object, lg_descriptor *given)
{
    const lg_module *state = lg_module_of(module);
    PyObject *padding = lg_optional_attribute(object, state->texts[LG_TEXT_PADDING]);
    if (padding != NULL) {
        const int is_text = PyUnicode_Check(padding);
        int status = 0;
        given->nan_padding = is_text && PyUnicode_CompareWithASCIIString(padding, "nan") == 0;
        if (!given->nan_padding &&
            (!is_text || PyUnicode_CompareWithASCIIString(padding, "zero") != 0))
            status = lg_complain(PyExc_ValueError, kernel, argument,
                                 "padding is %.200R, not 'zero' or 'nan'", padding);
        Py_DECREF(padding);
        if (status != 0)
            return -1;
    } else if (PyErr_Occurred() != NULL) {
        return -1;
    }
    PyObject *rounds = lg_optional_attribute(object, state->texts[LG_TEXT_ROUND]);
    if (rounds == NULL)
        return PyErr_Occurred() != NULL ? -1 : 0;
    const int truth = PyObject_IsTrue(rounds);
    Py_DECREF(rounds);
    given->round_tf32 = truth > 0;
    return truth < 0 ? -1 : 0;
}

static int lg_descriptor_from_object(PyObject *module, const char *kernel,
                                     const lg_argument *argument, PyObject *object, void *stream,
                                     int rank, lg_descriptor *given)
{
    const lg_module *state = lg_module_of(module);
    memset(given, 0, sizeof *given);
    PyObject *base = PyObject_GetAttr(object, state->texts[LG_TEXT_BASE]);
    if (base == NULL) {
        if (!lg_lacks(object, "base"))
            return -1;
        return LG_WRONG_KIND(kernel, argument, "a descriptor with base, shape and strides", object);
    }
    int status =
        lg_pointer_from_object(module, kernel, argument, base, stream, &given->base);
    Py_DECREF(base);
    if (status == 0)
        status = lg_ints_from_attribute(kernel, argument, object, state->texts[LG_TEXT_SHAPE], rank,
                                        given->shape);
    if (status == 0)
        status = lg_ints_from_attribute(kernel, argument, object, state->texts[LG_TEXT_STRIDES],
                                        rank, given->strides);
    return status != 0 ? -1 : lg_flags_from_object(module, kernel, argument, object, given);
}
