/* One source argument, in the signature's words, for messages. */
typedef struct lg_argument {
    const char *place;
    const char *type;
} lg_argument;
