/* Goes from call site to call site: the computation before one may be late on one rank, unevenly divided among ranks,
 * or late on whichever rank comes there. What is none of these is chance. */
#include "report/diagnose/site_sums.h"

#include <stdlib.h>

enum { POSTS_SEND = 1, POSTS_RECEIVE = 2 };

/* Holds what all sites are gone through with. */
struct site_walk {
    struct diagnosis *diagnosis;
    size_t *first;     /* [n_sites + 1] into by_site */
    uint32_t *by_site; /* [n_places] places in the order of sites, then ranks */
    uint8_t *posts;    /* [n_sites] */
    uint64_t *calls;   /* [n_sites] */
    double *cost_s;    /* [n_sites] */
    uint32_t *number;  /* [n_ranks] of the rank among those of the site */
    struct site_rank *ranks;
};

static void sort_places(struct site_walk *walk)
{
    const struct run_program *program = &walk->diagnosis->program;
    for (size_t i = 0; i < program->n_places; i++)
        walk->first[program->places[i].site + 1]++;
    for (size_t i = 0; i < program->n_sites; i++)
        walk->first[i + 1] += walk->first[i];
    for (size_t i = program->n_places; i-- > 0;)
        walk->by_site[--walk->first[program->places[i].site + 1]] = (uint32_t)i;
    for (size_t i = 0; i < program->n_sites; i++)
        walk->first[i] = walk->first[i + 1];
    walk->first[program->n_sites] = program->n_places;
}

/* Sums by site what all of them are compared by. */
static void sum_sites(struct site_walk *walk)
{
    const struct diagnosis *diagnosis = walk->diagnosis;
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_places; i++)
        walk->calls[program->places[i].site] += diagnosis->places[i].calls;
    for (size_t i = 0; i < diagnosis->n_events; i++)
        walk->cost_s[diagnosis->events[i].site] += diagnosis->events[i].cost_s;
    for (size_t i = 0; i < program->n_steps; i++) {
        uint32_t site = program->places[program->steps[i].place].site;
        walk->posts[site] |= program->steps[i].kind == STEP_SEND      ? POSTS_SEND
                             : program->steps[i].kind == STEP_RECEIVE ? POSTS_RECEIVE
                                                                      : 0;
    }
}

static int compare_ranks(const void *left, const void *right)
{
    const struct site_rank *a = left, *b = right;
    if (a->cost_s < b->cost_s || a->cost_s > b->cost_s)
        return a->cost_s > b->cost_s ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void fill_ranks(struct site_walk *walk, struct site_sums *sums)
{
    const struct diagnosis *diagnosis = walk->diagnosis;
    for (size_t i = walk->first[sums->site]; i < walk->first[sums->site + 1]; i++) {
        uint32_t place = walk->by_site[i], rank = diagnosis->program.places[place].rank;
        walk->number[rank] = (uint32_t)sums->n_ranks;
        sums->ranks[sums->n_ranks] =
            (struct site_rank){.rank = rank, .place = place, .computed_s = diagnosis_computed(diagnosis, place)};
        sums->computed_s += sums->ranks[sums->n_ranks++].computed_s;
    }
}

/* Sums events[0 .. n), the costliest first. */
static void fill_sums(struct site_walk *walk, const struct diagnosis_event *events, size_t n, struct site_sums *sums)
{
    double strong_s = 0;
    for (size_t i = 0; i < n && strong_s < SITE_STRONG * sums->cost_s; i++, sums->strong++) {
        strong_s += events[i].cost_s;
        sums->ranks[walk->number[events[i].rank]].strong++;
    }
    for (size_t i = 0; i < n; i++) {
        struct site_rank *rank = &sums->ranks[walk->number[events[i].rank]];
        rank->cost_s += events[i].cost_s;
        sums->direct_s += events[i].direct_s;
        if (events[i].cost_s < 0.1 * strong_s / sums->strong)
            continue;
        rank->late++;
        sums->late++;
    }
    qsort(sums->ranks, sums->n_ranks, sizeof *sums->ranks, compare_ranks);
}

static int judge_site(struct site_walk *walk, const struct diagnosis_event *events, size_t n)
{
    struct diagnosis *diagnosis = walk->diagnosis;
    struct site_sums sums = {.site = events[0].site, .ranks = walk->ranks};
    bool found = false;
    sums.cost_s = walk->cost_s[sums.site];
    sums.calls = walk->calls[sums.site];
    if (!(sums.cost_s >= FINDING_LEAST_SHARE * diagnosis->all_s))
        return 0;
    fill_ranks(walk, &sums);
    fill_sums(walk, events, n, &sums);
    int result = late_rank_find(diagnosis, &sums, &found);
    if (result == 0 && !found)
        result = imbalance_find(diagnosis, &sums, &found);
    if (result != 0 || found || diagnosis->collective[sums.site])
        return result;
    uint64_t like_calls = 0;
    double like_cost_s = 0;
    for (size_t site = 0; site < diagnosis->program.n_sites; site++)
        if (site != sums.site && walk->posts[site] == walk->posts[sums.site]) {
            like_calls += walk->calls[site];
            like_cost_s += walk->cost_s[site];
        }
    return walk->posts[sums.site] == 0 ? 0 : late_site_find(diagnosis, &sums, like_calls, like_cost_s);
}

int diagnose_late_ranks(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct site_walk walk = {.diagnosis = diagnosis,
                             .first = calloc(program->n_sites + 2, sizeof *walk.first),
                             .by_site = malloc((program->n_places + 1) * sizeof *walk.by_site),
                             .posts = calloc(program->n_sites + 1, sizeof *walk.posts),
                             .calls = calloc(program->n_sites + 1, sizeof *walk.calls),
                             .cost_s = calloc(program->n_sites + 1, sizeof *walk.cost_s),
                             .number = malloc((program->n_ranks + 1) * sizeof *walk.number),
                             .ranks = malloc((program->n_ranks + 1) * sizeof *walk.ranks)};
    int result = walk.first == NULL || walk.by_site == NULL || walk.posts == NULL || walk.calls == NULL ||
                         walk.cost_s == NULL || walk.number == NULL || walk.ranks == NULL
                     ? diagnosis_no_memory(diagnosis)
                     : 0;
    if (result == 0) {
        sort_places(&walk);
        sum_sites(&walk);
    }
    for (size_t i = 0, end; result == 0 && i < diagnosis->n_events; i = end) {
        for (end = i + 1; end < diagnosis->n_events && diagnosis->events[end].site == diagnosis->events[i].site;)
            end++;
        result = judge_site(&walk, diagnosis->events + i, end - i);
    }
    free(walk.first);
    free(walk.by_site);
    free(walk.posts);
    free(walk.calls);
    free(walk.cost_s);
    free(walk.number);
    free(walk.ranks);
    return result;
}
