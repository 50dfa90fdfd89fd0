/* The two sides of a call by which worlds meet agree in their sizes, crosswise, and are inside the call at one time:
 * accept, connect, join and MPI_Intercomm_create return only once all have met. A spawned process calls MPI_Init while
 * its parents are in MPI_Comm_spawn, which returns only after that. Where the processes share a clock this test is
 * exact; wall clocks of two hosts agree more or less. Open MPI may tell a spawned process who spawned it, which
 * decides, too.
 *
 * This says who may have met. Who did meet is found by elimination, see partners.h. What stays undecided is left:
 * spawns of equal size by several threads at once, or within the uncertainty of two hosts' clocks. */
#include "interpose/trace/communicators/meetings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/functions.h"
#include "interpose/trace/communicators/identity.h"
#include "interpose/trace/communicators/partners.h"
#include "interpose/trace/state/trace.h"
#include "share/base/array.h"
#include "share/base/memory.h"

#define CLOCKS_SLACK_NS INT64_C(3000000000) /* how far wall clocks of two hosts may differ */

static bool is_spawn(uint16_t function)
{
    return function == FN_Comm_spawn || function == FN_Comm_spawn_multiple;
}

/* Returns the spool of a host whose clock pairs have the longest base for the clock's rate. */
static const struct spool *find_rate(const struct spool *spools, size_t n_spools, const char *host)
{
    const struct spool *best = NULL;
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < n_spools; i++) {
        const struct spool *spool = &spools[i];
        uint64_t base_ns = spool->pairs[spool->n_pairs - 1].monotonic_ns - spool->pairs[0].monotonic_ns;
        if (base_ns > longest_ns && strcmp(spool->header.host, host) == 0) {
            longest_ns = base_ns;
            best = spool;
        }
    }
    return best;
}

/* Converts ticks to the host's wall clock. */
static int64_t to_unix_ns(const struct spool *spool, const struct spool *rate, uint64_t ticks)
{
    int64_t shift_ns = (int64_t)(spool->header.started_unix_ns - spool->header.start.monotonic_ns);
    if (spool->header.clock_source != SPOOL_CLOCK_TSC)
        return (int64_t)ticks - spool_ahead_ns(&spool->header) + shift_ns;
    const struct spool_clock_pair *from = &spool->pairs[0];
    double since = (double)(int64_t)(ticks - from->ticks);
    if (rate != NULL) {
        const struct spool_clock_pair *first = &rate->pairs[0], *last = &rate->pairs[rate->n_pairs - 1];
        since *= (double)(last->monotonic_ns - first->monotonic_ns) / (double)(last->ticks - first->ticks);
    }
    return (int64_t)from->monotonic_ns + (int64_t)since + shift_ns;
}

void meetings_collect(struct meetings *meetings, const struct spool *spools, size_t n_spools, size_t begin, size_t end,
                      uint32_t world)
{
    for (size_t i = begin; i < end; i++) {
        const struct spool *spool = &spools[i], *rate = NULL;
        if (i > begin && spools[i - 1].header.rank == spool->header.rank)
            continue; /* a copy */
        if (!spool->header.connected)
            continue;
        struct spool_cursor cursor = {.spool = spool};
        for (const uint8_t *record; (record = spool_next(&cursor)) != NULL;) {
            const struct spool_communicator *made = (const void *)record;
            if (*record != SPOOL_COMMUNICATOR || made->remote_size <= 0 || !identity_is_meeting(made))
                continue;
            array_grow(&meetings->all, meetings->n, sizeof *meetings->all);
            if (rate == NULL)
                rate = find_rate(spools, n_spools, spool->header.host);
            meetings->all[meetings->n++] = (struct meeting){
                .spool = spool,
                .made = made,
                .begin_unix_ns = to_unix_ns(spool, rate, made->begin_ticks),
                .end_unix_ns = to_unix_ns(spool, rate, made->end_ticks),
                .world = world,
                .link = MEETING_NONE,
            };
        }
    }
}

