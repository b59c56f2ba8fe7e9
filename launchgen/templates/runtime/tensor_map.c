/* The last descriptor of an argument and the map made of it, for each thread on its own: to compare
 * a few words takes a tenth of the encoder's time. */
typedef struct lg_filled {
    int is_filled;
    int32_t shape[LG_MOST_RANK];
    lg_descriptor given;
    lg_tensor_map map;
} lg_filled;

static inline int lg_is_filled(const lg_filled *filled, const lg_form *form,
                               const lg_descriptor *given)
{
    const lg_descriptor *last = &filled->given;
    if (!filled->is_filled || last->base != given->base ||
        last->nan_padding != given->nan_padding || last->round_tf32 != given->round_tf32)
        return 0;
    for (int i = 0; i < form->rank; i++) {
        if (last->shape[i] != given->shape[i] || last->strides[i] != given->strides[i])
            return 0;
        if (form->is_im2col && (last->lower[i] != given->lower[i] ||
                                last->upper[i] != given->upper[i] ||
                                last->element_strides[i] != given->element_strides[i]))
            return 0;
    }
    return 1;
}

static void lg_plan_map(const lg_form *form, const lg_descriptor *given, lg_map_plan *map)
{
    const int last = form->rank - 1;
    map->base = given->base;
    map->rank = form->rank;
    map->is_im2col = form->is_im2col;
    map->type = given->round_tf32 ? LG_TENSOR_TFLOAT32 : form->type;
    map->element_bytes = form->element_bytes;
    map->swizzle = form->swizzle;
    map->fill = given->nan_padding;
    for (int i = 0; i <= last; i++) {
        const uint32_t step = form->is_im2col ? given->element_strides[last - i] : 1;
        map->sizes[i] = (uint64_t)given->shape[last - i];
        map->box[i] = form->box[i];
        map->element_strides[i] = step == 0 ? 1 : step;
    }
    /* What is no size stays none: the rules name it. */
    if (form->fp4_padded && map->sizes[0] <= UINT64_C(1) << 32)
        map->sizes[0] *= 2;
    for (int i = 0; i < last; i++)
        map->strides[i] = lg_stride_bytes(given->strides[last - 1 - i], form->element_bytes);
    for (int i = 0; i + 2 <= last; i++) {
        map->lower[i] = given->lower[last - 2 - i];
        map->upper[i] = given->upper[last - 2 - i];
    }
}

static int lg_fill_map(const lg_form *form, const lg_descriptor *given, void *stream,
                       lg_filled *filled)
{
    const int last = form->rank - 1;
    lg_map_plan map;
    memset(&map, 0, sizeof map);
    filled->is_filled = 0;
    int status = lg_check_flags(form, given);
    if (status == LG_SUCCESS)
        status = lg_narrow_shape(form, given, filled->shape);
    if (status == LG_SUCCESS && given->strides[last] != 1)
        status = lg_refuse(LG_ERROR_INVALID_VALUE, "%s: strides[%d] is %lld, but the last is 1",
                           form->who, last, (long long)given->strides[last]);
    if (status == LG_SUCCESS) {
        lg_plan_map(form, given, &map);
        status = lg_check_map(form->who, &map);
    }
    if (status == LG_SUCCESS)
        status = lg_need_driver(form->kernel);
    if (status == LG_SUCCESS)
        status = lg_encode_map(form->kernel, form->who, &map, stream, &filled->map);
    if (status != LG_SUCCESS)
        return status;
    filled->given = *given;
    filled->is_filled = 1;
    return LG_SUCCESS;
}

/* Leaves the map of a descriptor in `filled`, made anew where it differs from the last one. */
static inline int lg_need_map(const lg_form *form, const lg_descriptor *given, void *stream,
                              lg_filled *filled)
{
    if (LG_UNLIKELY(!lg_is_filled(filled, form, given)))
        return lg_fill_map(form, given, stream, filled);
    return LG_SUCCESS;
}
