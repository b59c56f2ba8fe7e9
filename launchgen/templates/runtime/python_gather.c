/* Puts arguments given by position and by keyword into one row; constants may be left out. */
typedef struct lg_keyword {
    const char *name;
    int optional;
} lg_keyword;

LG_COLD
static int lg_find_keyword(const lg_keyword *keywords, Py_ssize_t count, PyObject *name)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(name, keywords[i].name) == 0)
            return (int)i;
    }
    return -1;
}

LG_COLD
static int lg_gather(const char *kernel, const lg_keyword *keywords, Py_ssize_t count,
                     PyObject *const *arguments, Py_ssize_t given, PyObject *names,
                     PyObject **row)
{
    if (given > count) {
        PyErr_Format(PyExc_TypeError, "%s: launch() takes at most %zd arguments, got %zd", kernel,
                     count, given);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        row[i] = i < given ? arguments[i] : NULL;
    const Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int found = lg_find_keyword(keywords, count, name);
        if (found < 0) {
            PyErr_Format(PyExc_TypeError, "%s: launch() has no argument named '%U'", kernel, name);
            return -1;
        }
        if (row[found] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s: launch() got argument '%U' twice", kernel, name);
            return -1;
        }
        row[found] = arguments[given + i];
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (row[i] != NULL)
            continue;
        if (!keywords[i].optional) {
            PyErr_Format(PyExc_TypeError, "%s: launch() misses argument '%s'", kernel,
                         keywords[i].name);
            return -1;
        }
        row[i] = Py_None; /* of a constant, whose value is not looked at */
    }
    return 0;
}
