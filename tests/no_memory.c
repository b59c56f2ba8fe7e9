/* A module through which tests let the interpreter run out of memory at a chosen allocation. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { DOMAINS = 3 };

static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM,
                                                      PYMEM_DOMAIN_OBJ};
static PyMemAllocatorEx usual[DOMAINS];
static long made;
static long failing;

static int fails(void)
{
    return made++ == failing;
}

static void *take(void *context, size_t size)
{
    const PyMemAllocatorEx *allocator = (const PyMemAllocatorEx *)context;
    return fails() ? NULL : allocator->malloc(allocator->ctx, size);
}

static void *take_zeroed(void *context, size_t count, size_t size)
{
    const PyMemAllocatorEx *allocator = (const PyMemAllocatorEx *)context;
    return fails() ? NULL : allocator->calloc(allocator->ctx, count, size);
}

static void *change(void *context, void *memory, size_t size)
{
    const PyMemAllocatorEx *allocator = (const PyMemAllocatorEx *)context;
    return fails() ? NULL : allocator->realloc(allocator->ctx, memory, size);
}

static void give_back(void *context, void *memory)
{
    const PyMemAllocatorEx *allocator = (const PyMemAllocatorEx *)context;
    allocator->free(allocator->ctx, memory);
}

/* Calls function(*arguments) with the allocation of that number, from 0 on, failing; returns how
 * many there were and what was raised, or None. */
static PyObject *call(PyObject *module, PyObject *arguments)
{
    PyObject *function = NULL;
    PyObject *row = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "lOO!", &failing, &function, &PyTuple_Type, &row))
        return NULL;
    made = 0;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx wrapped = {&usual[i], take, take_zeroed, change, give_back};
        PyMem_GetAllocator(domains[i], &usual[i]);
        PyMem_SetAllocator(domains[i], &wrapped);
    }
    PyObject *result = PyObject_Call(function, row, NULL);
    for (int i = 0; i < DOMAINS; i++)
        PyMem_SetAllocator(domains[i], &usual[i]);
    const long count = made;
    if (result != NULL) {
        Py_DECREF(result);
        return Py_BuildValue("lO", count, Py_None);
    }
    PyObject *type = NULL;
    PyObject *error = NULL;
    PyObject *traceback = NULL;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return Py_BuildValue("lN", count, error);
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "no_memory", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_no_memory(void);

PyMODINIT_FUNC PyInit_no_memory(void)
{
    return PyModule_Create(&definition);
}
