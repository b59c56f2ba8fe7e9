/* What the arguments are called, in the order of every release. */
enum {
    LG_FILL_ADDRESS,
    LG_FILL_SWIZZLE,
    LG_FILL_ELEMENT_BYTES,
    LG_FILL_TYPE,
    LG_FILL_BLOCK,
    LG_FILL_SHAPE,
    LG_FILL_STRIDES,
    LG_FILL_PADDING,
    LG_FILL_LOWER,
    LG_FILL_UPPER,
    LG_FILL_ELEMENT_STRIDES,
    LG_FILL_DESCRIPTOR,
    LG_FILL_CHANNELS,
    LG_FILL_PIXELS,
    LG_FILL_COUNT
};

typedef struct lg_fill_name {
    const char *part;
    lg_argument argument;
} lg_fill_name;

#define LG_FILL_NAME(name, type) {name, {"argument '" name "'", type}}

static const lg_fill_name lg_fill_names[LG_FILL_COUNT] = {
    LG_FILL_NAME("global_address", "int"),
    LG_FILL_NAME("swizzle", "int"),
    LG_FILL_NAME("elem_size", "int"),
    LG_FILL_NAME("elem_type", "int"),
    LG_FILL_NAME("block_size", "sequence of ints"),
    LG_FILL_NAME("shape", "sequence of ints"),
    LG_FILL_NAME("strides", "sequence of ints"),
    LG_FILL_NAME("padding", "int"),
    LG_FILL_NAME("pixel_box_lower", "sequence of ints"),
    LG_FILL_NAME("pixel_box_upper", "sequence of ints"),
    LG_FILL_NAME("element_strides", "sequence of ints"),
    LG_FILL_NAME("desc_address", "int"),
    LG_FILL_NAME("channels_per_pixel", "int"),
    LG_FILL_NAME("pixels_per_column", "int"),
};

#undef LG_FILL_NAME

static int lg_fill_int(const char *who, int which, PyObject *object, int low, int high, int *value)
{
    return lg_int_from_object(who, &lg_fill_names[which].argument, object, low, high, value);
}

/* Reads `count` numbers, innermost first. */
static int lg_fill_ints(const char *who, int which, PyObject *object, int count, int64_t low,
                        int64_t high, int64_t *values)
{
    const lg_fill_name *name = &lg_fill_names[which];
    int64_t given[LG_MOST_RANK] = {0};
    if (lg_ints_from_object(who, &name->argument, object, name->part, count, given) != 0)
        return -1;
    for (int i = 0; i < count; i++) {
        if (given[i] < low || given[i] > high)
            return lg_complain(PyExc_OverflowError, who, &name->argument,
                               "%s[%d] is %lld, out of range, %lld to %lld", name->part, i,
                               (long long)given[i], (long long)low, (long long)high);
        values[count - 1 - i] = given[i];
    }
    return 0;
}

/* Reads how many numbers a sequence has, which is the tensor's rank. */
static int lg_fill_rank(const char *who, int which, PyObject *object, int least, int *rank)
{
    const lg_argument *argument = &lg_fill_names[which].argument;
    const Py_ssize_t count = PySequence_Check(object) ? PySequence_Size(object) : -1;
    if (count < 0)
        return LG_WRONG_KIND(who, argument, "a sequence of ints", object);
    if (count < least || count > LG_MOST_RANK)
        return lg_complain(PyExc_ValueError, who, argument,
                           "it has %zd elements; a tensor map has a rank of %d to %d", count, least,
                           LG_MOST_RANK);
    *rank = (int)count;
    return 0;
}

