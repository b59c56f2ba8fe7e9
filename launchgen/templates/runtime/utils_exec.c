/* ---- the module ---- */

#define LG_METHOD(name, function, text)                                                        \
    {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, text}

static PyMethodDef lg_methods[] = {
    LG_METHOD("load_binary", lg_load_binary,
              "load_binary(name, image, shared, device)\n\n"
              "Returns module, function, registers, spilled registers and most threads."),
    LG_METHOD("unload_module", lg_unload_module, "unload_module(module)"),
    LG_METHOD("get_device_properties", lg_get_device_properties, "get_device_properties(device)"),
    LG_METHOD("get_device_capability", lg_get_device_capability,
              "get_device_capability(device)\n\nReturns the major and the minor number."),
    LG_METHOD("get_current_device", lg_get_current_device, "get_current_device()"),
    LG_METHOD("set_current_device", lg_set_current_device, "set_current_device(device)"),
    LG_METHOD("get_default_stream", lg_get_default_stream,
              "get_default_stream(device)\n\nMakes the device current and returns 0."),
    LG_METHOD("is_stream_capturing", lg_is_stream_capturing, "is_stream_capturing(stream)"),
    LG_METHOD("cuOccupancyMaxActiveClusters", lg_max_active_clusters,
              "cuOccupancyMaxActiveClusters(function, shared, cluster)\n\n"
              "The cluster is one size or, as up to Triton 3.5, three."),
    LG_METHOD("set_printf_fifo_size", lg_set_printf_fifo_size,
              "set_printf_fifo_size(size)\n\nIn bytes; before any kernel that prints has run."),
    LG_METHOD("fill_tma_descriptor", lg_fill_tma_descriptor,
              "fill_tma_descriptor(global_address, swizzle, elem_size, elem_type, block_size, "
              "shape, strides, padding)\n\n"
              "Returns a PyCUtensorMap. As in Triton 3.4, with the address of 128 bytes first and "
              "no padding, it writes there instead."),
    LG_METHOD("fill_tma_descriptor_tiled", lg_fill_tma_descriptor_tiled,
              "fill_tma_descriptor_tiled(global_address, swizzle, elem_size, elem_type, "
              "block_size, shape, strides, padding)"),
    LG_METHOD("fill_tma_descriptor_im2col", lg_fill_tma_descriptor_im2col,
              "fill_tma_descriptor_im2col(global_address, swizzle, elem_size, elem_type, "
              "block_size, shape, strides, padding, pixel_box_lower, pixel_box_upper, "
              "element_strides)\n\n"
              "As in Triton 3.7, channels and pixels may stand before the element strides."),
    {NULL, NULL, 0, NULL},
};

#undef LG_METHOD

LG_COLD
static int lg_exec(PyObject *module)
{
    lg_module *state = lg_module_of(module);
    if (lg_add_exception(module, "cuda_utils.CudaError") != 0)
        return -1;
    state->map_type = PyType_FromModuleAndSpec(module, &lg_map_spec, NULL);
    if (state->map_type == NULL)
        return -1;
    return PyModule_AddObjectRef(module, "PyCUtensorMap", state->map_type);
}

LG_COLD
static int lg_traverse_module(PyObject *module, visitproc visit, void *arg)
{
    lg_module *state = lg_module_of(module);
    Py_VISIT(state->cuda_error);
    Py_VISIT(state->map_type);
    return 0;
}

LG_COLD
static int lg_clear_module(PyObject *module)
{
    lg_module *state = lg_module_of(module);
    Py_CLEAR(state->cuda_error);
    Py_CLEAR(state->map_type);
    return 0;
}

LG_COLD
static void lg_free_module(void *module)
{
    (void)lg_clear_module((PyObject *)module);
}
