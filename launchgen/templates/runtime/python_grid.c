static const lg_argument lg_whole_grid = {"grid", "int or tuple of one to three"};

LG_COLD
static int lg_grid_from_list(const char *kernel, PyObject *object, uint32_t grid[3])
{
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        if (PyIndex_Check(object))
            return lg_any_grid_size(kernel, object, &lg_grid_axes[0], &grid[0]);
        return LG_WRONG_KIND(kernel, &lg_whole_grid, "an int or a tuple of one to three", object);
    }
    PyObject *sizes = PySequence_Tuple(object);
    if (sizes == NULL)
        return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(sizes);
    int status = 0;
    if (count < 1 || count > 3)
        status = lg_complain(PyExc_ValueError, kernel, &lg_whole_grid,
                             "expected one to three sizes, got %zd", count);
    for (Py_ssize_t i = 0; status == 0 && i < count; i++)
        status = lg_any_grid_size(kernel, PyTuple_GET_ITEM(sizes, i), &lg_grid_axes[i], &grid[i]);
    Py_DECREF(sizes);
    return status;
}

/* An int, or a tuple or list of one to three; sizes left out are 1. */
static inline int lg_grid_from_object(const char *kernel, PyObject *object, uint32_t grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    if (lg_is_grid_size(object, &grid[0]))
        return 0;
    if (PyTuple_CheckExact(object)) {
        const Py_ssize_t count = PyTuple_GET_SIZE(object);
        Py_ssize_t done = 0;
        while (done < count && done < 3 &&
               lg_is_grid_size(PyTuple_GET_ITEM(object, done), &grid[done]))
            done++;
        if (done > 0 && done == count)
            return 0;
    }
    grid[0] = grid[1] = grid[2] = 1;
    return lg_grid_from_list(kernel, object, grid);
}
