/* Reads traces of SST's DUMPI, a file a rank. They are read twice: which communicators there are, who their members are
 * and when the run began follows from the files of all ranks.
 *
 * Integers are big endian. A record has no length, so each field of each function must be known to go on. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interpose/import/dumpi.h"
#include "interpose/import/import.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

enum { DUMPI_END = 293, DUMPI_VALUES = 16, DUMPI_ARRAYS = 6 };

/* Numbers of handles in these traces. */
enum { DUMPI_COMM_NULL = 1, DUMPI_COMM_WORLD = 2, DUMPI_COMM_SELF = 3, DUMPI_FIRST_TYPE = 28, DUMPI_ANY = -1 };

struct dumpi_array {
    int32_t *values;
    size_t n, room;
};

/* One call. */
struct dumpi_record {
    uint64_t offset; /* of the record in the file */
    uint16_t function;
    uint16_t thread;
    uint64_t begin_ns, end_ns;    /* of the node's clock */
    int64_t values[DUMPI_VALUES]; /* integers, in their order */
    size_t n_values;
    struct dumpi_array arrays[DUMPI_ARRAYS]; /* of integers */
    size_t n_arrays;
    bool has_status;
    struct dumpi_array sources, tags; /* of statuses */
};

struct dumpi_file {
    const char *path;
    FILE *stream;
    uint64_t at, size;
    int version;                   /* 0.6.9 is 609 */
    uint64_t started_s;            /* since the Epoch */
    uint32_t offset_s;             /* of wall times */
    struct dumpi_array type_bytes; /* by datatype; empty: not known */
    struct dumpi_record record;
    char host[256];
};

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

/* Reads the next record into file->record. Returns 1, 0 at the end, or -1 with offset and reason. */
static int dumpi_next(struct dumpi_file *file, struct error *error)
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

/* Goes to the first record. */
static int dumpi_rewind(struct dumpi_file *file, struct error *error)
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

static void dumpi_close(struct dumpi_file *file)
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

/* Opens a file and reads its index. Returns 0, or -1 with the reason. */
static int dumpi_open(struct dumpi_file *file, const char *path, struct error *error)
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

/* Returns the bytes of an element; a type whose size is not known has 1. */
static uint64_t dumpi_type_bytes(const struct dumpi_file *file, int64_t type)
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

enum { MOST_RANKS = 1 << 16, MOST_HANDLES = 1 << 15 };

/* A call that made a communicator. */
struct creation {
    uint16_t function;
    int64_t old, made, colour, key;
    uint32_t communicator; /* what it made, of all ranks; MAP_ABSENT: not known, or none */
};

struct communicator {
    int32_t *members; /* [n] */
    int32_t n;
    uint64_t hash;
};

struct rank {
    const char *path;           /* NULL: there is no file of it */
    int32_t rank;               /* by MPI_Comm_rank of MPI_COMM_WORLD; -1: not called */
    struct creation *creations; /* [n_creations] in order */
    size_t n_creations;
    size_t next; /* first that is not resolved */
    struct seen {
        int32_t size, rank; /* of the communicator, at least, and of this process in it */
    } * seen;               /* [MOST_HANDLES] where the run may be incomplete */
    uint32_t *handles; /* [MOST_HANDLES] number of the communicator that a handle stands for; MAP_ABSENT: not known */
};

struct request {
    struct spool_operation *record;
    struct persistent {
        enum spool_direction direction;
        uint32_t communicator;
        int32_t peer, tag;
        uint64_t bytes;
    } * persistent; /* NULL: of a single operation */
};

struct reader {
    struct import_run *run;
    struct rank *ranks; /* [run->n_ranks]; until they are in order, [n] as given */
    size_t n_files;
    int32_t world_size; /* by MPI_Comm_size of MPI_COMM_WORLD, or by the largest peer there; 0: neither is there */
    int32_t most_size;  /* the same of all communicators */
    struct communicator *communicators;
    size_t n_communicators;
    uint64_t first_ns;
    bool is_incomplete;
    uint64_t not_read; /* operations on communicators whose members are not known */
    /* Of the rank that is written. */
    struct import_process *process;
    const struct dumpi_file *file;
    int32_t rank;
    size_t creation;
    uint32_t n_indices;
    uint32_t *indices; /* [MOST_HANDLES] by handle */
    struct map request_numbers;
    struct request *requests;
    size_t n_requests;
    uint64_t last_ns;
};

