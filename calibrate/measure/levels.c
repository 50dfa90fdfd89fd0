/* A calibration has time for a few pairs of a level: they must be spread over the job, so that no single socket, node
 * or rank speaks for all. */
#include "calibrate/measure/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/notes.h"
#include "share/base/memory.h"
#include "share/base/order.h"

enum domain levels_domain(const struct placement *placement, int first, int second)
{
    if (placement->l3[first] != PLACEMENT_UNKNOWN && placement->l3[first] == placement->l3[second])
        return DOMAIN_L3;
    if (placement->numa[first] != PLACEMENT_UNKNOWN && placement->numa[first] == placement->numa[second])
        return DOMAIN_NUMA;
    return DOMAIN_PACKAGE;
}

/* A rank and its place. Ranks of one socket, NUMA node and L3 have the same cache number. */
struct member {
    uint32_t node;
    uint32_t socket;
    uint32_t numa;
    uint32_t l3;
    int rank;
    size_t cache;
    size_t turn; /* how many ranks of its cache come before it */
    bool used;
};

static int compare_places(const struct member *a, const struct member *b)
{
    return ORDER(a->node, b->node) ?: ORDER(a->socket, b->socket) ?: ORDER(a->numa, b->numa) ?: ORDER(a->l3, b->l3);
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return compare_places(a, b) ?: ORDER(a->rank, b->rank);
}

static int compare_turns(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return ORDER(a->turn, b->turn) ?: ORDER(a->cache, b->cache) ?: ORDER(a->rank, b->rank);
}

static int compare_ranks(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return ORDER(a->rank, b->rank);
}

/* Makes the members of ranks[n], or of ranks 0 to n - 1 (NULL), in the order asked for; caches are numbered from 0. */
static struct member *make_members(const struct placement *placement, const int *ranks, size_t n,
                                   int (*compare)(const void *, const void *))
{
    struct member *members = xcalloc(n, sizeof *members);
    for (size_t i = 0; i < n; i++) {
        int rank = ranks != NULL ? ranks[i] : (int)i;
        members[i] = (struct member){.node = placement->node[rank],
                                     .socket = placement->socket[rank],
                                     .numa = placement->numa[rank],
                                     .l3 = placement->l3[rank],
                                     .rank = rank};
    }
    qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 1; i < n; i++) {
        bool same = compare_places(&members[i - 1], &members[i]) == 0;
        members[i].cache = members[i - 1].cache + !same;
        members[i].turn = same ? members[i - 1].turn + 1 : 0;
    }
    qsort(members, n, sizeof *members, compare);
    return members;
}

void levels_count_domains(const struct placement *placement, const int *ranks, size_t n, uint64_t n_pairs[DOMAIN_COUNT])
{
    struct member *members = make_members(placement, ranks, n, compare_members);
    memset(n_pairs, 0, DOMAIN_COUNT * sizeof *n_pairs);
    for (size_t i = 0; i < n; i++) {
        const struct member *first = &members[i];
        for (size_t j = i + 1; j < n && members[j].node == first->node && members[j].socket == first->socket; j++)
            n_pairs[levels_domain(placement, first->rank, members[j].rank)]++;
    }
    free(members);
}

void levels_domains(const struct placement *placement, uint64_t n_pairs[DOMAIN_COUNT])
{
    levels_count_domains(placement, NULL, placement->n_ranks, n_pairs);
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++)
        if (n_pairs[domain] == n_pairs[DOMAIN_L3] + n_pairs[DOMAIN_NUMA] + n_pairs[DOMAIN_PACKAGE]) {
            n_pairs[DOMAIN_NONE] = n_pairs[domain];
            n_pairs[domain] = 0;
            break;
        }
}

void levels_note_domains(FILE *stream, const struct placement *placement)
{
    uint64_t n_pairs[DOMAIN_COUNT];
    levels_domains(placement, n_pairs);
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++)
        if (n_pairs[domain] > 0)
            fprintf(stream, MEASURE_NOTE "domain %s %s %llu\n", level_name[LEVEL_INTRA_SOCKET], domain_name[domain],
                    (unsigned long long)n_pairs[domain]);
}

