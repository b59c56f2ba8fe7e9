/* The driver's types and numbers, as in cuda.h of CUDA 12 and 13, under names of our own so that
 * cuda.h is not needed to compile this file and does not clash with it where it is included. */
enum {
    LG_SUCCESS = 0,
    LG_ERROR_INVALID_VALUE = 1,
    LG_ERROR_OUT_OF_MEMORY = 2,
    LG_ERROR_NOT_INITIALIZED = 3,
    LG_ERROR_STUB_LIBRARY = 34,
    LG_ERROR_INVALID_IMAGE = 200,
    LG_ERROR_INVALID_CONTEXT = 201,
    LG_ERROR_NO_BINARY_FOR_GPU = 209,
    LG_ERROR_SYMBOL_NOT_FOUND = 302,
    LG_ERROR_LIBRARY_NOT_FOUND = 303,
    LG_ERROR_INVALID_HANDLE = 400,
    LG_ERROR_NOT_SUPPORTED = 801
};

enum {
    LG_ATTRIBUTE_COOPERATIVE = 2,
    LG_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    LG_ATTRIBUTE_CLUSTER_POLICY = 5,
    LG_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6,
    LG_ATTRIBUTE_PREFERRED_CLUSTER = 11,
    LG_ATTRIBUTE_SHARED_MEMORY_MODE = 18,
    LG_CLUSTER_POLICY_SPREAD = 1,
    LG_SHARED_MEMORY_OVERSIZED = 3
};

enum {
    LG_DEVICE_CAPABILITY_MAJOR = 75,
    LG_DEVICE_CAPABILITY_MINOR = 76,
    LG_DEVICE_SHARED_OPTIN = 97,
    LG_FUNCTION_STATIC_SHARED = 1,
    LG_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    LG_FUNCTION_NON_PORTABLE_CLUSTER = 14,
    LG_FUNCTION_SHARED_MEMORY_MODE = 17
};

enum {
    LG_POINTER_DEVICE_POINTER = 3,
    LG_POINTER_DEVICE_ORDINAL = 9
};

/* Of a tensor map. */
#define LG_MOST_RANK 5

enum {
    LG_PROMOTE_L2_128 = 2,
    LG_TENSOR_FLOAT16 = 6,
    LG_TENSOR_TFLOAT32 = 11,
    LG_TENSOR_TFLOAT32_FTZ = 12,
    LG_TENSOR_FP4_PADDED = 14
};

/* Every attribute that a launcher sets is one to three words at the start of the value, which is
 * aligned for the addresses that others hold. */
typedef struct lg_launch_attribute {
    uint32_t id;
    char pad[4];
    LG_ALIGNAS(8) uint32_t value[16];
} lg_launch_attribute;

typedef struct lg_launch_config {
    uint32_t grid_x;
    uint32_t grid_y;
    uint32_t grid_z;
    uint32_t block_x;
    uint32_t block_y;
    uint32_t block_z;
    uint32_t shared_bytes;
    void *stream;
    const lg_launch_attribute *attributes;
    uint32_t attribute_count;
} lg_launch_config;

typedef struct lg_tensor_map {
    LG_ALIGNAS(64) uint64_t opaque[16];
} lg_tensor_map;

LG_STATIC_ASSERT(sizeof(lg_launch_attribute) == 72, "as in cuda.h");
LG_STATIC_ASSERT(sizeof(lg_launch_config) == 56, "as in cuda.h");
LG_STATIC_ASSERT(sizeof(lg_tensor_map) == 128, "as in cuda.h");
