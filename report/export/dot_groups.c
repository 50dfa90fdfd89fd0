/* The ranks come sorted by place, so that those of one box stand behind each other; a box is a stretch of them. */
#include "report/export/dot_groups.h"

#include <inttypes.h>
#include <stdlib.h>

#include "share/base/array.h"

enum coarseness { BY_RANK, BY_SOCKET, BY_NODE, BY_NODES };

struct placed_rank {
    uint32_t rank;
    int64_t node, socket; /* -1: not known */
    size_t nth_node;
    const char *host;
};

struct placed_ranks {
    struct placed_rank *list; /* [n] */
    size_t n, n_nodes;
};

static int read_places(struct export *export, struct rank_groups *groups, struct placed_ranks *ranks)
{
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT rank, coalesce(node, -1), coalesce(socket, -1), coalesce(host, 'node not known') FROM process"
                " LEFT JOIN node ON node.id = process.node ORDER BY 2, 3, 1",
                export->error);
    while (cursor_next(&rows)) {
        struct placed_rank placed = {.rank = (uint32_t)cursor_integer(&rows, 0),
                                     .node = cursor_integer(&rows, 1),
                                     .socket = cursor_integer(&rows, 2)};
        const struct placed_rank *last = ranks->n > 0 ? &ranks->list[ranks->n - 1] : NULL;
        if (!export->selection.wanted[placed.rank])
            continue;
        bool same_node = last != NULL && last->node == placed.node;
        placed.host = same_node ? last->host : cursor_text(&rows, 3, &groups->pool);
        ranks->n_nodes += !same_node;
        placed.nth_node = ranks->n_nodes - 1;
        if (array_grow(&ranks->list, ranks->n, sizeof placed) != 0)
            cursor_no_memory(&rows);
        else
            ranks->list[ranks->n++] = placed;
    }
    return cursor_close(&rows);
}

/* Says whether two neighbours are in one group. */
static bool together(const struct placed_ranks *ranks, const struct placed_rank *a, const struct placed_rank *b,
                     enum coarseness coarseness)
{
    size_t stretch = (ranks->n_nodes + MAX_GROUPS - 1) / MAX_GROUPS;
    switch (coarseness) {
    case BY_RANK:
        return false;
    case BY_SOCKET:
        return a->node == b->node && a->socket == b->socket;
    case BY_NODE:
        return a->node == b->node;
    default:
        return a->nth_node / stretch == b->nth_node / stretch;
    }
}

static size_t count_groups(const struct placed_ranks *ranks, enum coarseness coarseness)
{
    size_t n = ranks->n > 0;
    for (size_t i = 1; i < ranks->n; i++)
        n += !together(ranks, &ranks->list[i - 1], &ranks->list[i], coarseness);
    return n;
}

static int label_group(struct rank_group *group, enum coarseness coarseness)
{
    if (coarseness == BY_RANK)
        return asprintf(&group->label, "rank %" PRIu32, group->first_rank);
    if (coarseness == BY_SOCKET && group->socket >= 0)
        return asprintf(&group->label, "socket %" PRId64 "\n%" PRIu32 " ranks", group->socket, group->n_ranks);
    return asprintf(&group->label, "%s%s\n%" PRIu32 " ranks", group->host, coarseness == BY_NODES ? " ..." : "",
                    group->n_ranks);
}

int rank_groups_make(struct export *export, struct rank_groups *groups)
{
    static const char *const what[] = {"", "; a box is a socket", "; a box is a node", "; a box is several nodes"};
    struct placed_ranks ranks = {0};
    enum coarseness coarseness = BY_RANK;
    *groups = (struct rank_groups){0};
    int result = read_places(export, groups, &ranks);
    while (coarseness < BY_NODES && count_groups(&ranks, coarseness) > MAX_GROUPS)
        coarseness++;
    groups->of_rank = calloc(export->selection.n_ranks + 1, sizeof *groups->of_rank);
    groups->list = calloc(count_groups(&ranks, coarseness) + 1, sizeof *groups->list);
    if (result == 0 && (groups->of_rank == NULL || groups->list == NULL))
        result = error_set(export->error, "%s: no memory for %zu ranks", export->path, ranks.n);
    for (size_t i = 0; result == 0 && i < ranks.n; i++) {
        const struct placed_rank *rank = &ranks.list[i];
        if (i == 0 || !together(&ranks, rank - 1, rank, coarseness))
            groups->list[groups->n++] = (struct rank_group){
                .node = rank->node, .socket = rank->socket, .host = rank->host, .first_rank = rank->rank};
        groups->list[groups->n - 1].n_ranks++;
        groups->of_rank[rank->rank] = (uint32_t)groups->n - 1;
    }
    for (size_t i = 0; result == 0 && i < groups->n; i++)
        if (label_group(&groups->list[i], coarseness) < 0) {
            groups->list[i].label = NULL;
            result = error_set(export->error, "%s: no memory for %zu ranks", export->path, ranks.n);
        }
    groups->nodes = coarseness <= BY_SOCKET;
    groups->sockets = coarseness == BY_RANK;
    groups->what = what[coarseness];
    free(ranks.list);
    return result;
}

void rank_groups_release(struct rank_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        free(groups->list[i].label);
    free(groups->list);
    free(groups->of_rank);
    pool_release(&groups->pool);
    *groups = (struct rank_groups){0};
}
