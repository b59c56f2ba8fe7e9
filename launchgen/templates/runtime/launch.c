/* Grid sizes count blocks here, in 64 bits: no product of a caller's numbers can wrap. */
typedef struct lg_grid {
    unsigned long long x;
    unsigned long long y;
    unsigned long long z;
} lg_grid;

static inline int lg_is_empty(uint32_t grid_x, uint32_t grid_y, uint32_t grid_z)
{
    return grid_x == 0 || grid_y == 0 || grid_z == 0;
}

LG_COLD
static int lg_refuse_grid(const lg_variant *variant, lg_grid grid, const char *problem,
                          uint32_t x, uint32_t y, uint32_t z)
{
    return lg_refuse(LG_ERROR_INVALID_VALUE,
                     "%s: a grid of %llu x %llu x %llu blocks is %s %u x %u x %u",
                     variant->name, grid.x, grid.y, grid.z, problem, x, y, z);
}

LG_COLD
static int lg_launch_failed(const lg_variant *variant, int status, const lg_launch_config *config)
{
    const int plain = lg_cuda.launch == lg_launch_without_attributes;
    char where[32] = "";
    char detail[192];
    int device = 0;
    if (lg_cuda.context_device(&device) == LG_SUCCESS)
        (void)snprintf(where, sizeof where, ", device %d", device);
    (void)snprintf(detail, sizeof detail,
                   "; grid %ux%ux%u, block %ux%ux%u, shared %u bytes%s", config->grid_x,
                   config->grid_y, config->grid_z, config->block_x, config->block_y,
                   config->block_z, config->shared_bytes, where);
    if (plain && config->attribute_count != 0)
        return lg_refuse(status,
                         "%s: the driver has no cuLaunchKernelEx and is too old for this "
                         "kernel's launch attributes%s",
                         variant->name, detail);
    return lg_driver_failed(variant->name, plain ? "cuLaunchKernel" : "cuLaunchKernelEx", status,
                            detail);
}

/* Turns a grid into blocks, and refuses one that no device launches. A cluster is an attribute:
 * without any there is nothing to divide by. */
static inline int lg_count_blocks(const lg_variant *variant, lg_grid *grid)
{
    if (variant->grid_counts_clusters) {
        grid->x *= variant->cluster[0];
        grid->y *= variant->cluster[1];
        grid->z *= variant->cluster[2];
    } else if (variant->attribute_count != 0 &&
               LG_UNLIKELY(grid->x % variant->cluster[0] != 0 ||
                           grid->y % variant->cluster[1] != 0 ||
                           grid->z % variant->cluster[2] != 0)) {
        return lg_refuse_grid(variant, *grid, "no multiple of the cluster,", variant->cluster[0],
                              variant->cluster[1], variant->cluster[2]);
    }
    if (LG_UNLIKELY(grid->x > LG_GRID_X || grid->y > LG_GRID_Y || grid->z > LG_GRID_Z))
        return lg_refuse_grid(variant, *grid, "too large; the limits are", LG_GRID_X, LG_GRID_Y,
                              LG_GRID_Z);
    return LG_SUCCESS;
}

/* Some drivers fail a launch with programmatic serialization while its stream is captured into a
 * graph. Define LG_CAPTURE_WITHOUT_PDL to leave this attribute out of such launches: what it allows
 * is a head start, so that nothing but time is lost. */
#ifdef LG_CAPTURE_WITHOUT_PDL
enum { LG_MOST_LEFT = 8 }; /* more than there are kinds of attributes here */

static void lg_leave_out_pdl(lg_launch_config *config, lg_launch_attribute left[LG_MOST_LEFT])
{
    int capturing = 0;
    uint32_t count = 0;
    if (config->attribute_count == 0 || config->attribute_count > LG_MOST_LEFT ||
        lg_cuda.stream_capturing == NULL)
        return;
    /* A stream that cannot be asked is none that a launch goes to: that says why. */
    if (lg_cuda.stream_capturing(config->stream, &capturing) != LG_SUCCESS || !capturing)
        return;
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        if (config->attributes[i].id != LG_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION)
            left[count++] = config->attributes[i];
    }
    config->attributes = left;
    config->attribute_count = count;
}
#endif

/* An empty grid is a success that launches nothing, whatever the other sizes are. */
static inline int lg_launch_grid(lg_state *state, const lg_kernel *kernel, void *stream,
                                 uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, void **slots)
{
    const lg_variant *variant = kernel->variants;
    const lg_loaded *loaded = NULL;
    lg_grid grid = {grid_x, grid_y, grid_z};
    int status = LG_SUCCESS;
    if (LG_UNLIKELY(lg_is_empty(grid_x, grid_y, grid_z)))
        return LG_SUCCESS;
    /* Of several images the device decides, and each counts in its own way; a single one is known
     * before anything reaches the driver. */
    if (kernel->variant_count == 1)
        status = lg_count_blocks(variant, &grid);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    status = lg_need_loaded(state, kernel, stream, &loaded);
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return status;
    if (kernel->variant_count != 1) {
        variant = loaded->variant;
        status = lg_count_blocks(variant, &grid);
        if (LG_UNLIKELY(status != LG_SUCCESS))
            return status;
    }
    lg_launch_config config = {
        (uint32_t)grid.x,   (uint32_t)grid.y, (uint32_t)grid.z,
        variant->threads,   1,                1,
        variant->shared,    stream,           variant->attributes,
        variant->attribute_count,
    };
#ifdef LG_CAPTURE_WITHOUT_PDL
    lg_launch_attribute left[LG_MOST_LEFT];
    lg_leave_out_pdl(&config, left);
#endif
    status = lg_cuda.launch(&config, loaded->function, slots, NULL);
    if (LG_UNLIKELY(status == LG_ERROR_INVALID_CONTEXT)) {
        /* A thread without a context: only now is it worth asking for one. */
        void *context = NULL;
        status = lg_need_context(kernel->name, stream, &context);
        if (status != LG_SUCCESS)
            return status;
        status = lg_cuda.launch(&config, loaded->function, slots, NULL);
    }
    if (LG_UNLIKELY(status != LG_SUCCESS))
        return lg_launch_failed(variant, status, &config);
    return LG_SUCCESS;
}
