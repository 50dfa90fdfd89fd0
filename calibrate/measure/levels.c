/* A calibration has time for a few pairs of a level: they must be spread over the job, so that no single socket, node
 * or rank speaks for all. */
#include "calibrate/measure/levels.h"

#include <stdlib.h>

#include "calibrate/measure/mpi_job.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

enum domain levels_domain(const struct placement *placement, int first, int second)
{
    if (placement->l3[first] != PLACEMENT_UNKNOWN && placement->l3[first] == placement->l3[second])
        return DOMAIN_L3;
    if (placement->numa[first] != PLACEMENT_UNKNOWN && placement->numa[first] == placement->numa[second])
        return DOMAIN_NUMA;
    return DOMAIN_PACKAGE;
}

struct key {
    uint32_t node;
    uint32_t socket;
    uint32_t numa;
    uint32_t l3;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = COMPARE(a->node, b->node);
    if (order == 0)
        order = COMPARE(a->socket, b->socket);
    if (order == 0)
        order = COMPARE(a->numa, b->numa);
    return order != 0 ? order : COMPARE(a->l3, b->l3);
}

/* Counts pairs of ranks that share the socket and, where asked for, the known NUMA node and L3. keys gives room for n.
 */
static uint64_t count_sharing(const struct placement *placement, const int *ranks, size_t n, bool numa, bool l3,
                              struct key *keys)
{
    size_t n_keys = 0;
    for (size_t i = 0; i < n; i++) {
        size_t rank = ranks != NULL ? (size_t)ranks[i] : i;
        if ((numa && placement->numa[rank] == PLACEMENT_UNKNOWN) || (l3 && placement->l3[rank] == PLACEMENT_UNKNOWN))
            continue;
        keys[n_keys++] = (struct key){placement->node[rank], placement->socket[rank], numa ? placement->numa[rank] : 0,
                                      l3 ? placement->l3[rank] : 0};
    }
    qsort(keys, n_keys, sizeof *keys, compare_keys);
    uint64_t n_pairs = 0, before = 0; /* ranks of the same key before this one: each makes a pair with it */
    for (size_t i = 1; i < n_keys; i++) {
        before = compare_keys(&keys[i - 1], &keys[i]) == 0 ? before + 1 : 0;
        n_pairs += before;
    }
    return n_pairs;
}

void levels_count_domains(const struct placement *placement, const int *ranks, size_t n, uint64_t n_pairs[DOMAIN_COUNT])
{
    struct key *keys = xcalloc(n, sizeof *keys);
    uint64_t socket = count_sharing(placement, ranks, n, false, false, keys);
    uint64_t l3 = count_sharing(placement, ranks, n, false, true, keys);
    uint64_t numa = count_sharing(placement, ranks, n, true, false, keys);
    uint64_t both = count_sharing(placement, ranks, n, true, true, keys);
    n_pairs[DOMAIN_NONE] = 0;
    n_pairs[DOMAIN_L3] = l3;
    n_pairs[DOMAIN_NUMA] = numa - both;
    n_pairs[DOMAIN_PACKAGE] = socket - l3 - n_pairs[DOMAIN_NUMA];
    free(keys);
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

/* Holds what is asked for, and the pairs found so far. */
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

/* Says whether two ranks are in the same socket, or node where the level is between nodes: a pair uses that up. */
static bool same_cell(const struct search *search, int a, int b)
{
    const struct placement *placement = search->placement;
    return placement->node[a] == placement->node[b] &&
           (search->level == LEVEL_INTER_NODE || placement->socket[a] == placement->socket[b]);
}

/* Says whether a rank is in at most max_rank pairs, and its cell in at most max_cell. */
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

static size_t find_pairs(const struct placement *placement, enum level level, enum domain domain, size_t max_pairs,
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

size_t levels_domain_pairs(const struct placement *placement, enum domain domain, size_t max_pairs, struct pair *pairs)
{
    return find_pairs(placement, LEVEL_INTRA_SOCKET, domain, max_pairs, pairs);
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
    return find_pairs(placement, level, most, max_pairs, pairs);
}

size_t level_next_n(size_t n, size_t last)
{
    return n == last ? last + 1 : 2 * n > last ? last : 2 * n;
}
