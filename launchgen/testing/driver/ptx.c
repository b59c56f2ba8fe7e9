/* A bounds-checked reader of PTX: its target, and the entries with their parameters and blocks.
 *
 * PTX is text that ends with a zero, and nothing is read behind that.
 */
#include "driver.h"

#include <stdlib.h> /* realloc */
#include <string.h> /* memchr, memcmp, strndup */

enum { MAX_NUMBER = 1 << 24 };

/* A word (`.param`, `sm_90a`, `128`), a string with its quotes, or one character; empty at the
   end of the text. */
struct token {
    const char *data;
    size_t length;
};

static bool is_word(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte && memchr("_.$%", byte, 4));
}

static const char *skip_blanks(const char *at) {
    for (;;) {
        while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
            at++;
        if (at[0] == '/' && at[1] == '/') {
            while (*at && *at != '\n')
                at++;
        } else if (at[0] == '/' && at[1] == '*') {
            for (at += 2; *at && !(at[0] == '*' && at[1] == '/');)
                at++;
            at += *at ? 2 : 0;
        } else {
            return at;
        }
    }
}

static struct token next(const char **at) {
    const char *start = skip_blanks(*at), *end = start;
    while (is_word(*end))
        end++;
    if (end == start && *end) {
        bool is_string = *end++ == '"';
        while (is_string && *end && *end++ != '"')
            continue;
    }
    *at = end;
    return (struct token){start, (size_t)(end - start)};
}

static struct token peek(const char *at) {
    return next(&at);
}

static bool is(struct token token, const char *text) {
    return token.length == strlen(text) && !memcmp(token.data, text, token.length);
}

/* Reads digits from an offset of the token on, and returns the offset behind them; 0: none there,
   or too many. */
static size_t read_digits(struct token token, size_t from, uint32_t *number) {
    size_t at = from;
    *number = 0;
    for (; at < token.length && token.data[at] >= '0' && token.data[at] <= '9'; at++) {
        *number = *number * 10 + (uint32_t)(token.data[at] - '0');
        if (*number > MAX_NUMBER)
            return 0;
    }
    return at > from ? at : 0;
}

static bool read_number(struct token token, uint32_t *number) {
    return read_digits(token, 0, number) == token.length && token.length;
}

/* Reads 8.5 as 8050. */
static bool read_version(struct token token, int *version) {
    uint32_t major = 0, minor = 0;
    size_t dot = read_digits(token, 0, &major);
    if (!dot || dot == token.length || read_digits(token, dot + 1, &minor) != token.length)
        return false;
    *version = major < 100 && minor < 100 ? (int)(major * 1000 + minor * 10) : INT32_MAX;
    return token.data[dot] == '.';
}

static bool read_target(struct lgr_image *image, struct token token) {
    uint32_t capability = 0;
    size_t end = token.length > 3 && !memcmp(token.data, "sm_", 3)
                     ? read_digits(token, 3, &capability)
                     : 0;
    if (!end || token.length - end > 1)
        return false;
    image->capability = (int)capability;
    image->suffix = end < token.length ? token.data[end] : '\0';
    /* There are no families before 10.0. */
    return !image->suffix || image->suffix == 'a' || (image->suffix == 'f' && capability >= 100);
}

/* Bytes of a type like .u64 or .b8; 0 for a token that is none. */
static uint32_t type_width(struct token token) {
    uint32_t bits = 0;
    if (token.length < 3 || token.data[0] != '.' || !memchr("usbf", token.data[1], 4) ||
        read_digits(token, 2, &bits) != token.length)
        return 0;
    return bits / 8;
}

/* Reads what stands between .param and the comma or bracket behind it. */
static bool read_parameter(const char **at, struct lgr_entry *entry) {
    uint32_t width = 0, align = 0, count = 1;
    bool pointee = false;
    for (;;) {
        struct token token = peek(*at);
        if (!token.length || is(token, ",") || is(token, ")"))
            break;
        (void)next(at);
        if (is(token, ".ptr"))
            pointee = true; /* an alignment behind it is that of what the pointer points to */
        else if (is(token, ".align") && !pointee && !read_number(next(at), &align))
            return false;
        else if (is(token, "[") && !read_number(next(at), &count))
            return false;
        else if (type_width(token) && !width)
            width = type_width(token);
    }
    if (!width || !count || width * (uint64_t)count > MAX_NUMBER)
        return false;
    if (align < width)
        align = width;
    uint64_t end = 0;
    if (entry->count) {
        const struct lgr_parameter *last = &entry->parameters[entry->count - 1];
        end = (uint64_t)last->offset + last->size;
    }
    end = (end + align - 1) / align * align;
    return end <= MAX_NUMBER &&
           lgr_set_parameter(entry, (uint32_t)entry->count, (uint32_t)end, width * count);
}

static bool read_parameters(const char **at, struct lgr_entry *entry) {
    if (!is(peek(*at), "("))
        return true;
    struct token token = next(at);
    if (is(peek(*at), ")")) {
        (void)next(at);
        return true;
    }
    do {
        if (!is(next(at), ".param") || !read_parameter(at, entry))
            return false;
        token = next(at);
    } while (is(token, ","));
    return is(token, ")");
}

/* Reads one to three numbers; those left out are 1. */
static bool read_sizes(const char **at, uint32_t sizes[3]) {
    sizes[0] = sizes[1] = sizes[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        if (!read_number(next(at), &sizes[i]) || !sizes[i])
            return false;
        if (!is(peek(*at), ","))
            return true;
        (void)next(at);
    }
    return false;
}

/* Reads an entry up to the bracket of its body. */
static bool read_entry(const char **at, struct lgr_image *image) {
    struct token name = next(at);
    struct lgr_entry *more = realloc(image->entries, (image->count + 1) * sizeof *more);
    if (!more)
        return false;
    image->entries = more;
    struct lgr_entry *entry = &more[image->count];
    *entry = (struct lgr_entry){.name = NULL};
    if (!name.length || !is_word(*name.data))
        return false;
    entry->name = strndup(name.data, name.length);
    if (!entry->name)
        return false;
    image->count++;
    if (!read_parameters(at, entry))
        return false;
    for (;;) {
        struct token token = peek(*at);
        if (!token.length || is(token, "}"))
            return false;
        if (is(token, "{") || is(token, ";"))
            return true;
        (void)next(at);
        if (is(token, ".reqntid") && !read_sizes(at, entry->block))
            return false;
        if (is(token, ".reqnctapercluster") && !read_sizes(at, entry->cluster))
            return false;
    }
}

CUresult lgr_read_ptx(struct lgr_image *image, const char *text) {
    const char *at = text;
    int version = 0;
    size_t depth = 0;
    image->is_text = true;
    if (!is(next(&at), ".version"))
        return CUDA_ERROR_INVALID_IMAGE;
    if (!read_version(next(&at), &version))
        return CUDA_ERROR_INVALID_PTX;
    /* CUDA 12.1 came with PTX 8.1, and so on; from 12.6 to 12.9 this is one too many. */
    if (version > lgr_settings.driver_version - 4000)
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    for (struct token token = next(&at); token.length; token = next(&at)) {
        if (is(token, "{"))
            depth++;
        else if (is(token, "}") && depth-- == 0)
            return CUDA_ERROR_INVALID_PTX;
        else if (!depth && is(token, ".target") && !read_target(image, next(&at)))
            return CUDA_ERROR_INVALID_PTX;
        else if (!depth && is(token, ".entry") && !read_entry(&at, image))
            return CUDA_ERROR_INVALID_PTX;
    }
    return depth || !image->capability ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}