static bool have_one_clock(const struct meeting *a, const struct meeting *b)
{
    const struct spool_header *one = &a->spool->header, *other = &b->spool->header;
    return one->clock_source == other->clock_source && strcmp(one->host, other->host) == 0;
}

/* Returns ticks of one process as they are in all of its host. */
static int64_t host_ticks(const struct meeting *meeting, uint64_t ticks)
{
    return (int64_t)ticks - spool_ahead_ns(&meeting->spool->header);
}

/* True if a can have begun before b began. */
static bool may_precede(const struct meeting *a, const struct meeting *b)
{
    return have_one_clock(a, b) ? host_ticks(a, a->made->begin_ticks) <= host_ticks(b, b->made->begin_ticks)
                                : a->begin_unix_ns <= b->begin_unix_ns + CLOCKS_SLACK_NS;
}

/* True if a can have begun before b ended. */
static bool may_begin_before_end(const struct meeting *a, const struct meeting *b)
{
    return have_one_clock(a, b) ? host_ticks(a, a->made->begin_ticks) <= host_ticks(b, b->made->end_ticks)
                                : a->begin_unix_ns <= b->end_unix_ns + CLOCKS_SLACK_NS;
}

static bool may_overlap(const struct meeting *a, const struct meeting *b)
{
    return may_begin_before_end(a, b) && may_begin_before_end(b, a);
}

/* True if two processes of a world may speak of one call. Creations are counted on the communicator of the call.
 */
static bool is_like(const struct meeting *a, const struct meeting *b)
{
    return a->world == b->world && a->made->function == b->made->function && a->made->leader == b->made->leader &&
           a->made->size == b->made->size && a->made->remote_size == b->made->remote_size &&
           a->made->creation == b->made->creation;
}

/* True if the process that the children's launcher named as their parents' root took part in this spawn. */
static bool was_by_parents(const struct meetings *meetings, const struct meeting *spawn, const struct meeting *child)
{
    const struct spool_header *own = &child->spool->header;
    if (own->parent_world[0] == '\0' || spawn->spool->header.world[0] == '\0')
        return true;
    if (strcmp(own->parent_world, spawn->spool->header.world) != 0)
        return false;
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *other = &meetings->all[i];
        if (is_like(other, spawn) && other->spool->header.rank == own->parent_root && may_overlap(other, spawn))
            return true;
    }
    return false;
}

static bool may_have_spawned(const struct meetings *meetings, const struct meeting *spawn, const struct meeting *child)
{
    const char *launches[2] = {spawn->spool->header.launch, child->spool->header.launch};
    return is_spawn(spawn->made->function) && child->made->function == FN_Comm_get_parent &&
           (launches[0][0] == '\0' || launches[1][0] == '\0' || strcmp(launches[0], launches[1]) == 0) &&
           may_precede(spawn, child) && may_begin_before_end(child, spawn) && was_by_parents(meetings, spawn, child);
}

/* True if two sides may be of one call; the first of them spawned or accepted where they differ. */
static bool may_meet(const struct meetings *meetings, const struct meeting *a, const struct meeting *b)
{
    uint16_t functions[2] = {a->made->function, b->made->function};
    if (a->made->size != b->made->remote_size || a->made->remote_size != b->made->size || a->spool == b->spool)
        return false;
    if (functions[0] == FN_Intercomm_create) /* each of the two groups may have processes of both worlds */
        return functions[1] == functions[0] && a->made->creation == b->made->creation && may_overlap(a, b);
    if (a->world == b->world)
        return false;
    if ((functions[0] == FN_Comm_accept && functions[1] == FN_Comm_connect) ||
        (functions[0] == FN_Comm_join && functions[1] == FN_Comm_join))
        return may_overlap(a, b);
    return may_have_spawned(meetings, a, b);
}

