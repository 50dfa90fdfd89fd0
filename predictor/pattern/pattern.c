/* Reads P.csv into arrays that grow by doubling; post times take memory only where the file has them. */
#include "predictor/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/memory.h"

struct pattern_reader {
    struct pattern *pattern;
    size_t n_ranks;
    const struct csv_column *columns;
};

enum { COLUMN_SRC, COLUMN_DST, COLUMN_BYTES, COLUMN_SEND, COLUMN_RECV, COLUMN_COMM, COLUMN_ANY, COLUMN_COUNT };

static void grow_to(void *array, size_t element_bytes, size_t capacity)
{
    size_t any = 0;
    array_reserve(array, &any, capacity, element_bytes);
}

int pattern_append(struct pattern *pattern, uint32_t src, uint32_t dst, uint64_t bytes)
{
    if (pattern->n_messages == INT32_MAX) /* models number the ends of messages by 32 bits */
        return -1;
    if (pattern->n_messages == pattern->capacity) {
        pattern->capacity = pattern->capacity > 0 ? 2 * pattern->capacity : 64;
        grow_to(&pattern->src, sizeof *pattern->src, pattern->capacity);
        grow_to(&pattern->dst, sizeof *pattern->dst, pattern->capacity);
        grow_to(&pattern->bytes, sizeof *pattern->bytes, pattern->capacity);
        if (pattern->send_s != NULL)
            grow_to(&pattern->send_s, sizeof *pattern->send_s, pattern->capacity);
        if (pattern->recv_s != NULL)
            grow_to(&pattern->recv_s, sizeof *pattern->recv_s, pattern->capacity);
        if (pattern->match != NULL)
            grow_to(&pattern->match, sizeof *pattern->match, pattern->capacity);
    }
    pattern->src[pattern->n_messages] = src;
    pattern->dst[pattern->n_messages] = dst;
    pattern->bytes[pattern->n_messages] = bytes;
    if (pattern->match != NULL)
        pattern->match[pattern->n_messages] = 0;
    pattern->n_messages++;
    return 0;
}

/* Stores a number of the message appended last in *values, which exists from the first such message on. */
static void set_value(const struct pattern *pattern, double **values, const double *value)
{
    if (value == NULL)
        return;
    if (*values == NULL)
        grow_to(values, sizeof **values, pattern->capacity);
    (*values)[pattern->n_messages - 1] = *value;
}

void pattern_set_posts(struct pattern *pattern, const double *send_s, const double *recv_s)
{
    set_value(pattern, &pattern->send_s, send_s);
    set_value(pattern, &pattern->recv_s, recv_s);
}

void pattern_clear(struct pattern *pattern)
{
    pattern->n_messages = 0;
}

void pattern_set_match(struct pattern *pattern, uint32_t communicator, bool any_source)
{
    uint32_t match = communicator * 2 + any_source;
    if (match == 0 && pattern->match == NULL)
        return;
    if (pattern->match == NULL)
        pattern->match = xcalloc(pattern->capacity, sizeof *pattern->match);
    pattern->match[pattern->n_messages - 1] = match;
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
    if (pattern_append(pattern, (uint32_t)values[COLUMN_SRC].u64, (uint32_t)values[COLUMN_DST].u64,
                       values[COLUMN_BYTES].u64) != 0)
        return error_set(error, "more than %d messages", INT32_MAX);
    pattern_set_posts(pattern, reader->columns[COLUMN_SEND].present ? &values[COLUMN_SEND].real : NULL,
                      reader->columns[COLUMN_RECV].present ? &values[COLUMN_RECV].real : NULL);
    if (values[COLUMN_COMM].u64 > PATTERN_COMMUNICATOR_MAX)
        return error_set(error, "column 'comm': %llu; expected at most %u", (unsigned long long)values[COLUMN_COMM].u64,
                         PATTERN_COMMUNICATOR_MAX);
    if (values[COLUMN_ANY].u64 > 1)
        return error_set(error, "column 'any_source': %llu; expected 0 or 1",
                         (unsigned long long)values[COLUMN_ANY].u64);
    pattern_set_match(pattern, (uint32_t)values[COLUMN_COMM].u64, values[COLUMN_ANY].u64 == 1);
    return 0;
}

int pattern_read_csv(const char *path, size_t n_ranks, struct pattern *pattern, struct error *error)
{
    struct csv_column columns[COLUMN_COUNT] = {
        [COLUMN_SRC] = {.name = "src", .kind = CSV_U64},
        [COLUMN_DST] = {.name = "dst", .kind = CSV_U64},
        [COLUMN_BYTES] = {.name = "bytes", .kind = CSV_U64},
        [COLUMN_SEND] = {.name = "send_s", .kind = CSV_REAL, .optional = true},
        [COLUMN_RECV] = {.name = "recv_s", .kind = CSV_REAL, .optional = true},
        [COLUMN_COMM] = {.name = "comm", .kind = CSV_U64, .optional = true},
        [COLUMN_ANY] = {.name = "any_source", .kind = CSV_U64, .optional = true},
    };
    struct pattern read = {0};
    struct pattern_reader reader = {.pattern = &read, .n_ranks = n_ranks, .columns = columns};
    if (csv_read(path, columns, COLUMN_COUNT, add_row, &reader, error) != 0) {
        pattern_release(&read);
        return -1;
    }
    *pattern = read;
    return 0;
}

void pattern_release(struct pattern *pattern)
{
    free(pattern->src);
    free(pattern->dst);
    free(pattern->bytes);
    free(pattern->send_s);
    free(pattern->recv_s);
    free(pattern->match);
    *pattern = (struct pattern){0};
}
