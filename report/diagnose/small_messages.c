/* Finds call sites that send many small messages to the same ranks, each of which costs what one large one would.
 *
 * A message costs what its two calls take once both are posted: what a call waits for its partner is another finding.
 * Those that cannot travel with the one before, as they need an answer to it or work lies between, save nothing. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Two messages that a call site sends from one rank to another can be one where the second does not depend on an
 * answer to the first. A strand's *depth* is the longest chain of messages and collectives, each of which was received
 * or met before the next one was sent, that leads to where it is. An answer, by whatever way round it comes, makes it
 * grow by two and more; so messages of one depth hold no answers to each other. A ping-pong has none of these, nor has
 * a halo that is exchanged once a step. Each strand is
 * gone through as far as what it waits for has been. */
/* Most work between two messages that can be one, in times of what a message takes, and in seconds: a message may take
 * long because of others on its processor. */
#define JOINED_MOST_WORK   2.0
#define JOINED_MOST_WORK_S 1e-4

#define NOT_YET UINT32_MAX
#define NOBODY  UINT32_MAX

struct meeting {
    uint32_t n_arrived, depth; /* the largest of those that arrived */
    bool root_arrived;
};

struct depths {
    const struct run_program *program;
    struct pair_sums *pairs;
    size_t *step;             /* [n_strands] at which each is */
    uint32_t *depth;          /* [n_strands] */
    uint32_t *done;           /* [n_strands] what of its step is done: operations that came, 1 for an arrival */
    uint32_t *message_depth;  /* [n_messages] of its sender, NOT_YET until it is sent */
    uint32_t *last_depth;     /* [n_rank_pairs] of the pair's last message */
    double *computed_s;       /* [n_strands] so far */
    double *last_s;           /* [n_rank_pairs] computed before the pair's last message */
    struct meeting *meetings; /* [n_collectives] */
    uint32_t *blocked;        /* [n_messages + n_collectives] the last strand that waits for it */
    uint32_t *next;           /* [n_strands] the one before it; of those that can go on as well */
    uint32_t going;           /* the first of those that can go on */
};

static void wake(struct depths *depths, size_t object)
{
    uint32_t strand = depths->blocked[object];
    depths->blocked[object] = NOBODY;
    while (strand != NOBODY) {
        uint32_t next = depths->next[strand];
        depths->next[strand] = depths->going;
        depths->going = strand;
        strand = next;
    }
}

/* Lets a strand wait for an object. Returns false, for the caller to return. */
static bool block(struct depths *depths, uint32_t strand, size_t object)
{
    depths->next[strand] = depths->blocked[object];
    depths->blocked[object] = strand;
    return false;
}

static void deepen(struct depths *depths, uint32_t strand, uint32_t depth)
{
    depths->depth[strand] = depth > depths->depth[strand] ? depth : depths->depth[strand];
}

static void send(struct depths *depths, uint32_t strand, const struct run_step *step)
{
    const struct run_message *message = &depths->program->messages[step->object];
    uint32_t depth = depths->depth[strand], site = depths->program->places[step->place].site;
    uint32_t pair =
        map_find(&depths->pairs->ranks, (struct map_key){(uint64_t)message->src << 32 | message->dst, site, 0});
    if (pair != MAP_ABSENT) {
        struct rank_pair *sums = &depths->pairs->rank_pairs[pair];
        double computed_s = depths->computed_s[strand] + step->compute_s;
        double most_s = fmin(JOINED_MOST_WORK * 1e-9 * sums->call_ns / (double)sums->n, JOINED_MOST_WORK_S);
        sums->joined += depths->last_depth[pair] == depth && computed_s - depths->last_s[pair] <= most_s;
        depths->last_depth[pair] = depth;
        depths->last_s[pair] = computed_s;
    }
    depths->message_depth[step->object] = depth;
    wake(depths, step->object);
}

/* Each of these returns false where the strand must wait first. */

static bool receive(struct depths *depths, uint32_t strand, uint32_t object)
{
    const struct run_message *message = &depths->program->messages[object];
    if (depths->message_depth[object] == NOT_YET && (message->flags & MESSAGE_ONE_SIDED) == 0)
        return block(depths, strand, object);
    if (message->src != message->dst && depths->message_depth[object] != NOT_YET)
        deepen(depths, strand, depths->message_depth[object] + 1);
    return true;
}

static void arrive(struct depths *depths, uint32_t strand, uint32_t member)
{
    uint32_t number = depths->program->members[member].collective;
    const struct run_collective *collective = &depths->program->collectives[number];
    struct meeting *meeting = &depths->meetings[number];
    meeting->n_arrived++;
    meeting->depth = depths->depth[strand] > meeting->depth ? depths->depth[strand] : meeting->depth;
    meeting->root_arrived = meeting->root_arrived || member == collective->first_member + collective->root;
    wake(depths, depths->program->n_messages + number);
}