static bool is_creation(const char *name)
{
    return WORD_IS_ONE_OF(name, "MPI_Comm_dup", "MPI_Comm_create", "MPI_Comm_split", "MPI_Cart_create", "MPI_Cart_sub",
                          "MPI_Graph_create");
}

static struct creation creation_of(const struct dumpi_record *record)
{
    const char *name = dumpi_functions[record->function].name;
    const int64_t *values = record->values;
    struct creation creation = {.function = record->function, .communicator = MAP_ABSENT};
    bool old_is_second = WORD_IS_ONE_OF(name, "MPI_Cart_sub", "MPI_Graph_create");
    creation.old = values[old_is_second ? 1 : 0];
    creation.made = values[record->n_values - 1];
    if (strcmp(name, "MPI_Comm_split") == 0) {
        creation.colour = values[1];
        creation.key = values[2];
    }
    return creation;
}

static bool is_handle(int64_t handle)
{
    return handle >= 0 && handle < MOST_HANDLES;
}

/* Takes what a call says of a communicator: the own rank, or how many ranks it has at least. */
static void take_sizes(struct reader *reader, struct rank *rank, const struct dumpi_record *record)
{
    const struct dumpi_function *function = &dumpi_functions[record->function];
    const int64_t *values = record->values;
    int64_t handle = values[0], size = 0, own = -1;
    if (strncmp(function->layout, "42442", 5) == 0) { /* count, type, peer, tag, communicator */
        handle = values[4];
        size = values[2] + 1;
    } else if (strcmp(function->name, "MPI_Sendrecv") == 0) {
        handle = values[8];
        size = (values[2] > values[6] ? values[2] : values[6]) + 1;
    } else if (strcmp(function->name, "MPI_Sendrecv_replace") == 0) {
        handle = values[6];
        size = (values[2] > values[4] ? values[2] : values[4]) + 1;
    } else if (strcmp(function->name, "MPI_Comm_size") == 0)
        size = values[1];
    else if (strcmp(function->name, "MPI_Comm_rank") == 0)
        own = values[1];
    if (!is_handle(handle) || (size <= 0 && own < 0))
        return;
    size = size > own ? size : own + 1;
    int32_t bounded = size < INT32_MAX ? (int32_t)size : INT32_MAX;
    if (handle == DUMPI_COMM_WORLD) {
        reader->world_size = bounded > reader->world_size ? bounded : reader->world_size;
        rank->rank = own >= 0 ? (int32_t)own : rank->rank;
    }
    if (!rank->seen)
        return;
    struct seen *seen = &rank->seen[handle];
    seen->size = bounded > seen->size ? bounded : seen->size;
    seen->rank = own >= 0 ? (int32_t)own : seen->rank;
    reader->most_size = bounded > reader->most_size ? bounded : reader->most_size;
}

static int read_creations(struct reader *reader, struct rank *rank, struct error *error)
{
    struct dumpi_file file;
    if (dumpi_open(&file, rank->path, error) != 0)
        return -1;
    int result = dumpi_rewind(&file, error) != 0 ? -1 : 1;
    if (reader->run->started_unix_ns == 0 && file.started_s < UINT32_MAX)
        reader->run->started_unix_ns = file.started_s * UINT64_C(1000000000);
    while (result == 1 && (result = dumpi_next(&file, error)) == 1) {
        if (file.record.begin_ns > 0 && file.record.begin_ns < reader->first_ns)
            reader->first_ns = file.record.begin_ns;
        take_sizes(reader, rank, &file.record);
        if (is_creation(dumpi_functions[file.record.function].name) && file.record.n_values >= 2)
            ARRAY_ADD(rank->creations, rank->n_creations, creation_of(&file.record));
    }
    dumpi_close(&file);
    return result;
}

static uint32_t add_communicator(struct reader *reader, int32_t *members, int32_t n)
{
    struct communicator made = {members, n, 0};
    for (int32_t i = 0; i < n; i++)
        made.hash = import_hash(made.hash, members[i]);
    ARRAY_ADD(reader->communicators, reader->n_communicators, made);
    return (uint32_t)(reader->n_communicators - 1);
}

