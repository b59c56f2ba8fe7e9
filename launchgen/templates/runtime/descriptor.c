/* A tensor descriptor as a caller describes it: sizes outermost first, strides in elements. Corners
 * and element strides are im2col's; element strides of 0 stand for 1. */
typedef struct lg_descriptor {
    uint64_t base;
    int64_t shape[LG_MOST_RANK];
    int64_t strides[LG_MOST_RANK];
    int32_t lower[LG_MOST_RANK];
    int32_t upper[LG_MOST_RANK];
    uint32_t element_strides[LG_MOST_RANK];
    uint8_t nan_padding;
    uint8_t round_tf32;
} lg_descriptor;

/* How the kernel takes a descriptor. `who` begins the text of what is wrong with it, `kernel` that
 * of everything else. All that follows `double_fp4` is for a tensor map, in the encoder's numbers,
 * the box innermost first. */
typedef struct lg_form {
    const char *kernel;
    const char *who;
    int rank;
    int takes_nan;
    int takes_tf32;
    int double_fp4;
    int is_im2col;
    int type;
    int element_bytes;
    int swizzle;
    int fp4_padded;
    uint32_t box[LG_MOST_RANK];
} lg_form;

/* The kernel takes each size in 32 bits too. */
static int lg_narrow_shape(const lg_form *form, const lg_descriptor *given, int32_t *shape)
{
    for (int i = 0; i < form->rank; i++) {
        const int32_t units = form->double_fp4 && i == form->rank - 1 ? 2 : 1;
        if (LG_UNLIKELY(given->shape[i] < INT32_MIN / units ||
                        given->shape[i] > INT32_MAX / units))
            return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: shape[%d] is %lld, beyond 32 bits",
                             form->who, i, (long long)given->shape[i]);
        shape[i] = (int32_t)given->shape[i] * units;
    }
    return LG_SUCCESS;
}

/* What the kernel was not compiled to do it must not be asked for. */
static inline int lg_check_flags(const lg_form *form, const lg_descriptor *given)
{
    if (LG_UNLIKELY(given->nan_padding > form->takes_nan))
        return lg_refuse(LG_ERROR_INVALID_VALUE, "%s: this kernel's release pads with zeros only",
                         form->who);
    if (LG_UNLIKELY(given->round_tf32 > form->takes_tf32))
        return lg_refuse(LG_ERROR_INVALID_VALUE,
                         "%s: only kernels of fp32 from Triton 3.7 on round to tf32", form->who);
    return LG_SUCCESS;
}