static bool meet(struct depths *depths, uint32_t strand, uint32_t member)
{
    uint32_t number = depths->program->members[member].collective;
    const struct run_collective *collective = &depths->program->collectives[number];
    const struct meeting *meeting = &depths->meetings[number];
    bool all = meeting->n_arrived == collective->n_members;
    bool is_root = member == collective->first_member + collective->root;
    switch ((enum run_dependence)collective->dependence) {
    case DEPENDS_ON_ALL:
        break;
    case DEPENDS_ON_ROOT:
        all = all || meeting->root_arrived;
        break;
    case DEPENDS_OF_ROOT:
        all = all || !is_root;
        break;
    case DEPENDS_ON_LOWER: /* which have come is not known; what those have counts */
    case DEPENDS_ON_NOBODY:
        all = true;
    }
    if (!all)
        return block(depths, strand, depths->program->n_messages + number);
    bool alone = collective->dependence == DEPENDS_ON_NOBODY || collective->n_members < 2 ||
                 (collective->dependence == DEPENDS_OF_ROOT && !is_root) ||
                 (collective->dependence == DEPENDS_ON_ROOT && is_root);
    if (!alone)
        deepen(depths, strand, meeting->depth + 1);
    return true;
}

static bool await(struct depths *depths, uint32_t strand, const struct run_step *step)
{
    for (; depths->done[strand] < step->count; depths->done[strand]++) {
        uint32_t operation = depths->program->waits[step->object + depths->done[strand]];
        uint32_t object = run_operation_object(operation);
        enum run_operation_kind kind = run_operation_kind(operation);
        if (kind == OPERATION_RECEIVE && !receive(depths, strand, object))
            return false;
        if (kind == OPERATION_MEMBER && !meet(depths, strand, object))
            return false;
    }
    return true;
}

static bool act(struct depths *depths, uint32_t strand, const struct run_step *step)
{
    switch ((enum run_step_kind)step->kind) {
    case STEP_SEND:
        send(depths, strand, step);
        return true;
    case STEP_WAIT:
        return await(depths, strand, step);
    case STEP_PROBE:
        return receive(depths, strand, step->object);
    case STEP_COLLECTIVE:
        if (depths->done[strand]++ == 0)
            arrive(depths, strand, step->object);
        return meet(depths, strand, step->object);
    case STEP_BEGIN:
        arrive(depths, strand, step->object);
        return true;
    case STEP_RECEIVE:
    case STEP_SPEND:
        break;
    }
    return true;
}

static void go_through(struct depths *depths)
{
    const struct run_program *program = depths->program;
    while (depths->going != NOBODY) {
        uint32_t strand = depths->going;
        const struct run_strand *told = &program->strands[strand];
        depths->going = depths->next[strand];
        for (; depths->step[strand] < told->first_step + told->n_steps; depths->step[strand]++) {
            if (!act(depths, strand, &program->steps[depths->step[strand]]))
                break;
            depths->done[strand] = 0;
            depths->computed_s[strand] += program->steps[depths->step[strand]].compute_s;
        }
    }
}

/* Sets `joined` of all pairs of ranks. What follows a message that the trace does not have counts for nothing. */
static void count_joined(const struct run_program *program, struct pair_sums *pairs)
{
    size_t n_objects = program->n_messages + program->n_collectives, n_strands = program->n_strands;
    struct depths depths = {.program = program,
                            .pairs = pairs,
                            .step = xcalloc(n_strands, sizeof *depths.step),
                            .depth = xcalloc(n_strands, sizeof *depths.depth),
                            .done = xcalloc(n_strands, sizeof *depths.done),
                            .message_depth = xcalloc(program->n_messages, sizeof *depths.message_depth),
                            .last_depth = xcalloc(pairs->n_rank_pairs, sizeof *depths.last_depth),
                            .computed_s = xcalloc(n_strands, sizeof *depths.computed_s),
                            .last_s = xcalloc(pairs->n_rank_pairs, sizeof *depths.last_s),
                            .meetings = xcalloc(program->n_collectives, sizeof *depths.meetings),
                            .blocked = xcalloc(n_objects, sizeof *depths.blocked),
                            .next = xcalloc(n_strands, sizeof *depths.next),
                            .going = NOBODY};
    memset(depths.message_depth, 0xff, program->n_messages * sizeof *depths.message_depth);
    memset(depths.last_depth, 0xff, pairs->n_rank_pairs * sizeof *depths.last_depth);
    memset(depths.blocked, 0xff, n_objects * sizeof *depths.blocked);
    for (uint32_t strand = 0; strand < n_strands; strand++) {
        depths.step[strand] = program->strands[strand].first_step;
        depths.next[strand] = depths.going;
        depths.going = strand;
    }
    go_through(&depths);
    free(depths.step);
    free(depths.depth);
    free(depths.done);
    free(depths.message_depth);
    free(depths.last_depth);
    free(depths.computed_s);
    free(depths.last_s);
    free(depths.meetings);
    free(depths.blocked);
    free(depths.next);
}