/* Returns the communicator on which the rank's next creation is; MAP_ABSENT: none, or not known. */
static uint32_t next_parent(const struct rank *rank)
{
    if (rank->next >= rank->n_creations)
        return MAP_ABSENT;
    int64_t old = rank->creations[rank->next].old;
    return is_handle(old) ? rank->handles[old] : MAP_ABSENT;
}

struct member {
    int64_t colour, key;
    int32_t place, rank; /* place in the parent */
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return ORDER(a->colour, b->colour) ?: ORDER(a->key, b->key) ?: ORDER(a->place, b->place);
}

/* Makes the communicators of one creation, at which all members are whose files are there. The others are in a copy,
 * and nobody knows where else. */
static void make(struct reader *reader, uint32_t parent)
{
    struct communicator of = reader->communicators[parent];
    struct member *members = xcalloc((size_t)of.n, sizeof *members);
    int32_t n = 0;
    bool is_sub = false, is_copy = true, is_whole = true;
    for (int32_t i = 0; i < of.n; i++) {
        struct rank *rank = &reader->ranks[of.members[i]];
        if (!rank->path) {
            is_whole = false;
            members[n++] = (struct member){0, 0, i, of.members[i]};
            continue;
        }
        const struct creation *creation = &rank->creations[rank->next];
        is_sub = is_sub || strcmp(dumpi_functions[creation->function].name, "MPI_Cart_sub") == 0;
        is_copy = is_copy && strcmp(dumpi_functions[creation->function].name, "MPI_Comm_dup") == 0;
        if (creation->made > DUMPI_COMM_NULL)
            members[n++] = (struct member){creation->colour, creation->key, i, of.members[i]};
    }
    bool is_known = !is_sub && (is_copy || is_whole); /* who shares a line of a grid is not in the trace */
    qsort(members, (size_t)n, sizeof *members, compare_members);
    for (int32_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && members[end].colour == members[first].colour; end++)
            ;
        int32_t *ranks = xcalloc((size_t)(end - first), sizeof *ranks);
        for (int32_t i = first; i < end; i++)
            ranks[i - first] = members[i].rank;
        uint32_t made = add_communicator(reader, ranks, end - first);
        for (int32_t i = first; i < end && is_known; i++) {
            struct rank *rank = &reader->ranks[members[i].rank];
            if (!rank->path)
                continue;
            struct creation *creation = &rank->creations[rank->next];
            creation->communicator = made;
            if (is_handle(creation->made))
                rank->handles[creation->made] = made;
        }
    }
    for (int32_t i = 0; i < of.n; i++)
        reader->ranks[of.members[i]].next += reader->ranks[of.members[i]].path != NULL;
    free(members);
}

static bool is_complete(const struct reader *reader, uint32_t parent)
{
    const struct communicator *of = &reader->communicators[parent];
    for (int32_t i = 0; i < of->n; i++)
        if (reader->ranks[of->members[i]].path && next_parent(&reader->ranks[of->members[i]]) != parent)
            return false;
    return true;
}

/* Returns the first member whose file is there. */
static int32_t first_of(const struct reader *reader, uint32_t communicator)
{
    const struct communicator *of = &reader->communicators[communicator];
    int32_t i = 0;
    while (i + 1 < of->n && !reader->ranks[of->members[i]].path)
        i++;
    return of->members[i];
}

/* Resolves creations in an order in which they can have happened. */
static void resolve(struct reader *reader)
{
    int32_t *world = xcalloc((size_t)reader->run->n_ranks, sizeof *world);
    for (int32_t i = 0; i < reader->run->n_ranks; i++)
        world[i] = i;
    uint32_t all = add_communicator(reader, world, reader->run->n_ranks);
    for (int32_t i = 0; i < reader->run->n_ranks; i++) {
        if (!reader->ranks[i].path)
            continue;
        int32_t *self = xcalloc(1, sizeof *self);
        *self = i;
        reader->ranks[i].handles[DUMPI_COMM_WORLD] = all;
        reader->ranks[i].handles[DUMPI_COMM_SELF] = add_communicator(reader, self, 1);
    }
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (int32_t i = 0; i < reader->run->n_ranks; i++) {
            uint32_t parent = next_parent(&reader->ranks[i]);
            if (parent != MAP_ABSENT && first_of(reader, parent) == i && is_complete(reader, parent)) {
                make(reader, parent);
                goes_on = true;
            } else if (parent == MAP_ABSENT && reader->ranks[i].next < reader->ranks[i].n_creations) {
                reader->ranks[i].next++; /* on one that is not known: neither is what it makes */
                goes_on = true;
            }
        }
    }
}

