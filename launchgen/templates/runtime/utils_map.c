/* ---- tensor maps as objects ---- */

/* What the launchers of Triton 3.5 and 3.6 read: they know the type by its identity, and find the
 * map 128 bytes behind the object's beginning. */
typedef struct lg_map_object {
    PyObject_HEAD
    LG_ALIGNAS(128) lg_tensor_map map;
} lg_map_object;

LG_STATIC_ASSERT(offsetof(lg_map_object, map) == 128, "as in Triton's driver.c");
LG_STATIC_ASSERT(sizeof(lg_map_object) == 256, "as in Triton's driver.c");

/* The interpreter's own allocator aligns to 16 bytes. And memory of these objects never becomes
 * anything else: without a global lock, another thread may still look at the reference count of one
 * that has just gone. */
#define LG_MAPS_AT_ONCE 32

static lg_map_object *lg_free_maps;
static pthread_mutex_t lg_maps_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The next free one is kept where the map was; the reference count stays as it is. */
static void lg_push_map(lg_map_object *object)
{
    object->map.opaque[0] = (uint64_t)(uintptr_t)lg_free_maps;
    lg_free_maps = object;
}

static lg_map_object *lg_take_map(void)
{
    void *memory = NULL;
    (void)pthread_mutex_lock(&lg_maps_mutex);
    if (lg_free_maps == NULL &&
        posix_memalign(&memory, 128, LG_MAPS_AT_ONCE * sizeof(lg_map_object)) == 0) {
        lg_map_object *objects = (lg_map_object *)memory;
        memset(memory, 0, LG_MAPS_AT_ONCE * sizeof(lg_map_object));
        for (int i = 0; i < LG_MAPS_AT_ONCE; i++)
            lg_push_map(&objects[i]);
    }
    lg_map_object *taken = lg_free_maps;
    if (taken != NULL)
        lg_free_maps = (lg_map_object *)(uintptr_t)taken->map.opaque[0];
    (void)pthread_mutex_unlock(&lg_maps_mutex);
    return taken;
}

static PyObject *lg_alloc_map(PyTypeObject *type, Py_ssize_t count)
{
    lg_map_object *made = lg_take_map();
    (void)count;
    if (made == NULL)
        return PyErr_NoMemory();
    memset(&made->map, 0, sizeof made->map);
    return PyObject_Init((PyObject *)made, type);
}

static void lg_free_map(void *object)
{
    (void)pthread_mutex_lock(&lg_maps_mutex);
    lg_push_map((lg_map_object *)object);
    (void)pthread_mutex_unlock(&lg_maps_mutex);
}

static void lg_drop_map(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static int lg_view_map(PyObject *object, Py_buffer *view, int flags)
{
    lg_tensor_map *map = &((lg_map_object *)(void *)object)->map;
    return PyBuffer_FillInfo(view, object, map, (Py_ssize_t)sizeof *map, 1, flags);
}

static PyObject *lg_map_address(PyObject *object, PyObject *nothing)
{
    (void)nothing;
    return PyLong_FromVoidPtr(&((lg_map_object *)(void *)object)->map);
}

static PyMethodDef lg_map_methods[] = {
    {"tma_desc_cpu_ptr", lg_map_address, METH_NOARGS, "The address of the map's 128 bytes."},
    {NULL, NULL, 0, NULL},
};

/* ISO C has no way to put a function's address into a void *, which is what slots hold. */
static PyType_Slot lg_map_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)"A tensor map, for the launchers of kernels that take one."},
    {Py_tp_new, __extension__(void *)PyType_GenericNew},
    {Py_tp_alloc, __extension__(void *)lg_alloc_map},
    {Py_tp_free, __extension__(void *)lg_free_map},
    {Py_tp_dealloc, __extension__(void *)lg_drop_map},
    {Py_tp_methods, lg_map_methods},
    {Py_bf_getbuffer, __extension__(void *)lg_view_map},
    {0, NULL},
};

static PyType_Spec lg_map_spec = {
    "triton.backends.nvidia.PyCUtensorMap",
    (int)sizeof(lg_map_object),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    lg_map_slots,
};