/* What is asked for, and the pairs found so far. */
struct search {
    const struct placement *placement;
    enum level level;
    enum domain domain; /* DOMAIN_NONE: any */
    size_t max_pairs;
    struct pair *pairs;
    size_t found;
    bool *alone; /* [n_ranks] no partner at all */
};

static bool matches(const struct search *search, int first, int second)
{
    return placement_level(search->placement, (uint32_t)first, (uint32_t)second) == search->level &&
           (search->domain == DOMAIN_NONE || levels_domain(search->placement, first, second) == search->domain);
}

/* Returns whether two ranks are in the same socket, or node where the level is between nodes: a pair uses that up. */
static bool same_cell(const struct search *search, int a, int b)
{
    const struct placement *placement = search->placement;
    return placement->node[a] == placement->node[b] &&
           (search->level == LEVEL_INTER_NODE || placement->socket[a] == placement->socket[b]);
}

/* Returns whether a rank is in at most max_rank pairs, and its cell in at most max_cell. */
static bool is_fresh(const struct search *search, int rank, size_t max_cell, size_t max_rank)
{
    size_t cell_uses = 0, rank_uses = 0;
    for (size_t i = 0; i < search->found; i++) {
        const struct pair *pair = &search->pairs[i];
        cell_uses += same_cell(search, pair->first, rank) || same_cell(search, pair->second, rank);
        rank_uses += pair->first == rank || pair->second == rank;
    }
    return cell_uses <= max_cell && rank_uses <= max_rank;
}

static bool is_found(const struct search *search, int a, int b)
{
    for (size_t i = 0; i < search->found; i++)
        if ((search->pairs[i].first == a && search->pairs[i].second == b) ||
            (search->pairs[i].first == b && search->pairs[i].second == a))
            return true;
    return false;
}

/* Finds a fresh partner. With i pairs found, the search begins i / max_pairs of the way through all partners, which
 * follow first in ascending order. Returns -1 if there is none. */
static int find_partner(const struct search *search, int first, size_t max_cell, size_t max_rank)
{
    size_t n = search->placement->n_ranks, partners = 0;
    for (size_t j = 1; j < n; j++)
        partners += matches(search, first, (int)(((size_t)first + j) % n));
    search->alone[first] = partners == 0;
    size_t begin = search->found * partners / search->max_pairs, passed = 0;
    for (size_t j = 1; j < 2 * n && passed < begin + partners; j++) {
        int second = (int)(((size_t)first + j) % n);
        if (!matches(search, first, second))
            continue;
        if (passed++ >= begin && is_fresh(search, second, max_cell, max_rank) && !is_found(search, first, second))
            return second;
    }
    return -1;
}

/* Goes once through all ranks as first of a pair, in the order 0, n/max, 2n/max, ..., 1, n/max + 1, ... */
static void search_pass(struct search *search, size_t max_cell, size_t max_rank)
{
    size_t n = search->placement->n_ranks, columns = (n + search->max_pairs - 1) / search->max_pairs;
    for (size_t i = 0; i < columns * search->max_pairs && search->found < search->max_pairs; i++) {
        size_t first = i % search->max_pairs * columns + i / search->max_pairs;
        if (first >= n || search->alone[first] || !is_fresh(search, (int)first, max_cell, max_rank))
            continue;
        int second = find_partner(search, (int)first, max_cell, max_rank);
        if (second >= 0)
            search->pairs[search->found++] =
                (struct pair){(int)first < second ? (int)first : second, (int)first < second ? second : (int)first};
    }
}

size_t levels_domain_pairs(const struct placement *placement, enum level level, enum domain domain, size_t max_pairs,
                           struct pair *pairs)
{
    struct search search = {.placement = placement,
                            .level = level,
                            .domain = domain,
                            .max_pairs = max_pairs,
                            .pairs = pairs,
                            .alone = xcalloc(placement->n_ranks, sizeof(bool))};
    for (size_t max_cell = 0; max_cell < max_pairs; max_cell++)
        for (size_t max_rank = 0; max_rank <= max_cell && search.found < max_pairs; max_rank++)
            search_pass(&search, max_cell, max_rank);
    free(search.alone);
    return search.found;
}

