/* The first N processes of a group stand for all: a pair order in which every beginning has the mix of domains and
 * caches of the whole is made here, one pair after the other. */
#include "calibrate/measure/group_pairs.h"

#include <stdlib.h>

#include "calibrate/measure/levels.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

/* Describes a rank while pairs are made. Ranks of one socket, NUMA node and L3 have the same cache number. */
struct member {
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
    int order = COMPARE(a->socket, b->socket);
    if (order == 0)
        order = COMPARE(a->numa, b->numa);
    return order != 0 ? order : COMPARE(a->l3, b->l3);
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int order = compare_places(a, b);
    return order != 0 ? order : COMPARE(a->rank, b->rank);
}

static int compare_turns(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int order = COMPARE(a->turn, b->turn);
    if (order == 0)
        order = COMPARE(a->cache, b->cache);
    return order != 0 ? order : COMPARE(a->rank, b->rank);
}

static int compare_ranks(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return COMPARE(a->rank, b->rank);
}

/* Makes the members of a side, in the order asked for; caches are numbered from 0. */
static struct member *make_members(const struct placement *placement, const int *ranks, size_t n,
                                   int (*compare)(const void *, const void *))
{
    struct member *members = xcalloc(n, sizeof *members);
    for (size_t i = 0; i < n; i++)
        members[i] = (struct member){.socket = placement->socket[ranks[i]],
                                     .numa = placement->numa[ranks[i]],
                                     .l3 = placement->l3[ranks[i]],
                                     .rank = ranks[i]};
    qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 1; i < n; i++) {
        bool same = compare_places(&members[i - 1], &members[i]) == 0;
        members[i].cache = members[i - 1].cache + !same;
        members[i].turn = same ? members[i - 1].turn + 1 : 0;
    }
    qsort(members, n, sizeof *members, compare);
    return members;
}

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

/* Describes one socket while its pairs are made. */
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

void group_pairs_make(const struct placement *placement, struct level_group *group)
{
    bool one_side = group->n[1] == 0;
    size_t smaller = group->n[0] < group->n[1] ? group->n[0] : group->n[1];
    group->n_pairs = one_side ? group->n[0] / 2 : smaller;
    group->pairs = xcalloc(group->n_pairs, sizeof *group->pairs);
    (one_side ? pair_socket : pair_sides)(placement, group);
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
