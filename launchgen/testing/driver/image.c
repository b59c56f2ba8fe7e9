/* A bounds-checked reader of cubins: entries and, for each, its parameters and its block.
 *
 * The driver's interface gives no length, so the image's own header does: nothing is read past the
 * end of its section and program headers, which compilers write last.
 */
#include "driver.h"

#include <stdlib.h> /* calloc, free */
#include <string.h> /* memcpy, strcmp */

enum {
    MACHINE_CUDA = 190,
    OS_ABI_OLD = 51,
    OS_ABI_NEW = 65,
    SECTION_SYMBOLS = 2,
    SECTION_NO_BITS = 8,
    SYMBOL_FUNCTION = 2,
    OTHER_ENTRY = 0x10,
    FORMAT_SIZED = 4,
    ATTRIBUTE_PARAMETER_BASE = 0x0a,
    ATTRIBUTE_REQUIRED_BLOCK = 0x10,
    ATTRIBUTE_PARAMETER = 0x17,
    ATTRIBUTE_PARAMETER_BYTES = 0x19,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_REQUIRED_CLUSTER = 0x3d,
    ATTRIBUTE_LARGE_PARAMETER = 0x45,
    MAX_PARAMETERS = 1 << 16
};

static const uint64_t MAX_IMAGE = (uint64_t)1 << 31;

struct bytes {
    const unsigned char *data;
    uint64_t size;
};

struct section {
    const char *name;
    struct bytes body; /* empty for one without bits */
    uint64_t size;
    uint32_t type;
    uint32_t link;
};

struct file {
    struct bytes all;
    struct section *sections;
    size_t count;
};

static uint64_t read_number(struct bytes from, uint64_t offset, unsigned width) {
    uint64_t value = 0;
    if (offset > from.size || width > from.size - offset)
        return 0;
    for (unsigned i = width; i-- > 0;)
        value = value << 8 | from.data[offset + i];
    return value;
}

static uint16_t read_16(struct bytes from, uint64_t offset) {
    return (uint16_t)read_number(from, offset, 2);
}

static uint32_t read_32(struct bytes from, uint64_t offset) {
    return (uint32_t)read_number(from, offset, 4);
}

static bool part(struct bytes from, uint64_t offset, uint64_t size, struct bytes *result) {
    if (offset > from.size || size > from.size - offset)
        return false;
    result->data = from.data + offset;
    result->size = size;
    return true;
}

/* Returns the string at an offset of a string table, or NULL where it does not end inside. */
static const char *string_at(struct bytes table, uint64_t offset) {
    if (offset >= table.size || !memchr(table.data + offset, 0, (size_t)(table.size - offset)))
        return NULL;
    return (const char *)table.data + offset;
}

static bool measure(const unsigned char *data, struct bytes *all) {
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little */};
    for (size_t i = 0; i < sizeof magic; i++)
        if (data[i] != magic[i])
            return false;
    struct bytes header = {data, 64};
    uint64_t programs = read_number(header, 32, 8), sections = read_number(header, 40, 8);
    uint64_t programs_size = (uint64_t)read_16(header, 54) * read_16(header, 56);
    uint64_t sections_size = (uint64_t)read_16(header, 58) * read_16(header, 60);
    if (read_16(header, 18) != MACHINE_CUDA || read_16(header, 58) != 64 || sections < 64 ||
        sections > MAX_IMAGE || programs > MAX_IMAGE)
        return false;
    all->data = data;
    all->size = sections + sections_size;
    if (programs_size && programs + programs_size > all->size)
        all->size = programs + programs_size;
    return true;
}

static bool read_sections(struct file *file) {
    uint64_t start = read_number(file->all, 40, 8);
    file->count = read_16(file->all, 60);
    file->sections = calloc(file->count + 1, sizeof *file->sections);
    if (!file->sections)
        return false;
    for (size_t i = 0; i < file->count; i++) {
        struct section *section = &file->sections[i];
        uint64_t header = start + 64 * (uint64_t)i;
        section->type = read_32(file->all, header + 4);
        section->link = read_32(file->all, header + 40);
        section->size = read_number(file->all, header + 32, 8);
        if (section->type != 0 && section->type != SECTION_NO_BITS &&
            !part(file->all, read_number(file->all, header + 24, 8), section->size,
                  &section->body))
            return false;
    }
    uint16_t names = read_16(file->all, 62);
    if (names >= file->count)
        return false;
    for (size_t i = 0; i < file->count; i++) {
        uint32_t name = read_32(file->all, start + 64 * (uint64_t)i);
        file->sections[i].name = string_at(file->sections[names].body, name);
        if (!file->sections[i].name)
            return false;
    }
    return true;
}