/* Least share of the calls in all ranks' time. */
#define SMALL_LEAST_SHARE 0.05

enum { SMALL_LEAST_MESSAGES = 100, MOST_SITES = 8 };

/* The pairs of a call site, summed. */
struct small_site {
    uint32_t site, src, dst; /* the lowest ranks */
    uint64_t n, small, pairs, joined;
    double bytes, call_s, joined_s; /* joined_s: of those that can travel with the one before */
};

/* Lets the calls that send or receive the messages of a site take that part of their time. */
static void mend_messages(const struct diagnosis *diagnosis, struct run_mend *mend, uint32_t site, double factor)
{
    bool *is_place = xcalloc(diagnosis->program.n_places, sizeof *is_place);
    diagnosis_find_receives(diagnosis, site, is_place);
    for (size_t i = 0; i < diagnosis->program.n_places; i++)
        if (is_place[i] || diagnosis->program.places[i].site == site)
            mend_rest(&diagnosis->program, mend, (uint32_t)i, factor);
    free(is_place);
}

static int add(struct diagnosis *diagnosis, const struct small_site *sums)
{
    struct finding finding = diagnosis_finding(FINDING_SMALL_MESSAGES, sums->joined_s);
    char site[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], some[DIAGNOSIS_TEXT] = "joining them";
    if (!(sums->joined_s >= SMALL_LEAST_SHARE * diagnosis->all_s))
        return 0;
    if (sums->joined + sums->pairs < sums->n)
        snprintf(some, sizeof some, "joining the %" PRIu64 " that need no answer to the last", sums->joined);
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    finding.rank = sums->pairs == 1 ? (int64_t)sums->src : -1;
    finding.partner = sums->pairs == 1 ? (int64_t)sums->dst : -1;
    finding.mend = mend_new();
    mend_messages(diagnosis, finding.mend, sums->site, 1 - (double)sums->joined / (double)sums->n);
    return diagnosis_add(diagnosis, finding,
                         "%s sends %" PRIu64 " messages of %s between %" PRIu64
                         " pair%s of ranks; %s saves %s at most, %.0f %% of all time",
                         site, sums->n, diagnosis_bytes(bytes, sums->bytes / (double)sums->n), sums->pairs,
                         sums->pairs == 1 ? "" : "s", some, diagnosis_seconds(took, finding.cost_s),
                         100 * finding.cost_s / diagnosis->all_s);
}

static void sum_small_sites(const struct diagnosis *diagnosis, struct small_site *sites)
{
    for (size_t i = 0; i < diagnosis->program.n_sites; i++)
        sites[i] = (struct small_site){.site = (uint32_t)i, .src = UINT32_MAX, .dst = UINT32_MAX};
    for (size_t i = 0; i < diagnosis->pairs->n_rank_pairs; i++) {
        const struct rank_pair *pair = &diagnosis->pairs->rank_pairs[i];
        struct small_site *site = &sites[pair->site];
        site->src = pair->src < site->src ? pair->src : site->src;
        site->dst = pair->dst < site->dst ? pair->dst : site->dst;
        site->n += pair->n;
        site->small += pair->small;
        site->pairs++;
        site->bytes += pair->bytes;
        site->call_s += pair->call_ns * 1e-9;
        site->joined += pair->joined;
        site->joined_s += pair->call_ns * 1e-9 * (double)pair->joined / (double)pair->n;
    }
}

/* Returns whether most of a site's messages are small, so that their median is, and their calls take time. */
static bool is_small(const struct diagnosis *diagnosis, const struct small_site *site)
{
    return 2 * site->small > site->n && site->n >= SMALL_LEAST_MESSAGES * site->pairs &&
           site->call_s >= SMALL_LEAST_SHARE * diagnosis->all_s;
}

static int compare_sites(const void *left, const void *right)
{
    const struct small_site *a = left, *b = right;
    return ORDER(b->joined_s, a->joined_s) ?: ORDER(a->site, b->site);
}

int diagnose_small_messages(struct diagnosis *diagnosis)
{
    size_t n_sites = diagnosis->program.n_sites, n = 0;
    struct small_site *sites = xcalloc(n_sites, sizeof *sites);
    int result = 0;
    sum_small_sites(diagnosis, sites);
    for (size_t i = 0; i < n_sites; i++)
        n += is_small(diagnosis, &sites[i]);
    if (n > 0) {
        count_joined(&diagnosis->program, diagnosis->pairs);
        sum_small_sites(diagnosis, sites);
    }
    n = 0;
    for (size_t i = 0; i < n_sites; i++)
        if (is_small(diagnosis, &sites[i]))
            sites[n++] = sites[i];
    if (n > 0)
        qsort(sites, n, sizeof *sites, compare_sites);
    for (size_t i = 0; result == 0 && i < n && i < MOST_SITES; i++)
        result = add(diagnosis, &sites[i]);
    free(sites);
    return result;
}
