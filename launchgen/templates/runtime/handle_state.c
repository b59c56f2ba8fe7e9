/* The caller loads the kernel and hands over its function, so there is nothing to remember. */
typedef struct lg_state {
    void *function;
} lg_state;
