/* Asks the module's allocator for scratch memory. */
LG_COLD
static int lg_allocate(PyObject *module, const lg_kernel *kernel, const lg_argument *what,
                       uint64_t each, uint64_t align, const uint32_t grid[3], void *stream,
                       PyObject **buffer, uint64_t *address)
{
    const lg_module *state = lg_module_of(module);
    PyObject *allocator = NULL;
    LG_BEGIN_LOCKED(module)
    allocator = Py_XNewRef(state->allocator);
    LG_END_LOCKED();
    int status = lg_allocate_from(module, allocator, kernel, what, each, align, grid, stream,
                                  buffer, address);
    Py_XDECREF(allocator);
    return status;
}
