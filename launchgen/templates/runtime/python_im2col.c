/* Reads numbers of 32 bits that only im2col's descriptors have. */
static int lg_narrow_ints(const char *kernel, const lg_argument *argument, PyObject *object,
                          const char *part, int count, int32_t *values)
{
    int64_t wide[LG_MOST_RANK];
    PyObject *found = PyObject_GetAttrString(object, part);
    if (found == NULL) {
        if (!lg_lacks(object, part))
            return -1;
        return lg_complain(PyExc_TypeError, kernel, argument, "%.200R has no %s", object, part);
    }
    int status = lg_ints_from_object(kernel, argument, found, part, count, wide);
    Py_DECREF(found);
    for (int i = 0; status == 0 && i < count; i++) {
        if (wide[i] < INT32_MIN || wide[i] > INT32_MAX)
            status = lg_complain(PyExc_OverflowError, kernel, argument,
                                 "%s[%d] is %lld, beyond 32 bits", part, i, (long long)wide[i]);
        values[i] = (int32_t)wide[i];
    }
    return status;
}

/* Adds to a descriptor what im2col has besides. Element strides that are None stay 0, for 1. */
static int lg_im2col_from_object(const char *kernel, const lg_argument *argument, PyObject *object,
                                 int rank, lg_descriptor *given)
{
    int32_t steps[LG_MOST_RANK] = {0};
    int status = lg_narrow_ints(kernel, argument, object, "pixel_box_lower_corner", rank - 2,
                                given->lower);
    if (status == 0)
        status = lg_narrow_ints(kernel, argument, object, "pixel_box_upper_corner", rank - 2,
                                given->upper);
    if (status != 0)
        return -1;
    PyObject *strides = PyObject_GetAttrString(object, "element_strides");
    const int is_given = strides != NULL && strides != Py_None;
    if (strides == NULL && !lg_lacks(object, "element_strides"))
        return -1;
    Py_XDECREF(strides);
    if (!is_given)
        return 0;
    if (lg_narrow_ints(kernel, argument, object, "element_strides", rank, steps) != 0)
        return -1;
    for (int i = 0; i < rank; i++) {
        if (steps[i] < 1)
            return lg_complain(PyExc_ValueError, kernel, argument,
                               "element_strides[%d] is %d, not 1 to 8", i, steps[i]);
        given->element_strides[i] = (uint32_t)steps[i];
    }
    return 0;
}