size_t levels_pairs(const struct placement *placement, enum level level, size_t max_pairs, struct pair *pairs)
{
    uint64_t n_pairs[DOMAIN_COUNT];
    enum domain most = DOMAIN_NONE;
    if (level == LEVEL_INTRA_SOCKET) {
        levels_domains(placement, n_pairs);
        for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++)
            if (n_pairs[domain] > 0 && (most == DOMAIN_NONE || n_pairs[domain] >= n_pairs[most]))
                most = (enum domain)domain;
    }
    return levels_domain_pairs(placement, level, most, max_pairs, pairs);
}

size_t level_next_n(size_t n, size_t last)
{
    return n == last ? last + 1 : 2 * n > last ? last : 2 * n;
}

/* A job may have any shape; groups should be large, alike and spread over nodes. Candidates are listed, and the best of
 * them is taken again and again.
 *
 * The first N processes of a group stand for all: a pair order in which every beginning has the mix of domains and
 * caches of the whole is made here, one pair after the other. */

/* Pairs two sides: each is dealt out over its caches in turn, then one against the other. */
static void pair_sides(const struct placement *placement, struct level_group *group)
{
    struct member *first = make_members(placement, group->ranks[0], group->n[0], compare_turns);
    struct member *second = make_members(placement, group->ranks[1], group->n[1], compare_turns);
    for (size_t i = 0; i < group->n_pairs; i++)
        group->pairs[i] = (struct pair){first[i].rank, second[i].rank};
    free(first);
    free(second);
}

/* One socket while its pairs are made. */
struct mixing {
    const struct placement *placement;
    struct member *members; /* [n] by rank */
    size_t n;
    size_t *uses;                   /* how often each cache is used */
    uint64_t n_pairs[DOMAIN_COUNT]; /* pairs of all ranks of the group */
    uint64_t taken[DOMAIN_COUNT];
    bool exhausted[DOMAIN_COUNT]; /* no two ranks that are left */
};

/* Picks an unused rank of a cache with the fewest uses, of that domain with first unless first is NULL. Among n such
 * ranks it takes the one n / 2 ranks further for a second, the lowest for a first. Returns NULL if there is none. */
static struct member *pick(const struct mixing *mixing, const struct member *first, enum domain domain)
{
    size_t fewest = SIZE_MAX, n = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t wanted = first == NULL ? 0 : n / 2;
        for (size_t i = 0; i < mixing->n; i++) {
            struct member *member = &mixing->members[i];
            if (member->used || member == first ||
                (first != NULL && levels_domain(mixing->placement, first->rank, member->rank) != domain))
                continue;
            size_t uses = mixing->uses[member->cache];
            if (pass == 0 && uses < fewest) {
                fewest = uses;
                n = 0;
            }
            if (uses != fewest)
                continue;
            if (pass == 0)
                n++;
            else if (wanted-- == 0)
                return member;
        }
    }
    return NULL;
}

/* Returns the domain that is furthest behind its share of the pairs, once n_made + 1 are made. */
static enum domain next_domain(const struct mixing *mixing, size_t n_made, double n_all)
{
    enum domain next = DOMAIN_NONE;
    double most = 0;
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++) {
        double share = (double)mixing->n_pairs[domain] / n_all;
        double behind = (double)(n_made + 1) * share - (double)mixing->taken[domain];
        if (mixing->n_pairs[domain] > 0 && !mixing->exhausted[domain] && (next == DOMAIN_NONE || behind > most)) {
            next = (enum domain)domain;
            most = behind;
        }
    }
    return next;
}

