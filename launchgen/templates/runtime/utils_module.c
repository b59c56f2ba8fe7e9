/* What the module keeps for each interpreter. */
typedef struct lg_module {
    PyObject *cuda_error;
    PyObject *map_type;
} lg_module;

static lg_module *lg_module_of(PyObject *module)
{
    return (lg_module *)PyModule_GetState(module);
}
