LG_COLD
static int lg_start_module(PyObject *module, const char *error)
{
    static const char *const texts[LG_TEXT_COUNT] = {"data_ptr", "base",    "shape",
                                                     "strides",  "padding", "round_f32_to_tf32",
                                                     "calls"};
    lg_module *state = lg_module_of(module);
    for (int i = 0; i < LG_TEXT_COUNT; i++) {
        state->texts[i] = PyUnicode_InternFromString(texts[i]);
        if (state->texts[i] == NULL)
            return -1;
    }
    return lg_add_exception(module, error);
}

LG_COLD
static int lg_traverse_module(PyObject *module, visitproc visit, void *arg)
{
    lg_module *state = lg_module_of(module);
    Py_VISIT(state->cuda_error);
    Py_VISIT(state->allocator);
    return 0;
}

LG_COLD
static int lg_clear_module(PyObject *module)
{
    lg_module *state = lg_module_of(module);
    Py_CLEAR(state->cuda_error);
    Py_CLEAR(state->allocator);
    for (int i = 0; i < LG_TEXT_COUNT; i++)
        Py_CLEAR(state->texts[i]);
    return 0;
}

LG_COLD
static void lg_free_module(void *module)
{
    (void)lg_clear_module((PyObject *)module);
}