/* Tells the spool of a communicator of which only this process is known, as files of others are missing. */
static uint32_t add_without_others(struct reader *reader, int64_t handle)
{
    const struct seen *seen = &reader->ranks[reader->rank].seen[handle];
    struct import_communicator is = {.index = reader->n_indices++,
                                     .identity = (uint32_t)handle,
                                     .leader = seen->rank == 0 ? reader->rank : -1,
                                     .size = seen->size > 0 ? seen->size : 1,
                                     .rank = seen->rank,
                                     .members_hash = import_hash(import_hash(0, reader->rank), INT32_MAX)};
    import_communicator(reader->process, &is, reader->last_ns);
    return reader->indices[handle] = is.index;
}

static uint32_t index_of(struct reader *reader, int64_t handle)
{
    uint32_t index = is_handle(handle) ? reader->indices[handle] : SPOOL_NO_COMMUNICATOR;
    if (index == SPOOL_NO_COMMUNICATOR && is_handle(handle) && handle > DUMPI_COMM_SELF && reader->is_incomplete)
        index = add_without_others(reader, handle);
    reader->not_read += index == SPOOL_NO_COMMUNICATOR;
    return index;
}

static int32_t peer_of(int64_t peer)
{
    return peer == DUMPI_ANY ? SPOOL_ANY : peer >= 0 && peer <= INT32_MAX ? (int32_t)peer : SPOOL_PROC_NULL;
}

/* Nobody sends to a wildcard: -1 is MPICH's MPI_PROC_NULL then. */
static int32_t receiver_of(int64_t peer)
{
    return peer < 0 ? SPOOL_PROC_NULL : peer_of(peer);
}

static int32_t tag_of(int64_t tag)
{
    return tag == DUMPI_ANY ? SPOOL_ANY : tag >= 0 && tag <= INT32_MAX ? (int32_t)tag : 0;
}

static uint64_t bytes_of(const struct reader *reader, int64_t count, int64_t type)
{
    uint64_t each = dumpi_type_bytes(reader->file, type);
    return count > 0 ? (uint64_t)count * each : 0;
}

/* Resolves a wildcard from the i-th status of the call. */
static void set_source(const struct reader *reader, struct spool_operation *record, size_t i)
{
    const struct dumpi_record *call = &reader->file->record;
    if (!record || record->direction != SPOOL_RECEIVE || !(record->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG)))
        return;
    bool is_there = call->has_status && i < call->sources.n;
    if (record->flags & SPOOL_ANY_SOURCE)
        record->peer = !is_there                      ? SPOOL_UNKNOWN
                       : call->sources.values[i] >= 0 ? call->sources.values[i]
                                                      : SPOOL_PROC_NULL; /* MPICH's is -1, as the wildcard here */
    if (record->flags & SPOOL_ANY_TAG && is_there && call->tags.values[i] >= 0)
        record->tag = call->tags.values[i];
}

static struct spool_operation *post(struct reader *reader, const struct import_call *call,
                                    enum spool_direction direction, const int64_t *values, int64_t comm, bool blocking)
{
    uint32_t index = index_of(reader, comm);
    int32_t peer = direction == SPOOL_SEND ? receiver_of(values[2]) : peer_of(values[2]);
    return index == SPOOL_NO_COMMUNICATOR
               ? NULL
               : import_post(reader->process, call, direction, index, peer, tag_of(values[3]),
                             bytes_of(reader, values[0], values[1]), blocking);
}

