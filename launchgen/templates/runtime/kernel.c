/* One parameter of the kernel as this launcher passes it; `text` names it in messages. */
typedef struct lg_parameter {
    const char *text;
    size_t size;
} lg_parameter;

/* One image of the kernel, and what a launch of it needs besides its arguments. */
typedef struct lg_variant {
    const char *name;
    const char *entry;
    const unsigned char *image;
    uint32_t parameter_count;
    uint32_t threads;
    uint32_t shared;
    int oversized_shared;
    uint32_t cluster[3];
    int grid_counts_clusters;
    uint32_t attribute_count;
    const lg_launch_attribute *attributes;
} lg_variant;

/* Devices of these compute capabilities, 90 for 9.0, run a variant's image. */
typedef struct lg_choice {
    const lg_variant *variant;
    int first;
    int last;
} lg_choice;

/* What all variants share; nothing in it changes. Of the choices, best first, a device gets the
 * first that includes it. */
typedef struct lg_kernel {
    const char *name;
    const lg_variant *variants;
    uint32_t variant_count;
    const lg_parameter *parameters;
    uint32_t choice_count;
    const lg_choice *choices;
    const char *architectures;
} lg_kernel;

/* What the driver launches: a CUfunction or, cast to one, a CUkernel. */
typedef struct lg_loaded {
    void *function;
    const lg_variant *variant;
} lg_loaded;