static const struct section *find_section(const struct file *file, const char *prefix,
                                          const char *name) {
    size_t length = strlen(prefix);
    for (size_t i = 0; i < file->count; i++)
        if (!strncmp(file->sections[i].name, prefix, length) &&
            !strcmp(file->sections[i].name + length, name))
            return &file->sections[i];
    return NULL;
}

/* The assembler's command line is the only place where ptxas 13 says "sm_90a", and any "sm_100f":
   returns the letter, or 0. */
static char assembled_suffix(const struct file *file) {
    static const char option[] = "-arch sm_";
    const struct section *note = find_section(file, ".note.nv.tkinfo", "");
    if (!note)
        return 0;
    for (uint64_t i = 0; i + sizeof option < note->body.size; i++) {
        if (memcmp(note->body.data + i, option, sizeof option - 1) != 0)
            continue;
        uint64_t end = i + sizeof option - 1;
        while (end < note->body.size && note->body.data[end] >= '0' && note->body.data[end] <= '9')
            end++;
        char letter = end < note->body.size ? (char)note->body.data[end] : 0;
        return letter == 'a' || letter == 'f' ? letter : 0;
    }
    return 0;
}

static bool read_architecture(const struct file *file, struct lgr_image *image) {
    uint32_t flags = read_32(file->all, 48);
    switch (file->all.data[7]) {
    case OS_ABI_OLD:
        image->capability = (int)(flags & 0xff);
        image->suffix = (flags & 0x800) != 0 ? 'a' : 0;
        return true;
    case OS_ABI_NEW:
        image->capability = (int)(flags >> 8 & 0xff);
        image->suffix = (flags & 0x8) != 0 ? 'a' : assembled_suffix(file);
        return true;
    default:
        return false;
    }
}

bool lgr_set_parameter(struct lgr_entry *entry, uint32_t ordinal, uint32_t offset, uint32_t size) {
    if (ordinal >= MAX_PARAMETERS)
        return false;
    if (ordinal >= entry->count) {
        struct lgr_parameter *more =
            realloc(entry->parameters, (ordinal + 1) * sizeof *entry->parameters);
        if (!more)
            return false;
        for (size_t i = entry->count; i <= ordinal; i++)
            more[i] = (struct lgr_parameter){0, 0};
        entry->parameters = more;
        entry->count = ordinal + 1;
    }
    entry->parameters[ordinal] = (struct lgr_parameter){offset, size};
    return true;
}

static bool read_attribute(struct lgr_entry *entry, unsigned attribute, struct bytes payload) {
    switch (attribute) {
    case ATTRIBUTE_PARAMETER:
        return payload.size >= 12 &&
               lgr_set_parameter(entry, read_16(payload, 4), read_16(payload, 6),
                                 read_32(payload, 8) >> 18);
    case ATTRIBUTE_LARGE_PARAMETER:
        return payload.size >= 10 && lgr_set_parameter(entry, read_16(payload, 4),
                                                       read_16(payload, 6), read_16(payload, 8));
    case ATTRIBUTE_REQUIRED_BLOCK:
        for (unsigned i = 0; i < 3; i++)
            entry->block[i] = read_32(payload, 4 * i);
        return payload.size >= 12;
    case ATTRIBUTE_REQUIRED_CLUSTER:
        for (unsigned i = 0; i < 3; i++)
            entry->cluster[i] = read_32(payload, 4 * i);
        return payload.size >= 12;
    default:
        return true;
    }
}

static bool read_info(struct lgr_entry *entry, struct bytes info) {
    uint64_t total = 0;
    bool has_total = false;
    for (uint64_t at = 0; at + 4 <= info.size;) {
        unsigned format = info.data[at], attribute = info.data[at + 1];
        uint16_t value = read_16(info, at + 2);
        struct bytes payload = {info.data + at + 4, 0};
        at += 4;
        if (format == FORMAT_SIZED) {
            if (!part(info, at, value, &payload))
                return false;
            at += value;
        } else if (format < 1 || format > FORMAT_SIZED) {
            return false;
        } else if (attribute == ATTRIBUTE_PARAMETER_BYTES) {
            total = value;
            has_total = true;
        }
        if (!read_attribute(entry, attribute, payload))
            return false;
    }
    for (size_t i = 0; i < entry->count; i++) {
        const struct lgr_parameter *parameter = &entry->parameters[i];
        if (!parameter->size)
            return false; /* a hole */
        if (has_total && (uint64_t)parameter->offset + parameter->size > total)
            return false;
    }
    return true;
}