static void open_request(struct reader *reader, int64_t handle, struct request request)
{
    *map_at(&reader->request_numbers, (struct map_key){(uint64_t)handle, 0, 0}) = (uint32_t)reader->n_requests;
    ARRAY_ADD(reader->requests, reader->n_requests, request);
}

static struct request *find_request(const struct reader *reader, int64_t handle)
{
    uint32_t number = map_find(&reader->request_numbers, (struct map_key){(uint64_t)handle, 0, 0});
    return number == MAP_ABSENT ? NULL : &reader->requests[number];
}

/* Completes one request of a call, with the i-th status. Returns whether an operation of ours ended. */
static bool complete(struct reader *reader, int64_t handle, size_t i, uint64_t end_ns)
{
    struct request *request = find_request(reader, handle);
    if (!request || !request->record)
        return false;
    set_source(reader, request->record, i);
    import_complete(request->record, end_ns);
    request->record = NULL;
    return true;
}

static void start(struct reader *reader, const struct import_call *call, int64_t handle)
{
    struct request *request = find_request(reader, handle);
    if (!request || !request->persistent || request->persistent->communicator == SPOOL_NO_COMMUNICATOR)
        return;
    const struct persistent *of = request->persistent;
    request->record =
        import_post(reader->process, call, of->direction, of->communicator, of->peer, of->tag, of->bytes, false);
}

static void make_persistent(struct reader *reader, const struct dumpi_record *record, enum spool_direction direction)
{
    struct persistent *persistent = xcalloc(1, sizeof *persistent);
    *persistent =
        (struct persistent){direction, index_of(reader, record->values[4]),
                            direction == SPOOL_SEND ? receiver_of(record->values[2]) : peer_of(record->values[2]),
                            tag_of(record->values[3]), bytes_of(reader, record->values[0], record->values[1])};
    open_request(reader, record->values[5], (struct request){NULL, persistent});
}

static uint32_t complete_all(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    uint32_t n = 0;
    for (size_t i = 0; record->n_arrays > 0 && i < record->arrays[0].n; i++)
        n += complete(reader, record->arrays[0].values[i], i, end_ns);
    return n;
}

static uint32_t complete_some(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    uint32_t n = 0;
    for (size_t i = 0; record->n_arrays > 1 && i < record->arrays[1].n; i++) {
        int32_t at = record->arrays[1].values[i];
        if (at >= 0 && (size_t)at < record->arrays[0].n)
            n += complete(reader, record->arrays[0].values[at], i, end_ns);
    }
    return n;
}

static uint32_t complete_any(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    int64_t at = record->values[1];
    bool is_one = record->n_arrays > 0 && at >= 0 && (uint64_t)at < record->arrays[0].n;
    return is_one && complete(reader, record->arrays[0].values[at], 0, end_ns);
}

static uint64_t sum_of(const struct dumpi_array *array)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < array->n; i++)
        sum += array->values[i] > 0 ? (uint64_t)array->values[i] : 0;
    return sum;
}

/* Which integers of a collective's record are its communicator, its root, and the number and datatype of what this rank
 * hands in; -1: it has none, or its numbers are the first array. */
static const struct collective {
    uint16_t function;
    int comm, root, count, type;
} collectives[] = {
    {FN_Barrier, 0, -1, -1, -1},  {FN_Bcast, 3, 2, 0, 1},     {FN_Gather, 4, 3, 1, 2},
    {FN_Scatter, 4, 3, 1, 2},     {FN_Gatherv, 5, 4, 2, 3},   {FN_Scatterv, 6, 5, 3, 4},
    {FN_Allgather, 4, -1, 0, 1},  {FN_Alltoall, 4, -1, 0, 1}, {FN_Allgatherv, 4, -1, 1, 2},
    {FN_Alltoallv, 3, -1, -1, 1}, {FN_Reduce, 4, 3, 0, 1},    {FN_Allreduce, 3, -1, 0, 1},
    {FN_Scan, 3, -1, 0, 1},       {FN_Exscan, 3, -1, 0, 1},   {FN_Reduce_scatter, 3, -1, -1, 1},
};

