// Kernels with every kind of parameter that nvcc passes, for tests of the readers.

struct Pair {
    int first[6];
    void *second;
};

struct Odd {
    char bytes[3];
};

struct alignas(16) Wide {
    double values[4];
};

template <typename T>
__device__ __noinline__ T weigh(T a, T b) {
    return a * b + clock();
}

extern "C" __global__ void no_parameters() {}

extern "C" __global__ void mixed(const int *__restrict__ read, void **written, long count,
                                 Pair pair, float scale, void (*call)(int),
                                 cudaTextureObject_t texture, cudaSurfaceObject_t surface) {
    if (scale > 0)
        written[0] = (void *)(read + count + pair.first[0] + texture + surface);
}

extern "C" __global__ void packed(bool flag, short number, Odd odd, Wide wide, char last,
                                  unsigned long long *out) {
    *out = flag + number + odd.bytes[1] + (unsigned long long)wide.values[2] + last;
}

extern "C" __global__ void only_numbers(unsigned long long address, double value) {
    *(double *)address = value;
}

extern "C" __global__ void __launch_bounds__(256) bounded(int *out) {
    *out = weigh(2, 3);
}

template <typename T>
__global__ void typed(T *out, T value) {
    *out = weigh(value, *out);
}
template __global__ void typed<float>(float *, float);
template __global__ void typed<short>(short *, short);

static __global__ void hidden(int *out) {
    *out = weigh(*out, 5);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) in_clusters(int *out) {
    *out = 1;
}

extern "C" __global__ void __block_size__((16, 8, 2)) in_blocks(int *out) {
    *out = 1;
}

extern "C" __global__ void __block_size__((64, 1, 1), (1, 2, 2)) in_both(int *out) {
    *out = 1;
}
#endif

void launch(int *out) {
    hidden<<<1, 1>>>(out);
}
