/* A job may have any shape; groups should be large, alike and spread over nodes. Candidates are listed, and the best of
 * them is taken again and again. */
#include "calibrate/measure/groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrate/measure/group_pairs.h"
#include "share/base/memory.h"

/* Describes a socket, or a node, and its ranks: a stretch of the ranks sorted by place. */
struct cell {
    uint32_t node;
    uint32_t socket;
    size_t begin;
    size_t n;
};

struct seat {
    uint32_t node;
    uint32_t socket;
    int rank;
};

/* Describes what could be a group: one cell, or two, the one with the smaller numbers first. */
struct candidate {
    const struct cell *cells[2]; /* cells[1] NULL: one side */
    size_t usable;               /* processes of a socket (of a side, with two) that N can reach */
    bool taken;
};

static int compare_seats(const void *left, const void *right)
{
    const struct seat *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->socket != b->socket)
        return a->socket < b->socket ? -1 : 1;
    return a->rank - b->rank;
}

/* Puts larger cells first, but those of one node together where the groups lie within nodes. */
static int compare_sizes(const struct cell *a, const struct cell *b)
{
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static int compare_cells(const void *left, const void *right)
{
    return compare_sizes(left, right);
}

static int compare_cells_of_nodes(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return compare_sizes(a, b);
}

/* Sorts seats[n] by place and cuts them into cells[n]; returns their number. */
static size_t make_cells(const struct placement *placement, bool by_node, struct seat *seats, struct cell *cells)
{
    size_t n = placement->n_ranks, n_cells = 0;
    for (size_t i = 0; i < n; i++)
        seats[i] = (struct seat){placement->node[i], by_node ? 0 : placement->socket[i], (int)i};
    qsort(seats, n, sizeof *seats, compare_seats);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || seats[i].node != seats[i - 1].node || seats[i].socket != seats[i - 1].socket)
            cells[n_cells++] = (struct cell){.node = seats[i].node, .socket = seats[i].socket, .begin = i};
        cells[n_cells - 1].n++;
    }
    return n_cells;
}

/* Makes candidates: every cell of two ranks (intra_socket), or cells of like size two by two, of one node for
 * inter_socket. */
static size_t make_candidates(enum level level, struct cell *cells, size_t n_cells, struct candidate *candidates)
{
    size_t n = 0;
    qsort(cells, n_cells, sizeof *cells, level == LEVEL_INTER_SOCKET ? compare_cells_of_nodes : compare_cells);
    for (size_t i = 0; i < n_cells; i++) {
        const struct cell *cell = &cells[i], *next = i + 1 < n_cells ? cell + 1 : NULL;
        if (level == LEVEL_INTRA_SOCKET) {
            if (cell->n > 1)
                candidates[n++] = (struct candidate){.cells = {cell}, .usable = cell->n / 2 * 2};
        } else if (next != NULL && (level == LEVEL_INTER_NODE || next->node == cell->node)) {
            bool ordered = cell->begin < next->begin;
            candidates[n++] = (struct candidate){.cells = {ordered ? cell : next, ordered ? next : cell},
                                                 .usable = cell->n < next->n ? cell->n : next->n};
            i++;
        }
    }
    return n;
}

static size_t uses_of(const struct candidate *const *chosen, int n_chosen, const struct cell *cell, bool of_node)
{
    size_t uses = 0;
    for (int i = 0; i < n_chosen; i++)
        uses += of_node ? chosen[i]->cells[0]->node == cell->node : chosen[i]->cells[0]->socket == cell->socket;
    return uses;
}

/* Chooses the next group: on a node with the fewest so far, the largest, of a socket number with the fewest. Returns
 * NULL if there are no more. */
static const struct candidate *choose(struct candidate *candidates, size_t n, const struct candidate *const *chosen,
                                      int n_chosen)
{
    struct candidate *best = NULL;
    size_t best_node = 0, best_socket = 0;
    for (size_t i = 0; i < n; i++) {
        struct candidate *candidate = &candidates[i];
        if (candidate->taken)
            continue;
        size_t node = uses_of(chosen, n_chosen, candidate->cells[0], true);
        size_t socket = uses_of(chosen, n_chosen, candidate->cells[0], false);
        if (best == NULL || node < best_node ||
            (node == best_node &&
             (candidate->usable > best->usable || (candidate->usable == best->usable && socket < best_socket)))) {
            best = candidate;
            best_node = node;
            best_socket = socket;
        }
    }
    if (best != NULL)
        best->taken = true;
    return best;
}

static void fill(const struct placement *placement, enum level level, const struct candidate *chosen,
                 const struct seat *seats, struct level_group *group)
{
    *group = (struct level_group){0};
    for (int side = 0; side < 2 && chosen->cells[side] != NULL; side++) {
        const struct cell *cell = chosen->cells[side];
        group->ranks[side] = xcalloc(cell->n, sizeof *group->ranks[side]);
        for (size_t i = 0; i < cell->n; i++)
            group->ranks[side][i] = seats[cell->begin + i].rank;
        group->n[side] = cell->n;
    }
    const struct cell *first = chosen->cells[0], *second = chosen->cells[1];
    if (level == LEVEL_INTRA_SOCKET)
        snprintf(group->name, sizeof group->name, "node%u.socket%u", first->node, first->socket);
    else if (level == LEVEL_INTER_SOCKET)
        snprintf(group->name, sizeof group->name, "node%u.socket%u-%u", first->node, first->socket, second->socket);
    else
        snprintf(group->name, sizeof group->name, "node%u-%u", first->node, second->node);
    group_pairs_make(placement, group);
}

int level_groups_find(const struct placement *placement, enum level level, int max_groups, struct level_group *groups)
{
    size_t n = placement->n_ranks;
    int found = 0;
    struct seat *seats = xcalloc(n, sizeof *seats);
    struct cell *cells = xcalloc(n, sizeof *cells);
    struct candidate *candidates = xcalloc(n, sizeof *candidates);
    const struct candidate **chosen = xcalloc((size_t)max_groups, sizeof *chosen);
    size_t n_cells = make_cells(placement, level == LEVEL_INTER_NODE, seats, cells);
    size_t n_candidates = make_candidates(level, cells, n_cells, candidates);
    for (; found < max_groups; found++) {
        chosen[found] = choose(candidates, n_candidates, chosen, found);
        if (chosen[found] == NULL)
            break;
        fill(placement, level, chosen[found], seats, &groups[found]);
    }
    free(seats);
    free(cells);
    free(candidates);
    free(chosen);
    return found;
}

void level_group_release(struct level_group *group)
{
    free(group->ranks[0]);
    free(group->ranks[1]);
    free(group->pairs);
    *group = (struct level_group){0};
}
