/* The rows of L.csv come in any order, so they are gathered first and then put at their rank. */
#include "share/base/placement.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/memory.h"

struct placement_row {
    uint64_t rank;
    uint32_t node;
    uint32_t socket;
    uint32_t numa;
    uint32_t l3;
    size_t line;
};

struct placement_rows {
    struct placement_row *rows;
    size_t n;
};

/* Accepts a number below PLACEMENT_UNKNOWN; gives PLACEMENT_UNKNOWN where the column is absent, the field empty or `-`.
 */
static int parse_optional(const char *name, const char *text, uint32_t *value, struct error *error)
{
    *value = PLACEMENT_UNKNOWN;
    if (text == NULL || text[0] == '\0' || strcmp(text, "-") == 0)
        return 0;
    char *end = NULL;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0 || number >= PLACEMENT_UNKNOWN)
        return error_set(error, "%s '%.40s': expected a number below %u, or -", name, text, PLACEMENT_UNKNOWN);
    *value = (uint32_t)number;
    return 0;
}

static int add_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    struct placement_rows *rows = context;
    if (values[1].u64 > UINT32_MAX || values[2].u64 > UINT32_MAX)
        return error_set(error, "node and socket are numbers below %u", UINT32_MAX);
    array_grow(&rows->rows, rows->n, sizeof *rows->rows);
    struct placement_row row = {
        .rank = values[0].u64, .node = (uint32_t)values[1].u64, .socket = (uint32_t)values[2].u64, .line = line};
    if (parse_optional("numa", values[3].text, &row.numa, error) != 0 ||
        parse_optional("l3", values[4].text, &row.l3, error) != 0)
        return -1;
    rows->rows[rows->n++] = row;
    return 0;
}

void placement_init(struct placement *placement, size_t n_ranks)
{
    *placement = (struct placement){.n_ranks = n_ranks,
                                    .node = xcalloc(n_ranks + 1, sizeof *placement->node),
                                    .socket = xcalloc(n_ranks + 1, sizeof *placement->socket),
                                    .numa = xcalloc(n_ranks + 1, sizeof *placement->numa),
                                    .l3 = xcalloc(n_ranks + 1, sizeof *placement->l3)};
    for (size_t i = 0; i < n_ranks; i++)
        placement->numa[i] = placement->l3[i] = PLACEMENT_UNKNOWN;
}

/* Puts each row at its rank; seen[rank] is set once a row was there. */
static int place(const char *path, const struct placement_rows *rows, struct placement *placement, bool *seen,
                 struct error *error)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct placement_row *row = &rows->rows[i];
        if (row->rank >= rows->n)
            return error_set(error, "%s:%zu: rank %llu, but there are %zu rows: expected ranks 0 to %zu, each once",
                             path, row->line, (unsigned long long)row->rank, rows->n, rows->n - 1);
        if (seen[row->rank])
            return error_set(error, "%s:%zu: rank %llu appears twice", path, row->line, (unsigned long long)row->rank);
        seen[row->rank] = true;
        placement->node[row->rank] = row->node;
        placement->socket[row->rank] = row->socket;
        placement->numa[row->rank] = row->numa;
        placement->l3[row->rank] = row->l3;
    }
    return 0;
}

int placement_read_csv(const char *path, struct placement *placement, struct error *error)
{
    struct csv_column columns[] = {{.name = "rank", .kind = CSV_U64},
                                   {.name = "node", .kind = CSV_U64},
                                   {.name = "socket", .kind = CSV_U64},
                                   {.name = "numa", .kind = CSV_TEXT, .optional = true},
                                   {.name = "l3", .kind = CSV_TEXT, .optional = true}};
    struct placement_rows rows = {0};
    struct placement read = {0};
    bool *seen = NULL;
    int result = csv_read(path, columns, sizeof columns / sizeof columns[0], CSV_WHOLE, add_row, NULL, &rows, error);
    if (result == 0 && rows.n == 0)
        result = error_set(error, "%s: no ranks; expected a row `rank,node,socket` for each", path);
    else if (result == 0 && rows.n > UINT32_MAX)
        result = error_set(error, "%s: %zu ranks are more than MPI can have", path, rows.n);
    if (result == 0) {
        seen = xcalloc(rows.n, sizeof *seen);
        placement_init(&read, rows.n);
        result = place(path, &rows, &read, seen, error);
    }
    if (result == 0)
        *placement = read;
    else
        placement_release(&read);
    free(seen);
    free(rows.rows);
    return result;
}

void placement_write_csv(FILE *stream, const struct placement *placement)
{
    fputs("rank,node,socket\n", stream);
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        fprintf(stream, "%zu,%u,%u\n", rank, placement->node[rank], placement->socket[rank]);
}

void placement_release(struct placement *placement)
{
    free(placement->node);
    free(placement->socket);
    free(placement->numa);
    free(placement->l3);
    *placement = (struct placement){0};
}

enum level placement_level(const struct placement *placement, uint32_t src, uint32_t dst)
{
    if (src == dst)
        return LEVEL_SELF;
    if (placement->node[src] != placement->node[dst])
        return LEVEL_INTER_NODE;
    return placement->socket[src] == placement->socket[dst] ? LEVEL_INTRA_SOCKET : LEVEL_INTER_SOCKET;
}
