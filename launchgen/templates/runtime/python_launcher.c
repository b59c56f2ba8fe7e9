#include <structmember.h> /* PyMemberDef */

/* What stands for Triton's launcher object of one kernel. `described` is the metadata that `call`
 * was made from, once for all: a kernel has one, and is loaded as long as its launcher lives. */
typedef struct lg_launcher {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *module;
    PyObject *described;
    PyObject *allocators[2];
    unsigned long long scratch[4];
    unsigned long long num_ctas;
    int cooperative;
    int pdl;
    lg_known known;
    lg_call call;
} lg_launcher;

static int lg_describe_call(const lg_launcher *self, const lg_kernel *model, PyObject *described,
                            int knows_oversized, lg_request *request)
{
    memset(request, 0, sizeof *request);
    request->cooperative = self->cooperative;
    request->pdl = self->pdl;
    return lg_request_from_object(model->name, described, knows_oversized, request);
}

/* The call as the metadata describes it: the one that is kept, or one made in `other`. */
static const lg_call *lg_need_call(lg_launcher *self, const lg_kernel *model, PyObject *described,
                                   int knows_oversized, lg_call *other)
{
    lg_request request;
    PyObject *known = __atomic_load_n(&self->described, __ATOMIC_ACQUIRE);
    if (known == described)
        return &self->call;
    /* Numbers may run code of their own, which may launch: only what comes after them is locked. */
    if (lg_describe_call(self, model, described, knows_oversized, &request) != 0)
        return NULL;
    LG_BEGIN_LOCKED((PyObject *)self)
    if (self->described == NULL) {
        lg_make_call(&self->call, model, &request);
        __atomic_store_n(&self->described, Py_NewRef(described), __ATOMIC_RELEASE);
    }
    known = self->described;
    LG_END_LOCKED();
    if (known == described)
        return &self->call;
    lg_make_call(other, model, &request);
    return other;
}

LG_COLD
static int lg_traverse_launcher(PyObject *object, visitproc visit, void *arg)
{
    lg_launcher *self = (lg_launcher *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->module);
    Py_VISIT(self->described);
    Py_VISIT(self->allocators[0]);
    Py_VISIT(self->allocators[1]);
    return 0;
}

/* The metadata stays until the end: a launch under way may be using what was made of it. */
LG_COLD
static int lg_clear_launcher(PyObject *object)
{
    lg_launcher *self = (lg_launcher *)object;
    Py_CLEAR(self->allocators[0]);
    Py_CLEAR(self->allocators[1]);
    return 0;
}

LG_COLD
static void lg_free_launcher(PyObject *object)
{
    lg_launcher *self = (lg_launcher *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    (void)lg_clear_launcher(object);
    Py_CLEAR(self->described);
    Py_CLEAR(self->module);
    type->tp_free(object);
    Py_DECREF(type);
}

/* Launcher(num_ctas, cooperative, pdl, global size, its alignment, profile size, its alignment,
 * global allocator, profile allocator); sizes are in bytes for one CTA. */
LG_COLD
static PyObject *lg_new_launcher(PyTypeObject *type, PyObject *arguments, PyObject *names,
                                 vectorcallfunc vectorcall)
{
    PyObject *allocators[2] = {NULL, NULL};
    unsigned long long num_ctas = 0;
    unsigned long long scratch[4] = {0, 0, 0, 0};
    int cooperative = 0;
    int pdl = 0;
    if (names != NULL && PyDict_GET_SIZE(names) != 0) {
        PyErr_SetString(PyExc_TypeError, "Launcher() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "KppKKKKOO:Launcher", &num_ctas, &cooperative, &pdl,
                          &scratch[0], &scratch[1], &scratch[2], &scratch[3], &allocators[0],
                          &allocators[1]))
        return NULL;
    lg_launcher *self = (lg_launcher *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = vectorcall;
    self->module = Py_XNewRef(PyType_GetModule(type));
    self->allocators[0] = Py_NewRef(allocators[0]);
    self->allocators[1] = Py_NewRef(allocators[1]);
    self->num_ctas = num_ctas;
    self->cooperative = cooperative;
    self->pdl = pdl;
    memcpy(self->scratch, scratch, sizeof scratch);
    return (PyObject *)self;
}
