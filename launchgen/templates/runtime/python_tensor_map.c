/* Triton's own tensor maps have nothing but their bytes, at the object's end. */
LG_COLD
static const void *lg_map_of_triton(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    const size_t size = (size_t)type->tp_basicsize;
    if (strcmp(type->tp_name, "triton.backends.nvidia.PyCUtensorMap") != 0 ||
        size < sizeof(PyObject) + sizeof(lg_tensor_map))
        return NULL;
    return (const char *)object + (size - sizeof(lg_tensor_map));
}

/* A tensor map is 128 bytes that the host has encoded: a bytes-like object, or one that tells
 * where they lie, as Triton 3.4's descriptors do. */
LG_COLD
static int lg_tensor_map_from_object(const char *kernel, const lg_argument *argument,
                                     PyObject *object, lg_tensor_map *map)
{
    uint64_t address = 0;
    if (PyObject_CheckBuffer(object))
        return lg_bytes_from_object(kernel, argument, object, map, (Py_ssize_t)sizeof *map);
    const void *own = lg_map_of_triton(object);
    if (own != NULL) {
        memcpy(map, own, sizeof *map);
        return 0;
    }
    PyObject *result = PyObject_CallMethod(object, "tma_desc_cpu_ptr", NULL);
    if (result == NULL) {
        if (!lg_lacks(object, "tma_desc_cpu_ptr"))
            return -1;
        return LG_WRONG_KIND(kernel, argument,
                             "128 bytes or an object with tma_desc_cpu_ptr()", object);
    }
    int status = -1;
    if (!PyLong_Check(result))
        status = LG_WRONG_KIND(kernel, argument, "an address from tma_desc_cpu_ptr()", result);
    else
        status = lg_address_from_int(kernel, argument, result, &address);
    Py_DECREF(result);
    if (status != 0)
        return -1;
    if (address == 0)
        return lg_complain(PyExc_ValueError, kernel, argument, "the tensor map is null");
    memcpy(map, (const void *)(uintptr_t)address, sizeof *map);
    return 0;
}
