/* Reads P.csv into arrays that grow by doubling. */
#include "predictor/pattern/pattern.h"

#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/memory.h"

struct pattern_reader {
    struct pattern *pattern;
    size_t n_ranks;
    const struct csv_column *columns;
};

enum { COLUMN_SRC, COLUMN_DST, COLUMN_BYTES, COLUMN_COUNT };

static void grow_to(void *array, size_t element_bytes, size_t capacity)
{
    size_t any = 0;
    array_reserve(array, &any, capacity, element_bytes);
}

static void widen(struct pattern *pattern)
{
    pattern->wide_bytes = xmalloc(pattern->capacity * sizeof *pattern->wide_bytes);
    for (size_t i = 0; i < pattern->n_messages; i++)
        pattern->wide_bytes[i] = pattern->narrow_bytes[i];
    free(pattern->narrow_bytes);
    pattern->narrow_bytes = NULL;
}

void pattern_set_bytes(struct pattern *pattern, size_t message, uint64_t bytes)
{
    if (bytes > UINT32_MAX && pattern->wide_bytes == NULL)
        widen(pattern);
    if (pattern->wide_bytes != NULL)
        pattern->wide_bytes[message] = bytes;
    else
        pattern->narrow_bytes[message] = (uint32_t)bytes;
}

void pattern_append(struct pattern *pattern, size_t src, size_t dst, uint64_t bytes)
{
    pattern->full = pattern->n_messages == INT32_MAX; /* models number the ends of messages by 32 bits */
    if (pattern->full)
        return;
    if (pattern->n_messages == pattern->capacity) {
        pattern->capacity = pattern->capacity > 0 ? 2 * pattern->capacity : 64;
        grow_to(&pattern->src, sizeof *pattern->src, pattern->capacity);
        grow_to(&pattern->dst, sizeof *pattern->dst, pattern->capacity);
        if (pattern->wide_bytes != NULL)
            grow_to(&pattern->wide_bytes, sizeof *pattern->wide_bytes, pattern->capacity);
        else
            grow_to(&pattern->narrow_bytes, sizeof *pattern->narrow_bytes, pattern->capacity);
    }
    pattern->src[pattern->n_messages] = (uint32_t)src;
    pattern->dst[pattern->n_messages] = (uint32_t)dst;
    pattern_set_bytes(pattern, pattern->n_messages, bytes);
    pattern->n_messages++;
}

int pattern_check(const struct pattern *pattern, struct error *error)
{
    return pattern->full ? error_set(error, "more than %zu messages", pattern->n_messages) : 0;
}

static int add_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    (void)line;
    struct pattern_reader *reader = context;
    struct pattern *pattern = reader->pattern;
    for (size_t i = COLUMN_SRC; i <= COLUMN_DST; i++)
        if (values[i].u64 >= reader->n_ranks)
            return error_set(error, "column '%s': rank %llu is not in the placement (ranks 0 to %zu)",
                             reader->columns[i].name, (unsigned long long)values[i].u64, reader->n_ranks - 1);
    pattern_append(pattern, values[COLUMN_SRC].u64, values[COLUMN_DST].u64, values[COLUMN_BYTES].u64);
    return pattern_check(pattern, error);
}

int pattern_read_csv(const char *path, size_t n_ranks, struct pattern *pattern, struct error *error)
{
    struct csv_column columns[COLUMN_COUNT] = {
        [COLUMN_SRC] = {.name = "src", .kind = CSV_U64},
        [COLUMN_DST] = {.name = "dst", .kind = CSV_U64},
        [COLUMN_BYTES] = {.name = "bytes", .kind = CSV_U64},
    };
    struct pattern read = {0};
    struct pattern_reader reader = {.pattern = &read, .n_ranks = n_ranks, .columns = columns};
    if (csv_read(path, columns, COLUMN_COUNT, CSV_WHOLE, add_row, NULL, &reader, error) != 0) {
        pattern_release(&read);
        return -1;
    }
    *pattern = read;
    return 0;
}

void pattern_release(struct pattern *pattern)
{
    FREE_ALL(pattern->src, pattern->dst, pattern->narrow_bytes, pattern->wide_bytes);
    *pattern = (struct pattern){0};
}
