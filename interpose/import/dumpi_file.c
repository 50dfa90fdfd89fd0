/* Reads a file of SST's DUMPI record by record: the calls of one rank.
 *
 * Integers are big endian. A record has no length, so each field of each function must be known to go on. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interpose/import/dumpi.h"
#include "share/base/array.h"

enum { DUMPI_END = 293 };

#define DUMPI_MAGIC UINT64_C(0xffaadd44554d5049)

enum {
    STATUS_MASK = 3,
    CPU_MASK = 4,
    WALL_MASK = 8,
    THREAD_MASK = 64,
    COUNTER_MASK = 128,
    INDEX_BYTES = 64, /* of the index with its magic number */
    LEAST_INDEX_BYTES = 40
};

static int cut_off(const struct dumpi_file *file, struct error *error)
{
    return error_set(error, "%s: cut off in the record at offset %" PRIu64, file->path, file->record.offset);
}

/* Reads an integer of so many bytes; returns -1 at the end of the file. */
static int get(struct dumpi_file *file, unsigned bytes, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        int byte = getc(file->stream);
        if (byte == EOF)
            return -1;
        *value = *value << 8 | (unsigned)byte;
    }
    file->at += bytes;
    return 0;
}

static int seek(struct dumpi_file *file, uint64_t offset)
{
    file->at = offset;
    return offset <= file->size && fseeko(file->stream, (off_t)offset, SEEK_SET) == 0 ? 0 : -1;
}

static int skip(struct dumpi_file *file, uint64_t bytes)
{
    return bytes <= file->size - file->at ? seek(file, file->at + bytes) : -1;
}

/* Reads an array of n integers; array may be NULL. */
static int get_array(struct dumpi_file *file, unsigned bytes, uint64_t n, struct dumpi_array *array)
{
    if (n > (file->size - file->at) / bytes)
        return -1;
    if (!array)
        return skip(file, n * bytes);
    array_reserve(&array->values, &array->room, n + 1, sizeof *array->values);
    array->n = n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value;
        if (get(file, bytes, &value) != 0)
            return -1;
        array->values[i] = (int32_t)(uint32_t)value;
    }
    return 0;
}

static int get_counted(struct dumpi_file *file, unsigned bytes, struct dumpi_array *array)
{
    uint64_t n;
    return get(file, 4, &n) != 0 ? -1 : get_array(file, bytes, n, array);
}

/* Skips texts nested so deep. */
static int skip_texts(struct dumpi_file *file, int depth)
{
    uint64_t n;
    if (depth == 0)
        return get_counted(file, 1, NULL);
    if (get(file, 4, &n) != 0 || n > file->size)
        return -1;
    for (uint64_t i = 0; i < n; i++)
        if (skip_texts(file, depth - 1) != 0)
            return -1;
    return 0;
}

static int skip_arguments(struct dumpi_file *file)
{
    uint64_t n, again;
    if (get(file, 4, &n) != 0 || (file->version < 602 && get(file, 4, &again) != 0) || n > file->size)
        return -1;
    for (uint64_t i = 0; i < n; i++)
        if (skip_texts(file, 0) != 0)
            return -1;
    return 0;
}

static int get_statuses(struct dumpi_file *file)
{
    struct dumpi_record *record = &file->record;
    uint64_t n, value;
    if (get(file, 4, &n) != 0 || n > file->size)
        return -1;
    record->sources.n = record->tags.n = 0;
    record->has_status = n > 0;
    array_reserve(&record->sources.values, &record->sources.room, n + 1, sizeof *record->sources.values);
    array_reserve(&record->tags.values, &record->tags.room, n + 1, sizeof *record->tags.values);
    for (uint64_t i = 0; i < n; i++) {
        if (get(file, 4, &value) != 0 || get(file, 4, &value) != 0)
            return -1;
        record->sources.values[record->sources.n++] = (int32_t)(uint32_t)value;
        uint64_t tag = (uint32_t)DUMPI_ANY;
        if (get(file, 2, &value) != 0 || (file->version >= 603 && get(file, 4, &tag) != 0))
            return -1;
        record->tags.values[record->tags.n++] = (int32_t)(uint32_t)tag;
    }
    return 0;
}

static int get_value(struct dumpi_file *file, unsigned bytes)
{
    struct dumpi_record *record = &file->record;
    uint64_t value;
    if (get(file, bytes, &value) != 0)
        return -1;
    if (record->n_values < DUMPI_VALUES)
        record->values[record->n_values++] = bytes == 4   ? (int64_t)(int32_t)(uint32_t)value
                                             : bytes == 2 ? (int64_t)(int16_t)(uint16_t)value
                                                          : (int64_t)value;
    return 0;
}

