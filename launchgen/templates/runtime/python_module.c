/* Names of attributes that launches ask for. */
enum {
    LG_TEXT_DATA_PTR,
    LG_TEXT_BASE,
    LG_TEXT_SHAPE,
    LG_TEXT_STRIDES,
    LG_TEXT_PADDING,
    LG_TEXT_ROUND,
    LG_TEXT_CALLS,
    LG_TEXT_COUNT
};

typedef struct lg_module {
    PyObject *cuda_error;
    PyObject *allocator;
    PyObject *texts[LG_TEXT_COUNT];
} lg_module;

static lg_module *lg_module_of(PyObject *module)
{
    return (lg_module *)PyModule_GetState(module);
}

/* Interpreters that run without a global lock need one around what any thread may replace. */
#if PY_VERSION_HEX < 0x030D0000
#define LG_BEGIN_LOCKED(object) {
#define LG_END_LOCKED() }
#else
#define LG_BEGIN_LOCKED(object) Py_BEGIN_CRITICAL_SECTION(object);
#define LG_END_LOCKED() Py_END_CRITICAL_SECTION()
#endif