/* Reads what the two kinds of map have in common from the first arguments, with the rank known. */
static int lg_fill_tensor(const char *who, PyObject *const *row, lg_map_plan *map)
{
    const int rank = map->rank;
    int64_t shape[LG_MOST_RANK] = {0};
    int64_t strides[LG_MOST_RANK] = {0};
    void *base = NULL;
    if (lg_handle_from_object(who, &lg_fill_names[LG_FILL_ADDRESS].argument, row[LG_FILL_ADDRESS],
                              &base) != 0 ||
        lg_fill_int(who, LG_FILL_SWIZZLE, row[LG_FILL_SWIZZLE], INT32_MIN, INT32_MAX,
                    &map->swizzle) != 0 ||
        lg_fill_int(who, LG_FILL_ELEMENT_BYTES, row[LG_FILL_ELEMENT_BYTES], 1, 16,
                    &map->element_bytes) != 0 ||
        lg_fill_int(who, LG_FILL_TYPE, row[LG_FILL_TYPE], 0, INT32_MAX, &map->type) != 0 ||
        lg_fill_ints(who, LG_FILL_SHAPE, row[LG_FILL_SHAPE], rank, INT64_MIN, INT64_MAX,
                     shape) != 0 ||
        lg_fill_ints(who, LG_FILL_STRIDES, row[LG_FILL_STRIDES], rank, INT64_MIN, INT64_MAX,
                     strides) != 0)
        return -1;
    if (strides[0] != 1)
        return lg_complain(PyExc_ValueError, who, &lg_fill_names[LG_FILL_STRIDES].argument,
                           "strides[%d] is %lld, but the last is 1", rank - 1,
                           (long long)strides[0]);
    map->base = (uint64_t)(uintptr_t)base;
    for (int i = 0; i < rank; i++) {
        map->sizes[i] = (uint64_t)shape[i];
        map->element_strides[i] = 1;
    }
    for (int i = 0; i + 1 < rank; i++)
        map->strides[i] = lg_stride_bytes(strides[i + 1], map->element_bytes);
    return 0;
}