static int get_field(struct dumpi_file *file, char code, unsigned mask)
{
    struct dumpi_record *record = &file->record;
    uint64_t n;
    switch (code) {
    case '1':
    case '2':
    case '4':
    case '8':
        return get_value(file, (unsigned)(code - '0'));
    case 'A':
        return get_counted(file, 4, record->n_arrays < DUMPI_ARRAYS ? &record->arrays[record->n_arrays++] : NULL);
    case 'D':
        return get_counted(file, 2, record->n_arrays < DUMPI_ARRAYS ? &record->arrays[record->n_arrays++] : NULL);
    case 'B':
        return get_counted(file, 1, NULL);
    case 'C':
        return skip_texts(file, 0);
    case 'c':
        return skip_texts(file, 1);
    case 'k':
        return skip_texts(file, 2);
    case 'a':
        if (get(file, 4, &n) != 0 || n > file->size)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            if (get_counted(file, 4, NULL) != 0)
                return -1;
        return 0;
    case 'T':
        return mask & STATUS_MASK ? get_statuses(file) : 0;
    default: /* i */
        return skip_arguments(file);
    }
}

static int get_fields(struct dumpi_file *file, const char *layout, unsigned mask)
{
    struct dumpi_record *record = &file->record;
    int64_t root = INT64_MIN;
    for (const char *at = layout; *at; at++) {
        bool is_root = *at == '*';
        at += is_root;
        if (*at == '(' && record->n_values > 0 && record->values[0] != root)
            while (*at != ')')
                at++;
        if (*at == '(' || *at == ')')
            continue;
        if (get_field(file, *at, mask) != 0)
            return -1;
        if (is_root && record->n_values > 0)
            root = record->values[record->n_values - 1];
    }
    return 0;
}

static int get_times(struct dumpi_file *file, uint64_t *begin_ns, uint64_t *end_ns)
{
    uint64_t s[2], ns[2];
    for (int i = 0; i < 2; i++)
        if (get(file, 2, &s[i]) != 0 || get(file, 4, &ns[i]) != 0)
            return -1;
    *begin_ns = (file->offset_s + s[0]) * UINT64_C(1000000000) + ns[0];
    *end_ns = (file->offset_s + s[1]) * UINT64_C(1000000000) + ns[1];
    return 0;
}

/* Reads what stands before the fields. */
static int get_head(struct dumpi_file *file, unsigned *mask)
{
    struct dumpi_record *record = &file->record;
    uint64_t value, ignored[2];
    if (get(file, 1, &value) != 0)
        return -1;
    *mask = (unsigned)value;
    record->thread = 0;
    if (*mask & THREAD_MASK) {
        if (get(file, 2, &value) != 0)
            return -1;
        record->thread = (uint16_t)value;
    }
    if ((*mask & CPU_MASK && get_times(file, &ignored[0], &ignored[1]) != 0) ||
        (*mask & WALL_MASK && get_times(file, &record->begin_ns, &record->end_ns) != 0))
        return -1;
    if (!(*mask & COUNTER_MASK))
        return 0;
    return get(file, 1, &value) != 0 ? -1 : skip(file, 16 * value);
}

int dumpi_next(struct dumpi_file *file, struct error *error)
{
    struct dumpi_record *record = &file->record;
    uint64_t function;
    unsigned mask;
    record->offset = file->at;
    record->n_values = record->n_arrays = 0;
    record->has_status = false;
    if (get(file, 2, &function) != 0)
        return cut_off(file, error);
    if (function == DUMPI_END)
        return 0;
    if (function >= DUMPI_FUNCTIONS || !dumpi_functions[function].layout)
        return error_set(error, "%s: offset %" PRIu64 ": no function has the number %" PRIu64, file->path,
                         record->offset, function);
    record->function = (uint16_t)function;
    if (get_head(file, &mask) != 0 || get_fields(file, dumpi_functions[function].layout, mask) != 0)
        return cut_off(file, error);
    if (!(mask & WALL_MASK))
        return error_set(error, "%s: offset %" PRIu64 ": a call without wall times", file->path, record->offset);
    return 1;
}

int dumpi_rewind(struct dumpi_file *file, struct error *error)
{
    uint64_t body, offsets[2];
    file->record.offset = 0;
    if (seek(file, file->size - 24) != 0 || get(file, 8, &body) != 0 || seek(file, body) != 0 ||
        get(file, 4, &offsets[0]) != 0 || get(file, 4, &offsets[1]) != 0)
        return error_set(error, "%s: offset %" PRIu64 ": expected where the calls are, within the file", file->path,
                         file->size - 24);
    file->offset_s = (uint32_t)offsets[1];
    return 0;
}

