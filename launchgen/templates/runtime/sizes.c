/* A descriptor that is handed over part by part needs no more than its sizes in 32 bits. */
typedef struct lg_sizes {
    int32_t shape[LG_MOST_RANK];
} lg_sizes;

static inline int lg_need_sizes(const lg_form *form, const lg_descriptor *given, lg_sizes *sizes)
{
    const int status = lg_check_flags(form, given);
    return status != LG_SUCCESS ? status : lg_narrow_shape(form, given, sizes->shape);
}
