/* What a launch needs to know of one kernel; nothing in it changes. */
typedef struct lg_kernel {
    const char *name;
    const char *entry;
    const unsigned char *image;
    uint32_t threads;
    uint32_t shared;
    int oversized_shared;
    uint32_t cluster[3];
    int grid_counts_clusters;
    uint32_t attribute_count;
    const lg_launch_attribute *attributes;
} lg_kernel;
