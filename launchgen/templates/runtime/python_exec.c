/* What the module is made of beside its functions; the rest of the file says it. */
typedef struct lg_description {
    const char *module;
    const char *error;
    const char *const *arguments;
    Py_ssize_t argument_count;
    const char *const *images;
    Py_ssize_t image_count;
    const lg_variant *variant;
    unsigned int num_warps;
    unsigned int num_ctas;
    int cooperative;
    int pdl;
    unsigned long long scratch[4];
    const char *triton_version;
} lg_description;

LG_COLD
static PyObject *lg_make_texts(const char *const *texts, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *text = PyUnicode_FromString(texts[i]);
        if (text == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, text);
    }
    return tuple;
}

LG_COLD
static PyObject *lg_make_signature(const lg_description *description)
{
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *parts = lg_make_texts(description->arguments, description->argument_count);
    PyObject *text = NULL;
    if (comma != NULL && parts != NULL)
        text = PyUnicode_Join(comma, parts);
    Py_XDECREF(comma);
    Py_XDECREF(parts);
    return text;
}

LG_COLD
static PyObject *lg_make_metadata(const lg_description *description)
{
    const lg_variant *variant = description->variant;
    PyObject *fields = Py_BuildValue(
        "{s:s,s:N,s:I,s:I,s:(III),s:I,s:I,s:N,s:N,s:K,s:K,s:K,s:K,s:z}", "name", variant->entry,
        "images", lg_make_texts(description->images, description->image_count), "num_warps",
        description->num_warps, "num_ctas", description->num_ctas, "cluster", variant->cluster[0],
        variant->cluster[1], variant->cluster[2], "threads", variant->threads, "shared",
        variant->shared, "launch_cooperative_grid", PyBool_FromLong(description->cooperative),
        "launch_pdl", PyBool_FromLong(description->pdl), "global_scratch_size",
        description->scratch[0], "global_scratch_align", description->scratch[1],
        "profile_scratch_size", description->scratch[2], "profile_scratch_align",
        description->scratch[3], "triton_version", description->triton_version);
    if (fields == NULL)
        return NULL;
    PyObject *proxy = PyDictProxy_New(fields);
    Py_DECREF(fields);
    return proxy;
}

LG_COLD
static int lg_make_module(PyObject *module, const lg_description *description)
{
    if (lg_start_module(module, description->error) != 0 ||
        lg_add(module, "signature", lg_make_signature(description)) != 0)
        return -1;
    return lg_add(module, "metadata", lg_make_metadata(description));
}
