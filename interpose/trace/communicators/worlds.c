/* Joins worlds that met into groups, one of which is the run. Its worlds are ordered by their start, and the ranks of
 * each follow those of the one before. See worlds.h. */
#include "interpose/trace/communicators/worlds.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/trace/state/trace.h"
#include "share/base/array.h"
#include "interpose/functions.h"
#include "interpose/trace/communicators/partners.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

/* The two sides of a call by which worlds meet agree in their sizes, crosswise, and are inside the call at one time:
 * accept, connect, join and MPI_Intercomm_create return only once all have met. A spawned process calls MPI_Init while
 * its parents are in MPI_Comm_spawn, which returns only after that. Where the processes share a clock this test is
 * exact; wall clocks of two hosts agree more or less. Open MPI may tell a spawned process who spawned it, which
 * decides, too.
 *
 * This says who may have met. Who did meet is found by elimination, see partners.h. What stays undecided is left:
 * spawns of equal size by several threads at once, or within the uncertainty of two hosts' clocks. */

#define MEETING_NONE UINT32_MAX

/* What one process recorded about such a call. */
struct meeting {
    const struct spool *spool;
    const struct spool_communicator *made;
    int64_t begin_unix_ns; /* on its host's wall clock */
    int64_t end_unix_ns;
    uint32_t world;
    uint32_t link;       /* the same for all processes of both sides; MEETING_NONE: the other side is not known */
    uint32_t candidates; /* sides that may have been the other one */
};

struct meetings {
    struct meeting *all; /* [n], by world */
    size_t n;
    uint32_t n_links;
};

#define CLOCKS_SLACK_NS INT64_C(3000000000) /* how far wall clocks of two hosts may differ */

/* True if it was made by a call in which groups met that have no parent in common, and members of several worlds
 * belong to it. */
static bool is_meeting(const struct spool_communicator *record)
{
    return record->identity == SPOOL_BY_TIME &&
           IS_ONE_OF(record->function, FN_Comm_spawn, FN_Comm_spawn_multiple, FN_Comm_get_parent, FN_Comm_accept,
                     FN_Comm_connect, FN_Comm_join, FN_Intercomm_create);
}

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

/* Adds what the spools [begin, end), all of one world, recorded. All spools, [n_spools], help with the rate of the
 * clock. */
static void meetings_collect(struct meetings *meetings, const struct spool *spools, size_t n_spools, size_t begin,
                             size_t end, uint32_t world)
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
            if (*record != SPOOL_COMMUNICATOR || made->remote_size <= 0 || !is_meeting(made))
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
        ARRAY_ADD(speakers->edges, speakers->n_edges, (struct partners_edge){i, node});
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

/* Finds the other sides once all worlds are there. What several calls may be is left. */
static void meetings_pair(struct meetings *meetings)
{
    pair_speakers(meetings);
    for (size_t i = 0; i < meetings->n; i++)
        if (meetings->all[i].made->rank != 0)
            follow(meetings, &meetings->all[i]);
}

/* Returns the world's size that most files of a run have, as one file may be damaged. */
static int32_t common_size(const struct spool *spools, const struct world *world)
{
    int32_t candidate = 0;
    size_t lead = 0;
    for (size_t i = world->begin; i < world->end; i++) {
        if (lead == 0)
            candidate = spools[i].header.world_size;
        lead = spools[i].header.world_size == candidate ? lead + 1 : lead - 1;
    }
    return candidate;
}

/* Makes one world for each key. */
static void list_worlds(const struct spool *spools, size_t n_spools, struct worlds *worlds)
{
    for (size_t i = 0; i < n_spools; i++) {
        const struct spool_header *header = &spools[i].header;
        struct world *last = worlds->n_worlds > 0 ? &worlds->worlds[worlds->n_worlds - 1] : NULL;
        if (last == NULL || strcmp(last->key, header->run_key) != 0) {
            array_grow(&worlds->worlds, worlds->n_worlds, sizeof *worlds->worlds);
            last = &worlds->worlds[worlds->n_worlds];
            *last = (struct world){
                .begin = i, .started_unix_ns = header->started_unix_ns, .group = (uint32_t)worlds->n_worlds};
            memcpy(last->key, header->run_key, sizeof last->key);
            worlds->n_worlds++;
        }
        last->end = i + 1;
        if (header->started_unix_ns < last->started_unix_ns)
            last->started_unix_ns = header->started_unix_ns;
    }
    for (size_t i = 0; i < worlds->n_worlds; i++)
        worlds->worlds[i].size = common_size(spools, &worlds->worlds[i]);
}

/* Gives all worlds of both groups the smaller number. */
static void unite_worlds(struct worlds *worlds, uint32_t a, uint32_t b)
{
    uint32_t groups[2] = {worlds->worlds[a].group, worlds->worlds[b].group};
    uint32_t smaller = groups[0] < groups[1] ? groups[0] : groups[1];
    for (size_t i = 0; i < worlds->n_worlds; i++)
        if (worlds->worlds[i].group == groups[0] || worlds->worlds[i].group == groups[1])
            worlds->worlds[i].group = smaller;
}

