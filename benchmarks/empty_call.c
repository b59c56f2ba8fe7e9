/* A module whose function takes any arguments and does nothing: what a call costs by itself. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *call(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    (void)arguments;
    (void)count;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "empty_call", NULL, 0, methods,
                                 NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_empty_call(void)
{
    return PyModuleDef_Init(&definition);
}