/* Stores a collective. Returns whether the call is one. */
static bool take_collective(struct reader *reader, const struct import_call *call, const struct dumpi_record *record)
{
    const int64_t *v = record->values;
    const struct collective *of = collectives, *end = of + sizeof collectives / sizeof *collectives;
    while (of < end && of->function != (uint16_t)call->function)
        of++;
    if (of == end)
        return false;
    int64_t root = of->root < 0 ? -1 : v[of->root];
    uint64_t bytes = of->type < 0     ? 0
                     : of->count >= 0 ? bytes_of(reader, v[of->count], v[of->type])
                                      : sum_of(&record->arrays[0]) * dumpi_type_bytes(reader->file, v[of->type]);
    uint32_t index = index_of(reader, v[of->comm]);
    if (index != SPOOL_NO_COMMUNICATOR)
        import_collective(reader->process, call, index, bytes, root >= 0 && root <= INT32_MAX ? (int32_t)root : -1);
    return true;
}

/* Takes messages posted by a call. Returns whether it posts any. */
static bool take_message(struct reader *reader, const struct import_call *call, const struct dumpi_record *record)
{
    const int64_t *v = record->values;
    struct spool_operation *receive = NULL;
    switch ((int)call->function) {
    case FN_Send:
    case FN_Bsend:
    case FN_Ssend:
    case FN_Rsend:
        post(reader, call, SPOOL_SEND, v, v[4], true);
        return true;
    case FN_Recv:
        receive = post(reader, call, SPOOL_RECEIVE, v, v[4], true);
        break;
    case FN_Isend:
    case FN_Ibsend:
    case FN_Issend:
    case FN_Irsend:
        open_request(reader, v[5], (struct request){post(reader, call, SPOOL_SEND, v, v[4], false), NULL});
        return true;
    case FN_Irecv:
        open_request(reader, v[5], (struct request){post(reader, call, SPOOL_RECEIVE, v, v[4], false), NULL});
        return true;
    case FN_Sendrecv:
        post(reader, call, SPOOL_SEND, v, v[8], true);
        receive = post(reader, call, SPOOL_RECEIVE, v + 4, v[8], true);
        import_same_call(receive);
        break;
    case FN_Sendrecv_replace: {
        const int64_t back[] = {v[0], v[1], v[4], v[5]};
        post(reader, call, SPOOL_SEND, v, v[6], true);
        receive = post(reader, call, SPOOL_RECEIVE, back, v[6], true);
        import_same_call(receive);
        break;
    }
    case FN_Send_init:
    case FN_Bsend_init:
    case FN_Ssend_init:
    case FN_Rsend_init:
    case FN_Recv_init:
        make_persistent(reader, record, call->function == FN_Recv_init ? SPOOL_RECEIVE : SPOOL_SEND);
        return true;
    case FN_Start:
        start(reader, call, v[0]);
        return true;
    case FN_Startall:
        for (size_t i = 0; record->n_arrays > 0 && i < record->arrays[0].n; i++)
            start(reader, call, record->arrays[0].values[i]);
        return true;
    default:
        return false;
    }
    set_source(reader, receive, 0);
    return true;
}

static void take_completion(struct reader *reader, const struct import_call *call, const struct dumpi_record *record)
{
    const int64_t *v = record->values;
    uint32_t n = 0;
    switch ((int)call->function) {
    case FN_Wait:
        n = complete(reader, v[0], 0, call->end_ns);
        break;
    case FN_Test:
        n = v[1] != 0 && complete(reader, v[0], 0, call->end_ns);
        break;
    case FN_Waitany:
        n = complete_any(reader, record, call->end_ns);
        break;
    case FN_Testany:
        n = v[2] != 0 ? complete_any(reader, record, call->end_ns) : 0;
        break;
    case FN_Waitall:
        n = complete_all(reader, record, call->end_ns);
        break;
    case FN_Testall:
        n = v[1] != 0 ? complete_all(reader, record, call->end_ns) : 0;
        break;
    case FN_Waitsome:
    case FN_Testsome:
        n = complete_some(reader, record, call->end_ns);
        break;
    case FN_Probe:
    case FN_Iprobe:
        break;
    default:
        return;
    }
    import_timed_call(reader->process, call, n);
}

