/* The arguments before the kernel's own, as Triton calls its launchers; by position only. */
static int lg_size_from_object(const char *kernel, PyObject *object, const lg_argument *axis,
                               uint32_t *size)
{
    return lg_is_grid_size(object, size) ? 0 : lg_any_grid_size(kernel, object, axis, size);
}

static int lg_place_from_objects(const char *kernel, PyObject *const *row, uint32_t grid[3],
                                 void **stream, void **function)
{
    for (int i = 0; i < 3; i++) {
        if (lg_size_from_object(kernel, row[i], &lg_grid_axes[i], &grid[i]) != 0)
            return -1;
    }
    if (lg_stream_from_object(kernel, row[3], stream) != 0)
        return -1;
    return lg_function_from_object(kernel, row[4], function);
}

/* Triton's metadata of a kernel: warps, CTAs, shared memory, and from releases up to 3.5 the
 * cluster's three sizes, which count where there is more than one CTA. */
static int lg_request_from_object(const char *kernel, PyObject *object, int knows_oversized,
                                  lg_request *request)
{
    static const lg_argument what = {"kernel_metadata", "tuple of 3 or 6"};
    int64_t numbers[6] = {0, 1, 0, 1, 1, 1};
    const Py_ssize_t count = PyTuple_Check(object) ? PyTuple_GET_SIZE(object) : 0;
    if (count != 3 && count != 6)
        return LG_WRONG_KIND(kernel, &what, "a tuple of 3 or 6 ints", object);
    for (Py_ssize_t i = 0; i < count; i++) {
        const int64_t low = i == 2 ? 0 : 1;
        if (lg_signed_from_object(kernel, &what, PyTuple_GET_ITEM(object, i), low, INT32_MAX,
                                  &numbers[i]) != 0)
            return -1;
    }
    if (numbers[0] > 32)
        return lg_complain(PyExc_ValueError, kernel, &what, "%lld warps; a block has 1 to 32",
                           (long long)numbers[0]);
    if (count == 3)
        numbers[3] = numbers[1];
    for (int i = 0; i < 3; i++)
        request->cluster[i] = numbers[1] == 1 ? 1 : (uint32_t)numbers[3 + i];
    request->num_warps = (uint32_t)numbers[0];
    request->shared = (uint32_t)numbers[2];
    request->oversized_shared = knows_oversized && request->shared > LG_LARGEST_SHARED;
    return 0;
}

/* Where there is no hook Triton passes None up to 3.4, and from 3.5 on a chain object whose list is
 * empty, which is not worth a call. */
static int lg_calls_anything(PyObject *module, PyObject *hook)
{
    if (hook == Py_None)
        return 0;
    if (strcmp(Py_TYPE(hook)->tp_name, "HookChain") != 0)
        return 1;
    PyObject *calls = PyObject_GetAttr(hook, lg_module_of(module)->texts[LG_TEXT_CALLS]);
    if (calls == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    if (calls == NULL) {
        PyErr_Clear();
        return 1;
    }
    const int any = !PyList_Check(calls) || PyList_GET_SIZE(calls) != 0;
    Py_DECREF(calls);
    return any;
}

static int lg_call_hook(PyObject *module, PyObject *hook, PyObject *metadata)
{
    const int calls = lg_calls_anything(module, hook);
    if (calls <= 0)
        return calls;
    PyObject *result = PyObject_CallOneArg(hook, metadata);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}