/* Picks two ranks of the domain: those of the least used caches first. Returns false if no two are left. */
static bool pick_pair(struct mixing *mixing, enum domain domain, struct pair *pair)
{
    struct member *first = pick(mixing, NULL, domain), *second = first == NULL ? NULL : pick(mixing, first, domain);
    for (size_t i = 0; i < mixing->n && second == NULL; i++) {
        first = &mixing->members[i];
        second = first->used ? NULL : pick(mixing, first, domain);
    }
    if (second == NULL)
        return false;
    first->used = second->used = true;
    mixing->uses[first->cache]++;
    mixing->uses[second->cache]++;
    *pair = first->rank < second->rank ? (struct pair){first->rank, second->rank}
                                       : (struct pair){second->rank, first->rank};
    return true;
}

static void pair_socket(const struct placement *placement, struct level_group *group)
{
    size_t n = group->n[0], made = 0;
    struct mixing mixing = {.placement = placement, .n = n};
    mixing.members = make_members(placement, group->ranks[0], n, compare_ranks);
    mixing.uses = xcalloc(n, sizeof *mixing.uses);
    levels_count_domains(placement, group->ranks[0], n, mixing.n_pairs);
    double n_all = (double)n * (double)(n - 1) / 2;
    while (made < group->n_pairs) {
        enum domain domain = next_domain(&mixing, made, n_all);
        if (pick_pair(&mixing, domain, &group->pairs[made])) {
            mixing.taken[domain]++;
            made++;
        } else {
            mixing.exhausted[domain] = true;
        }
    }
    free(mixing.members);
    free(mixing.uses);
}

static void make_pairs(const struct placement *placement, struct level_group *group)
{
    bool one_side = group->n[1] == 0;
    size_t smaller = group->n[0] < group->n[1] ? group->n[0] : group->n[1];
    group->n_pairs = one_side ? group->n[0] / 2 : smaller;
    group->pairs = xcalloc(group->n_pairs, sizeof *group->pairs);
    (one_side ? pair_socket : pair_sides)(placement, group);
}

/* A socket, or a node, and its ranks: a stretch of the ranks sorted by place. */
struct cell {
    uint32_t node;
    uint32_t socket;
    size_t begin;
    size_t n;
};

/* What could be a group: one cell, or two, the one with the smaller numbers first. */
struct candidate {
    const struct cell *cells[2]; /* cells[1] NULL: one side */
    size_t usable;               /* processes of a socket (of a side, with two) that N can reach */
    bool taken;
};

/* Puts larger cells first, but those of one node together where the groups lie within nodes. */
static int compare_cells(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    return ORDER(b->n, a->n) ?: ORDER(a->begin, b->begin);
}

static int compare_cells_of_nodes(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    return ORDER(a->node, b->node) ?: compare_cells(a, b);
}

/* Sorts seats[n] by place and cuts them into cells[n]; returns their number. */
static size_t make_cells(const struct placement *placement, bool by_node, struct member *seats, struct cell *cells)
{
    size_t n = placement->n_ranks, n_cells = 0;
    for (size_t i = 0; i < n; i++)
        seats[i] =
            (struct member){.node = placement->node[i], .socket = by_node ? 0 : placement->socket[i], .rank = (int)i};
    qsort(seats, n, sizeof *seats, compare_members);
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
                 const struct member *seats, struct level_group *group)
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
    make_pairs(placement, group);
}

int level_groups_find(const struct placement *placement, enum level level, int max_groups, struct level_group *groups)
{
    size_t n = placement->n_ranks;
    int found = 0;
    struct member *seats = xcalloc(n, sizeof *seats);
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

bool level_group_pair(const struct placement *placement, const struct level_group *group, enum domain domain,
                      struct pair *pair)
{
    for (size_t i = 0; i < group->n_pairs; i++)
        if (domain == DOMAIN_NONE ||
            levels_domain(placement, group->pairs[i].first, group->pairs[i].second) == domain) {
            *pair = group->pairs[i];
            return true;
        }
    for (size_t i = 0; i < group->n[0] && group->n[1] == 0; i++)
        for (size_t j = i + 1; j < group->n[0]; j++)
            if (levels_domain(placement, group->ranks[0][i], group->ranks[0][j]) == domain) {
                *pair = (struct pair){group->ranks[0][i], group->ranks[0][j]};
                return true;
            }
    return false;
}
