/* Asks an allocator for scratch memory; `buffer` owns it and must outlive the launch call. */
LG_COLD
static int lg_allocate_from(PyObject *module, PyObject *allocator, const lg_kernel *kernel,
                            const lg_argument *what, uint64_t each, uint64_t align,
                            const uint32_t grid[3], void *stream, PyObject **buffer,
                            uint64_t *address)
{
    uint64_t bytes = 0;
    lg_grid blocks = {grid[0], grid[1], grid[2]};
    if (lg_is_empty(grid[0], grid[1], grid[2]))
        return 0;
    /* No memory is asked for where the launch would be refused, as far as that is known. */
    int refused = LG_SUCCESS;
    if (kernel->variant_count == 1)
        refused = lg_count_blocks(kernel->variants, &blocks);
    if (refused != LG_SUCCESS)
        return lg_raise(module, refused);
    if (!lg_scratch_bytes(each, grid[0], grid[1], grid[2], &bytes)) {
        PyErr_Format(PyExc_ValueError, "%s: the %s for this grid exceeds 64 bits", kernel->name,
                     what->place);
        return -1;
    }
    if (allocator == NULL) {
        PyErr_Format(PyExc_RuntimeError,
                     "%s: needs %llu bytes of %s, but no allocator is set; call "
                     "set_allocator(f) first, where f(size, alignment, stream) returns device "
                     "memory",
                     kernel->name, (unsigned long long)bytes, what->place);
        return -1;
    }
    *buffer = PyObject_CallFunction(allocator, "KKK", (unsigned long long)bytes,
                                    (unsigned long long)align,
                                    (unsigned long long)(uintptr_t)stream);
    if (*buffer == NULL)
        return -1;
    return lg_pointer_from_object(module, kernel->name, what, *buffer, stream, address);
}