/* Tells the spool of a communicator that the call made. */
static void take_creation(struct reader *reader, const struct import_call *call)
{
    const struct creation *creation = &reader->ranks[reader->rank].creations[reader->creation++];
    if (!is_handle(creation->made))
        return;
    reader->indices[creation->made] = SPOOL_NO_COMMUNICATOR;
    if (creation->communicator == MAP_ABSENT)
        return;
    const struct communicator *made = &reader->communicators[creation->communicator];
    struct import_communicator is = {.index = reader->n_indices++,
                                     .identity = creation->communicator,
                                     .leader = made->members[0],
                                     .size = made->n,
                                     .members_hash = made->hash};
    while (is.rank < made->n && made->members[is.rank] != reader->rank)
        is.rank++;
    import_communicator(reader->process, &is, call->begin_ns);
    reader->indices[creation->made] = is.index;
}

static void take_record(struct reader *reader, const struct dumpi_record *record)
{
    int function = import_function(dumpi_functions[record->function].name);
    uint64_t begin = record->begin_ns > reader->first_ns ? record->begin_ns - reader->first_ns : 0;
    uint64_t end = record->end_ns > reader->first_ns ? record->end_ns - reader->first_ns : 0;
    struct import_call call = {(enum mpistair_function)function, begin, end > begin ? end : begin + 1};
    reader->last_ns = call.end_ns > reader->last_ns ? call.end_ns : reader->last_ns;
    if (is_creation(dumpi_functions[record->function].name) && record->n_values >= 2)
        take_creation(reader, &call);
    if (function < 0)
        return;
    import_thread(reader->process, record->thread < 64 ? record->thread : 63);
    if (!take_message(reader, &call, record) && !take_collective(reader, &call, record))
        take_completion(reader, &call, record);
}

static int write_rank(struct reader *reader, int32_t rank, struct error *error)
{
    struct dumpi_file file;
    if (dumpi_open(&file, reader->ranks[rank].path, error) != 0)
        return -1;
    int result = dumpi_rewind(&file, error);
    reader->process = result == 0 ? import_begin(reader->run, rank, file.host[0] ? file.host : NULL, error) : NULL;
    reader->file = &file;
    reader->rank = rank;
    reader->creation = 0;
    reader->n_indices = 2;
    reader->last_ns = 0;
    map_clear(&reader->request_numbers);
    for (uint32_t i = 0; i < MOST_HANDLES; i++)
        reader->indices[i] = SPOOL_NO_COMMUNICATOR;
    reader->indices[DUMPI_COMM_WORLD] = 0;
    reader->indices[DUMPI_COMM_SELF] = 1;
    result = reader->process ? 1 : -1;
    while (result == 1 && (result = dumpi_next(&file, error)) == 1)
        take_record(reader, &file.record);
    for (size_t i = 0; i < reader->n_requests; i++)
        free(reader->requests[i].persistent);
    reader->n_requests = 0;
    dumpi_close(&file);
    if (result != 0 && reader->process)
        import_cancel(reader->process);
    return result != 0 ? -1 : import_end(reader->process, reader->last_ns + 1, error);
}

/* Returns the number at the end of a name, before its suffix: that of the rank; -1: there is none. */
static long number_of(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const char *at = dot && (!slash || dot > slash) ? dot : path + strlen(path);
    const char *end = at;
    while (at > path && isdigit((unsigned char)at[-1]))
        at--;
    return at < end && end - at < 10 ? strtol(at, NULL, 10) : -1;
}

static int too_few(const struct reader *reader, const struct rank *ranks, struct error *error)
{
    int32_t first = 0, n = reader->run->n_ranks;
    while (first < n && ranks[first].path)
        first++;
    return error_set(error,
                     "%s: of a run of %" PRId32
                     " ranks; the files of %zu of them are not given, the first that of rank "
                     "%" PRId32 "; --incomplete imports those that are",
                     reader->ranks[0].path, n, (size_t)n - reader->n_files, first);
}