static void join_all(struct worlds *worlds, const struct meetings *meetings)
{
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *one = &meetings->all[i];
        for (size_t k = i + 1; one->link != MEETING_NONE && k < meetings->n; k++)
            if (meetings->all[k].link == one->link && meetings->all[k].world != one->world)
                unite_worlds(worlds, one->world, meetings->all[k].world);
    }
}

/* Chooses the group of the key; without a key there must be one. Returns 0, or -1 with the reason. */
static int choose_group(const struct worlds *worlds, const char *run_key, uint32_t *group, struct error *error)
{
    char keys[sizeof error->text / 2] = "";
    size_t used = 0, runs = 0;
    for (size_t i = 0; i < worlds->n_worlds; i++) {
        const struct world *world = &worlds->worlds[i];
        if (run_key != NULL && strcmp(world->key, run_key) == 0) {
            *group = world->group;
            return 0;
        }
        if (world->group != i)
            continue; /* a world with a smaller number stands for the group */
        *group = world->group;
        runs++;
        if (used < sizeof keys)
            used += (size_t)snprintf(keys + used, sizeof keys - used, " %s", world->key);
    }
    if (run_key != NULL)
        return error_set(error, "no spool of the run '%s'; there are:%s%s", run_key, keys,
                         used >= sizeof keys ? " ..." : "");
    if (runs > 1)
        return error_set(error, "%zu runs in one place, choose one by --run KEY:%s%s", runs, keys,
                         used >= sizeof keys ? " ..." : "");
    return 0;
}

static int compare_start(const void *left, const void *right)
{
    const struct world *a = left, *b = right;
    return ORDER(a->started_unix_ns, b->started_unix_ns) ?: strcmp(a->key, b->key);
}

/* Returns the rank in the run of a meeting's process. */
static int32_t rank_of(const struct worlds *worlds, const struct meeting *meeting)
{
    for (size_t i = 0; i < worlds->n_worlds; i++)
        if (strcmp(worlds->worlds[i].key, meeting->spool->header.run_key) == 0)
            return worlds->worlds[i].first + meeting->spool->header.rank;
    return -1;
}

static void keep_links(struct worlds *worlds, const struct meetings *meetings)
{
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *meeting = &meetings->all[i];
        int32_t rank = rank_of(worlds, meeting);
        if (rank < 0)
            continue;
        bool ambiguous = meeting->link == MEETING_NONE && meeting->candidates > 0;
        if (ambiguous && meeting->made->rank == 0)
            fprintf(stderr,
                    "mpistair: rank %d: several processes may be those that its %s met; they are not joined by it\n",
                    rank, function_name(meeting->made->function));
        if (meeting->link == MEETING_NONE && !ambiguous)
            continue;
        uint32_t *link = map_at(&worlds->links, (struct map_key){(uint32_t)rank, meeting->made->index, 0});
        *link = ambiguous ? WORLDS_AMBIGUOUS : meeting->link;
    }
    worlds->n_links = meetings->n_links;
}

int worlds_choose(const struct spool *spools, size_t n_spools, const char *run_key, struct worlds *worlds,
                  struct error *error)
{
    struct meetings meetings = {0};
    uint32_t group = 0;
    int64_t first = 0;
    size_t kept = 0;
    *worlds = (struct worlds){0};
    list_worlds(spools, n_spools, worlds);
    for (uint32_t i = 0; worlds->n_worlds > 1 && i < worlds->n_worlds; i++)
        meetings_collect(&meetings, spools, n_spools, worlds->worlds[i].begin, worlds->worlds[i].end, i);
    meetings_pair(&meetings);
    join_all(worlds, &meetings);
    int result = choose_group(worlds, run_key, &group, error);
    if (result != 0)
        goto out;
    for (size_t i = 0; i < worlds->n_worlds; i++)
        if (worlds->worlds[i].group == group)
            worlds->worlds[kept++] = worlds->worlds[i];
    worlds->n_worlds = kept;
    qsort(worlds->worlds, kept, sizeof *worlds->worlds, compare_start);
    for (size_t i = 0; i < kept; i++) {
        worlds->worlds[i].first = (int32_t)first;
        first += worlds->worlds[i].size;
    }
    if (first > SPOOL_WORLD_LIMIT)
        result = error_set(error, "%zu joined worlds have more than %d processes", kept, SPOOL_WORLD_LIMIT);
    else
        keep_links(worlds, &meetings);
out:
    free(meetings.all);
    return result;
}

void worlds_release(struct worlds *worlds)
{
    free(worlds->worlds);
    map_release(&worlds->links);
    *worlds = (struct worlds){0};
}
