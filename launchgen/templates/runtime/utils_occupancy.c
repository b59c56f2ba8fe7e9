/* Limits of the function are raised where the question needs it, and never lowered: launches rely
 * on what was set for them. */
static int lg_count_clusters(const char *who, void *handle, int shared, const uint32_t cluster[3],
                             int *count)
{
    const lg_function function = {handle, 0, 0};
    lg_launch_attribute attribute;
    lg_launch_config config;
    lg_variant variant;
    int most = 0;
    int status = lg_need_some_context(who);
    if (status != LG_SUCCESS)
        return status;
    if (lg_utils.active_clusters == NULL)
        return lg_refuse(LG_ERROR_SYMBOL_NOT_FOUND,
                         "%s: the driver is older than CUDA 11.8 and counts no clusters", who);
    memset(&variant, 0, sizeof variant);
    variant.name = who;
    status = lg_get_attribute(&variant, &function, LG_FUNCTION_MAX_DYNAMIC_SHARED, &most);
    if (status == LG_SUCCESS && most < shared)
        status = lg_set_attribute(&variant, &function, LG_FUNCTION_MAX_DYNAMIC_SHARED, shared,
                                  "; raising the limit of dynamic shared memory");
    if (status == LG_SUCCESS &&
        (uint64_t)cluster[0] * cluster[1] * cluster[2] > LG_PORTABLE_CLUSTER)
        status = lg_set_attribute(&variant, &function, LG_FUNCTION_NON_PORTABLE_CLUSTER, 1,
                                  "; allowing a non-portable cluster size");
    if (status != LG_SUCCESS)
        return status;
    memset(&attribute, 0, sizeof attribute);
    memset(&config, 0, sizeof config);
    attribute.id = LG_ATTRIBUTE_CLUSTER_DIMENSION;
    memcpy(attribute.value, cluster, 3 * sizeof cluster[0]);
    config.grid_x = cluster[0];
    config.grid_y = cluster[1];
    config.grid_z = cluster[2];
    /* Triton asks for blocks of this size, whatever the kernel's are. */
    config.block_x = 128;
    config.block_y = 1;
    config.block_z = 1;
    config.shared_bytes = (uint32_t)shared;
    config.attributes = &attribute;
    config.attribute_count = 1;
    status = lg_utils.active_clusters(count, handle, &config);
    return status == LG_SUCCESS
               ? status
               : lg_driver_failed(who, "cuOccupancyMaxActiveClusters", status, "");
}

/* Up to Triton 3.5 a cluster has three sizes, then one. */
static PyObject *lg_max_active_clusters(PyObject *module, PyObject *const *arguments,
                                        Py_ssize_t given)
{
    static const char *const who = "cuOccupancyMaxActiveClusters";
    static const lg_argument names[] = {
        {"argument 'function'", "int"},
        {"argument 'shared'", "int"},
        {"argument 'cluster'", "int"},
    };
    void *function = NULL;
    int shared = 0;
    int sizes[3] = {1, 1, 1};
    uint32_t cluster[3];
    int count = 0;
    int status = LG_SUCCESS;
    if (lg_expect(who, given, given == 5 ? 5 : 3) != 0 ||
        lg_handle_from_object(who, &names[0], arguments[0], &function) != 0 ||
        lg_int_from_object(who, &names[1], arguments[1], 0, INT32_MAX, &shared) != 0)
        return NULL;
    for (int i = 0; i + 2 < given; i++) {
        if (lg_int_from_object(who, &names[2], arguments[i + 2], 1, UINT16_MAX, &sizes[i]) != 0)
            return NULL;
    }
    for (int i = 0; i < 3; i++)
        cluster[i] = (uint32_t)sizes[i];
    Py_BEGIN_ALLOW_THREADS
    status = lg_count_clusters(who, function, shared, cluster, &count);
    Py_END_ALLOW_THREADS
    return lg_answer(module, status, PyLong_FromLong(count));
}