static int lg_fill_box(const char *who, PyObject *object, int count, lg_map_plan *map)
{
    int64_t box[LG_MOST_RANK] = {0};
    if (lg_fill_ints(who, LG_FILL_BLOCK, object, count, 0, UINT32_MAX, box) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        map->box[i] = (uint32_t)box[i];
    return 0;
}

static int lg_fill_padding(const char *who, PyObject *object, lg_map_plan *map)
{
    return lg_fill_int(who, LG_FILL_PADDING, object, 0, 1, &map->fill);
}

static int lg_fill(const char *who, const lg_map_plan *map, lg_tensor_map *made)
{
    int status = lg_check_map(who, map);
    if (status == LG_SUCCESS)
        status = lg_need_driver(who);
    return status == LG_SUCCESS ? lg_encode_map(who, who, map, NULL, made) : status;
}

/* Returns the map as an object, or writes it to `target` where that is given. */
static PyObject *lg_finish_map(PyObject *module, const char *who, const lg_map_plan *map,
                               void *target)
{
    PyTypeObject *type = (PyTypeObject *)lg_module_of(module)->map_type;
    int status = LG_SUCCESS;
    lg_tensor_map made = {{0}};
    Py_BEGIN_ALLOW_THREADS
    status = lg_fill(who, map, &made);
    Py_END_ALLOW_THREADS
    if (status != LG_SUCCESS)
        return lg_answer(module, status, NULL);
    if (target != NULL) {
        memcpy(target, &made, sizeof made);
        return Py_NewRef(Py_None);
    }
    PyObject *object = lg_alloc_map(type, 0);
    if (object != NULL)
        ((lg_map_object *)(void *)object)->map = made;
    return object;
}

static int lg_read_tiled(const char *who, PyObject *const *row, lg_map_plan *map)
{
    memset(map, 0, sizeof *map);
    if (lg_fill_rank(who, LG_FILL_BLOCK, row[LG_FILL_BLOCK], 1, &map->rank) != 0 ||
        lg_fill_tensor(who, row, map) != 0)
        return -1;
    return lg_fill_box(who, row[LG_FILL_BLOCK], map->rank, map);
}

static PyObject *lg_fill_tiled(PyObject *module, const char *who, PyObject *const *arguments)
{
    lg_map_plan map;
    if (lg_read_tiled(who, arguments, &map) != 0 ||
        lg_fill_padding(who, arguments[LG_FILL_PADDING], &map) != 0)
        return NULL;
    return lg_finish_map(module, who, &map, NULL);
}

/* Triton 3.4 has the map written to memory of the caller. */
static PyObject *lg_fill_in_place(PyObject *module, const char *who, PyObject *const *arguments)
{
    const lg_argument *argument = &lg_fill_names[LG_FILL_DESCRIPTOR].argument;
    lg_map_plan map;
    void *target = NULL;
    if (lg_handle_from_object(who, argument, arguments[0], &target) != 0)
        return NULL;
    if (target == NULL || (uintptr_t)target % 64 != 0) {
        (void)lg_complain(PyExc_ValueError, who, argument,
                          "%p is no memory for a tensor map, which is aligned to 64 bytes",
                          target);
        return NULL;
    }
    if (lg_read_tiled(who, arguments + 1, &map) != 0)
        return NULL;
    return lg_finish_map(module, who, &map, target);
}

/* Both forms have eight arguments: 3.4's end with the strides, the later ones' with an int. */
static PyObject *lg_fill_tma_descriptor(PyObject *module, PyObject *const *arguments,
                                        Py_ssize_t given)
{
    static const char *const who = "fill_tma_descriptor";
    if (lg_expect(who, given, 8) != 0)
        return NULL;
    if (PyIndex_Check(arguments[LG_FILL_PADDING]))
        return lg_fill_tiled(module, who, arguments);
    return lg_fill_in_place(module, who, arguments);
}

static PyObject *lg_fill_tma_descriptor_tiled(PyObject *module, PyObject *const *arguments,
                                              Py_ssize_t given)
{
    static const char *const who = "fill_tma_descriptor_tiled";
    return lg_expect(who, given, 8) == 0 ? lg_fill_tiled(module, who, arguments) : NULL;
}

static int lg_fill_corners(const char *who, PyObject *const *row, lg_map_plan *map)
{
    const int count = map->rank - 2;
    int64_t lower[LG_MOST_RANK] = {0};
    int64_t upper[LG_MOST_RANK] = {0};
    if (lg_fill_ints(who, LG_FILL_LOWER, row[LG_FILL_LOWER], count, INT32_MIN, INT32_MAX,
                     lower) != 0 ||
        lg_fill_ints(who, LG_FILL_UPPER, row[LG_FILL_UPPER], count, INT32_MIN, INT32_MAX,
                     upper) != 0)
        return -1;
    for (int i = 0; i < count; i++) {
        map->lower[i] = (int32_t)lower[i];
        map->upper[i] = (int32_t)upper[i];
    }
    return 0;
}

/* Triton 3.7 has the two sizes of the block as arguments of their own, 3.8 in the block. */
static int lg_fill_im2col_box(const char *who, PyObject *const *row, Py_ssize_t given,
                              lg_map_plan *map)
{
    int channels = 0;
    int pixels = 0;
    if (given == 11)
        return lg_fill_box(who, row[LG_FILL_BLOCK], 2, map);
    if (lg_fill_int(who, LG_FILL_CHANNELS, row[10], 0, INT32_MAX, &channels) != 0 ||
        lg_fill_int(who, LG_FILL_PIXELS, row[11], 0, INT32_MAX, &pixels) != 0)
        return -1;
    map->box[0] = (uint32_t)channels;
    map->box[1] = (uint32_t)pixels;
    return 0;
}

static PyObject *lg_fill_tma_descriptor_im2col(PyObject *module, PyObject *const *arguments,
                                               Py_ssize_t given)
{
    static const char *const who = "fill_tma_descriptor_im2col";
    int64_t steps[LG_MOST_RANK] = {0};
    lg_map_plan map;
    if (lg_expect(who, given, given == 13 ? 13 : 11) != 0)
        return NULL;
    memset(&map, 0, sizeof map);
    map.is_im2col = 1;
    if (lg_fill_rank(who, LG_FILL_SHAPE, arguments[LG_FILL_SHAPE], 3, &map.rank) != 0 ||
        lg_fill_tensor(who, arguments, &map) != 0 ||
        lg_fill_padding(who, arguments[LG_FILL_PADDING], &map) != 0 ||
        lg_fill_corners(who, arguments, &map) != 0 ||
        lg_fill_im2col_box(who, arguments, given, &map) != 0 ||
        lg_fill_ints(who, LG_FILL_ELEMENT_STRIDES, arguments[given - 1], map.rank, 0, UINT32_MAX,
                     steps) != 0)
        return NULL;
    for (int i = 0; i < map.rank; i++)
        map.element_strides[i] = (uint32_t)steps[i];
    return lg_finish_map(module, who, &map, NULL);
}