/* Registers stand in the image's own list, by the entry's number in the symbol table. */
static int read_registers(const struct file *file, size_t symbol) {
    const struct section *list = find_section(file, ".nv.info", "");
    for (uint64_t at = 0; list && at + 4 <= list->body.size;) {
        unsigned format = list->body.data[at], attribute = list->body.data[at + 1];
        uint16_t size = format == FORMAT_SIZED ? read_16(list->body, at + 2) : 0;
        at += 4;
        if (attribute == ATTRIBUTE_REGISTERS && size >= 8 && read_32(list->body, at) == symbol)
            return (int)(read_32(list->body, at + 4) & 0xff);
        at += size;
    }
    return 0;
}

/* Images for sm_90 and newer count 1 KiB of the system's with what a kernel uses itself. */
static int static_shared(const struct file *file, const struct lgr_image *image,
                         const char *name) {
    const struct section *shared = find_section(file, ".nv.shared.", name);
    uint64_t system = image->capability >= 90 ? 1024 : 0;
    if (!shared || shared->size < system || shared->size > (1u << 30))
        return 0;
    return (int)(shared->size - system);
}

static bool read_entry(const struct file *file, const struct lgr_image *image, size_t symbol,
                       struct lgr_entry *entry, const char *name) {
    entry->name = strdup(name);
    if (!entry->name)
        return false;
    entry->static_shared = static_shared(file, image, name);
    entry->registers = read_registers(file, symbol);
    const struct section *info = find_section(file, ".nv.info.", name);
    return !info || read_info(entry, info->body);
}

static bool is_entry(struct bytes symbol) {
    return (symbol.data[4] & 0xf) == SYMBOL_FUNCTION && (symbol.data[5] & OTHER_ENTRY) != 0 &&
           read_16(symbol, 6) != 0;
}

static bool read_entries(const struct file *file, struct lgr_image *image) {
    for (size_t i = 0; i < file->count; i++) {
        const struct section *table = &file->sections[i];
        if (table->type != SECTION_SYMBOLS)
            continue;
        size_t symbols = (size_t)(table->body.size / 24);
        if (table->link >= file->count || image->entries)
            return false;
        image->entries = calloc(symbols + 1, sizeof *image->entries);
        if (!image->entries)
            return false;
        for (size_t k = 0; k < symbols; k++) {
            struct bytes symbol = {table->body.data + 24 * k, 24};
            if (!is_entry(symbol))
                continue;
            const char *name = string_at(file->sections[table->link].body, read_32(symbol, 0));
            if (!name || !read_entry(file, image, k, &image->entries[image->count++], name))
                return false;
        }
    }
    return true;
}

static CUresult read_cubin(struct lgr_image *image, const void *data) {
    struct file file = {{NULL, 0}, NULL, 0};
    bool good = measure(data, &file.all) && read_sections(&file) &&
                read_architecture(&file, image) && read_entries(&file, image);
    free(file.sections);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult lgr_read_image(struct lgr_image *image, const void *data) {
    *image = (struct lgr_image){.entries = NULL};
    CUresult result =
        *(const char *)data == 0x7f ? read_cubin(image, data) : lgr_read_ptx(image, data);
    if (result)
        lgr_free_image(image);
    return result;
}

void lgr_free_image(struct lgr_image *image) {
    for (size_t i = 0; i < image->count; i++) {
        free(image->entries[i].name);
        free(image->entries[i].parameters);
    }
    free(image->entries);
    *image = (struct lgr_image){.entries = NULL};
}

/* Devices that run an "f" image of another capability than their own. */
static const int families[][2] = {{100, 103}, {120, 121}};

static bool is_family(int image, int device) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (families[i][0] == image && families[i][1] == device)
            return true;
    return image == device;
}

CUresult lgr_check_image(const struct lgr_image *image, int device) {
    int capability = lgr_settings.capability[device];
    bool fits = image->capability <= capability &&
                (image->is_text || image->capability / 10 == capability / 10);
    if (image->suffix == 'a')
        fits = image->capability == capability;
    else if (image->suffix == 'f')
        fits = is_family(image->capability, capability);
    if (fits)
        return CUDA_SUCCESS;
    return image->is_text ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_NO_BINARY_FOR_GPU;
}