static int8_t side_of(uint16_t function)
{
    if (is_spawn(function) || function == FN_Comm_accept)
        return 1;
    return function == FN_Comm_get_parent || function == FN_Comm_connect ? -1 : 0;
}

struct speakers {
    uint32_t *all; /* [n] index of the meeting */
    int8_t *side;
    uint32_t *partner;
    uint32_t *candidates;
    size_t n;
    struct partners_edge *edges; /* [n_edges] */
    size_t n_edges;
};

/* Adds the edges from one speaker to those before it. */
static void add_edges(struct speakers *speakers, const struct meetings *meetings, uint32_t node)
{
    const struct meeting *one = &meetings->all[speakers->all[node]];
    for (uint32_t i = 0; i < node; i++) {
        const struct meeting *other = &meetings->all[speakers->all[i]];
        if (!may_meet(meetings, one, other) && !may_meet(meetings, other, one))
            continue;
        array_grow(&speakers->edges, speakers->n_edges, sizeof *speakers->edges);
        speakers->edges[speakers->n_edges++] = (struct partners_edge){i, node};
    }
}

/* Pairs the sides by their rank 0, which speaks for its side. */
static void pair_speakers(struct meetings *meetings)
{
    struct speakers speakers = {.all = xcalloc(meetings->n, sizeof *speakers.all),
                                .side = xcalloc(meetings->n, sizeof *speakers.side),
                                .partner = xcalloc(meetings->n, sizeof *speakers.partner),
                                .candidates = xcalloc(meetings->n, sizeof *speakers.candidates)};
    for (uint32_t i = 0; i < meetings->n; i++)
        if (meetings->all[i].made->rank == 0) {
            speakers.all[speakers.n] = i;
            speakers.side[speakers.n] = side_of(meetings->all[i].made->function);
            add_edges(&speakers, meetings, (uint32_t)speakers.n);
            speakers.n++;
        }
    partners_find(speakers.edges, speakers.n_edges, speakers.n, speakers.side, speakers.partner, speakers.candidates);
    for (uint32_t i = 0; i < speakers.n; i++) {
        struct meeting *one = &meetings->all[speakers.all[i]];
        uint32_t partner = speakers.partner[i];
        one->candidates = speakers.candidates[i];
        if (partner != PARTNERS_NONE)
            one->link = partner < i ? meetings->all[speakers.all[partner]].link : meetings->n_links++;
    }
    free(speakers.all);
    free(speakers.side);
    free(speakers.partner);
    free(speakers.candidates);
    free(speakers.edges);
}

/* Returns how many like it the process recorded before. */
static size_t order_of(const struct meetings *meetings, const struct meeting *meeting)
{
    size_t order = 0;
    for (const struct meeting *other = meetings->all; other < meeting; other++)
        order += other->spool == meeting->spool && is_like(other, meeting);
    return order;
}

/* Gives another process of a side the link of the side's rank 0, whose call was at the same time; if there are several,
 * of the one with the same place in the process. */
static void follow(struct meetings *meetings, struct meeting *meeting)
{
    const struct meeting *speaker = NULL;
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *other = &meetings->all[i];
        /* A world has one communicator to its parents; its processes start at different times. */
        bool only = meeting->made->function == FN_Comm_get_parent;
        if (other->made->rank != 0 || !is_like(other, meeting) || (!only && !may_overlap(other, meeting)))
            continue;
        if (speaker == NULL || order_of(meetings, other) == order_of(meetings, meeting))
            speaker = other;
    }
    if (speaker != NULL) {
        meeting->link = speaker->link;
        meeting->candidates = speaker->candidates;
    }
}

void meetings_pair(struct meetings *meetings)
{
    pair_speakers(meetings);
    for (size_t i = 0; i < meetings->n; i++)
        if (meetings->all[i].made->rank != 0)
            follow(meetings, &meetings->all[i]);
}
