#include "levels.h"

#include <stdio.h>
#include <stdlib.h>

static bool listed(const struct pair *pairs, size_t n, int a, int b)
{
    for (size_t i = 0; i < n; i++)
        if ((pairs[i].first == a && pairs[i].second == b) || (pairs[i].first == b && pairs[i].second == a))
            return true;
    return false;
}

size_t levels_pairs(const struct placement *placement, enum machine_level level, size_t max_pairs, struct pair *pairs)
{
    size_t n = placement->n_ranks, found = 0;
    for (size_t i = 0; i < n && found < max_pairs; i++) {
        /* The firsts in the order 0, n/max, 2n/max, ..., 1, n/max + 1, ...: spread, and all of them in the end. */
        size_t columns = (n + max_pairs - 1) / max_pairs;
        size_t first = i % max_pairs * columns + i / max_pairs;
        for (size_t j = 1; j < n && first < n; j++) {
            size_t second = (first + j) % n;
            if (placement_level(placement, (uint32_t)first, (uint32_t)second) != level ||
                listed(pairs, found, (int)first, (int)second))
                continue;
            pairs[found++] = (struct pair){(int)first, (int)second};
            break;
        }
    }
    return found;
}

/* A socket, or a node, and its ranks: a stretch of the ranks sorted by place. */
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

static int compare_seats(const void *left, const void *right)
{
    const struct seat *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->socket != b->socket)
        return a->socket < b->socket ? -1 : 1;
    return a->rank - b->rank;
}

static int compare_ranks(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

static int side_fill(struct level_group *group, int side, const struct seat *seats, const struct cell *cell)
{
    group->ranks[side] = malloc(cell->n * sizeof *group->ranks[side]);
    if (group->ranks[side] == NULL)
        return -1;
    for (size_t i = 0; i < cell->n; i++)
        group->ranks[side][i] = seats[cell->begin + i].rank;
    qsort(group->ranks[side], cell->n, sizeof *group->ranks[side], compare_ranks);
    group->n[side] = cell->n;
    return 0;
}

/* One cell (intra_socket) with at least two ranks, or two cells whose smaller one is as large as possible. */
static int choose(const struct cell *cells, size_t n_cells, enum machine_level level, const struct cell *chosen[2])
{
    size_t best = level == LEVEL_INTRA_SOCKET ? 1 : 0;
    const struct cell *largest = NULL; /* of the cells so far that may pair with the next: of its node, or of all */
    chosen[0] = chosen[1] = NULL;
    for (size_t i = 0; i < n_cells; i++) {
        const struct cell *cell = &cells[i];
        if (level == LEVEL_INTRA_SOCKET) {
            if (cell->n > best) {
                best = cell->n;
                chosen[0] = cell;
            }
            continue;
        }
        if (largest != NULL && level == LEVEL_INTER_SOCKET && largest->node != cell->node)
            largest = NULL;
        size_t smaller = largest == NULL ? 0 : largest->n < cell->n ? largest->n : cell->n;
        if (smaller > best) {
            best = smaller;
            chosen[0] = largest;
            chosen[1] = cell;
        }
        if (largest == NULL || cell->n > largest->n)
            largest = cell;
    }
    return chosen[0] != NULL;
}

int level_group_find(const struct placement *placement, enum machine_level level, struct level_group *group)
{
    *group = (struct level_group){0};
    size_t n = placement->n_ranks, n_cells = 0;
    struct seat *seats = calloc(n + 1, sizeof *seats);
    struct cell *cells = calloc(n + 1, sizeof *cells);
    int result = seats == NULL || cells == NULL ? -1 : 0;
    if (result != 0)
        goto out;
    bool by_node = level == LEVEL_INTER_NODE;
    for (size_t i = 0; i < n; i++)
        seats[i] = (struct seat){placement->node[i], by_node ? 0 : placement->socket[i], (int)i};
    qsort(seats, n, sizeof *seats, compare_seats);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || seats[i].node != seats[i - 1].node || seats[i].socket != seats[i - 1].socket)
            cells[n_cells++] = (struct cell){.node = seats[i].node, .socket = seats[i].socket, .begin = i};
        cells[n_cells - 1].n++;
    }
    const struct cell *chosen[2];
    if (!choose(cells, n_cells, level, chosen))
        goto out;
    result = side_fill(group, 0, seats, chosen[0]);
    if (result == 0 && chosen[1] != NULL)
        result = side_fill(group, 1, seats, chosen[1]);
    if (level == LEVEL_INTRA_SOCKET)
        snprintf(group->name, sizeof group->name, "node%u.socket%u", chosen[0]->node, chosen[0]->socket);
    else if (level == LEVEL_INTER_SOCKET)
        snprintf(group->name, sizeof group->name, "node%u.socket%u-%u", chosen[0]->node, chosen[0]->socket,
                 chosen[1]->socket);
    else
        snprintf(group->name, sizeof group->name, "node%u-%u", chosen[0]->node, chosen[1]->node);
out:
    if (result != 0)
        level_group_release(group);
    free(seats);
    free(cells);
    return result;
}

void level_group_release(struct level_group *group)
{
    free(group->ranks[0]);
    free(group->ranks[1]);
    *group = (struct level_group){0};
}
