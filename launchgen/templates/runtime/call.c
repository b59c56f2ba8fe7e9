/* A launch whose metadata comes with the call: warps, clusters, shared memory and attributes in
 * place of what a variant has them from when it is compiled. */
enum { LG_MOST_ATTRIBUTES = 5 };

typedef struct lg_call {
    lg_kernel kernel;
    lg_variant variant;
    lg_launch_attribute attributes[LG_MOST_ATTRIBUTES];
} lg_call;

typedef struct lg_request {
    uint32_t num_warps;
    uint32_t shared;
    uint32_t cluster[3];
    int cooperative;
    int pdl;
    int oversized_shared;
} lg_request;

static void lg_add_attribute(lg_call *call, uint32_t id, uint32_t x, uint32_t y, uint32_t z)
{
    lg_launch_attribute *attribute = &call->attributes[call->variant.attribute_count++];
    memset(attribute, 0, sizeof *attribute);
    attribute->id = id;
    attribute->value[0] = x;
    attribute->value[1] = y;
    attribute->value[2] = z;
}

/* The attributes stand in the order of Triton's own launchers. A call points to itself: it stays
 * where it is made. */
static void lg_make_call(lg_call *call, const lg_kernel *model, const lg_request *request)
{
    const uint32_t *cluster = request->cluster;
    call->kernel = *model;
    call->kernel.variants = &call->variant;
    call->variant = *model->variants;
    /* The model has one warp. */
    call->variant.threads = model->variants->threads * request->num_warps;
    call->variant.shared = request->shared;
    call->variant.grid_counts_clusters = 1;
    call->variant.attributes = call->attributes;
    call->variant.attribute_count = 0;
    memcpy(call->variant.cluster, cluster, sizeof call->variant.cluster);
    if (request->oversized_shared)
        lg_add_attribute(call, LG_ATTRIBUTE_SHARED_MEMORY_MODE, LG_SHARED_MEMORY_OVERSIZED, 0, 0);
    if (request->pdl)
        lg_add_attribute(call, LG_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION, 1, 0, 0);
    if (request->cooperative)
        lg_add_attribute(call, LG_ATTRIBUTE_COOPERATIVE, 1, 0, 0);
    if (cluster[0] != 1 || cluster[1] != 1 || cluster[2] != 1) {
        lg_add_attribute(call, LG_ATTRIBUTE_CLUSTER_DIMENSION, cluster[0], cluster[1], cluster[2]);
        lg_add_attribute(call, LG_ATTRIBUTE_CLUSTER_POLICY, LG_CLUSTER_POLICY_SPREAD, 0, 0);
    }
}