static int get_header(struct dumpi_file *file, uint64_t offset)
{
    uint64_t version[3], value, length;
    if (seek(file, offset) != 0)
        return -1;
    for (int i = 0; i < 3; i++)
        if (get(file, 1, &version[i]) != 0)
            return -1;
    file->version = (int)(version[0] * 10000 + version[1] * 100 + version[2]);
    if (get(file, 8, &value) != 0 || get(file, 2, &length) != 0)
        return -1;
    file->started_s = value;
    size_t n = length < sizeof file->host - 1 ? (size_t)length : sizeof file->host - 1;
    if (fread(file->host, 1, n, file->stream) != n)
        return -1;
    file->host[n] = '\0';
    return 0;
}

/* The index at the end: a magic number, and where parts are. Old versions have fewer parts. */
static int read_index(struct dumpi_file *file, struct error *error)
{
    uint64_t magic, sizes = 0, header;
    unsigned bytes = INDEX_BYTES;
    if (get(file, 8, &magic) != 0 || magic != DUMPI_MAGIC)
        return error_set(error, "%s: offset 0: no DUMPI trace: expected its magic number in 8 bytes", file->path);
    while (bytes >= LEAST_INDEX_BYTES && (file->size < 8 + bytes || seek(file, file->size - bytes) != 0 ||
                                          get(file, 8, &magic) != 0 || magic != DUMPI_MAGIC))
        bytes -= 8;
    if (bytes < LEAST_INDEX_BYTES || (bytes == INDEX_BYTES && get(file, 8, &sizes) != 0))
        return error_set(error, "%s: offset %" PRIu64 ": cut off: expected the index at the end of the file",
                         file->path, file->size);
    if (seek(file, file->size - 32) != 0 || get(file, 8, &header) != 0 || get_header(file, header) != 0)
        return error_set(error, "%s: offset %" PRIu64 ": expected where the header is, within the file", file->path,
                         file->size - 32);
    if (sizes > 0 && (seek(file, sizes) != 0 || get_counted(file, 4, &file->type_bytes) != 0))
        return error_set(error, "%s: offset %" PRIu64 ": expected where the sizes of datatypes are, within the file",
                         file->path, file->size - INDEX_BYTES + 8);
    return 0;
}

void dumpi_close(struct dumpi_file *file)
{
    if (file->stream)
        fclose(file->stream);
    for (int i = 0; i < DUMPI_ARRAYS; i++)
        free(file->record.arrays[i].values);
    free(file->record.sources.values);
    free(file->record.tags.values);
    free(file->type_bytes.values);
    *file = (struct dumpi_file){0};
}

int dumpi_open(struct dumpi_file *file, const char *path, struct error *error)
{
    *file = (struct dumpi_file){.path = path, .stream = fopen(path, "rbe")};
    if (!file->stream)
        return error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat status;
    if (fstat(fileno(file->stream), &status) == 0 && S_ISDIR(status.st_mode)) {
        dumpi_close(file);
        return error_set(error, "%s: a folder: expected the files of all ranks in it", path);
    }
    off_t size = fseeko(file->stream, 0, SEEK_END) == 0 ? ftello(file->stream) : -1;
    int result = size < 0 ? error_set(error, "%s: cannot be read: %s", path, strerror(errno)) : 0;
    file->size = size < 0 ? 0 : (uint64_t)size;
    if (result == 0)
        result = seek(file, 0) != 0 ? error_set(error, "%s: cannot be read", path) : read_index(file, error);
    if (result != 0)
        dumpi_close(file);
    return result;
}

uint64_t dumpi_type_bytes(const struct dumpi_file *file, int64_t type)
{
    /* By datatype: error, null, char, signed and unsigned char, byte, wchar, short, unsigned short, int, unsigned,
     * long, unsigned long, float, double, long double, long long int, unsigned long long, long long, packed, lb, ub,
     * pairs. */
    static const uint8_t given[DUMPI_FIRST_TYPE] = {0, 0,  1, 1, 1, 1, 4, 2, 2, 4,  4,  8, 8, 4,
                                                    8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20};
    if (type >= 0 && (uint64_t)type < file->type_bytes.n && file->type_bytes.values[type] > 0)
        return (uint64_t)file->type_bytes.values[type];
    return type >= 0 && type < DUMPI_FIRST_TYPE ? given[type] : 1;
}