/* Puts the files in the order of ranks: of those that they say themselves, or of their names. */
static int sort_files(struct reader *reader, struct error *error)
{
    size_t n = reader->n_files, n_ranks = n;
    for (size_t i = 0; i < n; i++) {
        struct rank *file = &reader->ranks[i];
        file->rank = file->rank >= 0 ? file->rank : (int32_t)number_of(file->path);
        if (reader->run->may_be_incomplete && file->rank < 0 && n == 1) {
            inform("%s: nothing says which rank it is of: taken for rank 0", file->path);
            file->rank = 0;
        }
        if (reader->run->may_be_incomplete && file->rank >= 0 && (size_t)file->rank >= n_ranks)
            n_ranks = (size_t)file->rank + 1;
    }
    int32_t size = reader->run->may_be_incomplete ? reader->most_size : reader->world_size;
    n_ranks = size > 0 ? (size_t)size : n_ranks;
    if (n_ranks > MOST_RANKS)
        return error_set(error, "%s: of a run of %zu ranks: expected at most %d", reader->ranks[0].path, n_ranks,
                         MOST_RANKS);
    struct rank *ranks = xcalloc(n_ranks, sizeof *ranks);
    int result = 0;
    for (size_t i = 0; i < n && result == 0; i++) {
        const struct rank *file = &reader->ranks[i];
        if (file->rank < 0 || (size_t)file->rank >= n_ranks || ranks[file->rank].path)
            result = error_set(error,
                               "%s: %s: expected the files of all ranks, once each, their names ending in the rank: "
                               "0 to %zu",
                               file->path,
                               file->rank < 0                  ? "not said of which rank"
                               : (size_t)file->rank >= n_ranks ? "of a rank beyond the others"
                                                               : "of a rank that another file is of",
                               n_ranks - 1);
        else
            ranks[file->rank] = *file;
    }
    reader->run->n_ranks = (int32_t)n_ranks;
    reader->is_incomplete = n < n_ranks;
    if (result == 0 && n < n_ranks && !reader->run->may_be_incomplete)
        result = too_few(reader, ranks, error);
    if (result != 0) {
        free(ranks);
        return result;
    }
    free(reader->ranks);
    reader->ranks = ranks;
    reader->n_files = n_ranks;
    for (size_t i = 0; i < n_ranks; i++) {
        if (!ranks[i].path)
            continue;
        ranks[i].handles = xcalloc(MOST_HANDLES, sizeof *ranks[i].handles);
        for (int32_t k = 0; k < MOST_HANDLES; k++)
            ranks[i].handles[k] = MAP_ABSENT;
    }
    return 0;
}

static void release(struct reader *reader)
{
    for (size_t i = 0; i < reader->n_files; i++) {
        free(reader->ranks[i].creations);
        free(reader->ranks[i].seen);
        free(reader->ranks[i].handles);
    }
    for (size_t i = 0; i < reader->n_communicators; i++)
        free(reader->communicators[i].members);
    free(reader->ranks);
    free(reader->communicators);
    free(reader->indices);
    free(reader->requests);
    map_release(&reader->request_numbers);
}

int import_dumpi(const char *const *paths, size_t n, struct import_run *run, struct error *error)
{
    struct reader reader = {.run = run,
                            .first_ns = UINT64_MAX,
                            .ranks = xcalloc(n, sizeof *reader.ranks),
                            .n_files = n,
                            .indices = xcalloc(MOST_HANDLES, sizeof *reader.indices)};
    int result = n <= MOST_RANKS ? 0 : error_set(error, "%zu files: expected at most %d", n, MOST_RANKS);
    for (size_t i = 0; i < n && result == 0; i++) {
        reader.ranks[i] = (struct rank){.path = paths[i], .rank = -1};
        if (run->may_be_incomplete)
            reader.ranks[i].seen = xcalloc(MOST_HANDLES, sizeof *reader.ranks[i].seen);
        result = read_creations(&reader, &reader.ranks[i], error);
    }
    if (result == 0)
        result = sort_files(&reader, error);
    if (result == 0) {
        resolve(&reader);
        run->format = "DUMPI";
    }
    for (int32_t i = 0; i < run->n_ranks && result == 0; i++)
        result = reader.ranks[i].path ? write_rank(&reader, i, error) : 0;
    if (result == 0 && reader.not_read > 0)
        inform("%s: %" PRIu64
               " operations and collectives are not imported: the members of their communicators are not in the traces",
               paths[0], reader.not_read);
    release(&reader);
    return result;
}
