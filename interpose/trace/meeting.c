/* Both sides of such a call agree in their sizes, crosswise, and are inside it at one time: accept and connect return
 * only once they met, a spawned process starts while its parents are in MPI_Comm_spawn. Processes of one host share a
 * clock, those of others their wall clocks, more or less. Where Open MPI tells a spawned process who spawned it, that
 * decides.
 *
 * A pair counts where neither side could be of another one; every pair found rules out others. What remains is not told
 * apart: spawns of equal size by several groups at once.
 */
#include "meeting.h"

#include <stdbool.h>
#include <string.h>

#include "functions.h"
#include "identity.h"
#include "trace.h"

#define SLACK_NS        INT64_C(1000000000) /* a spawned process that was slow to start recording */
#define CLOCKS_SLACK_NS INT64_C(3000000000) /* wall clocks of two hosts */

static bool is_spawn(uint16_t function)
{
    return function == FN_Comm_spawn || function == FN_Comm_spawn_multiple;
}

/* The spool of a host with the longest base for its clock's rate. */
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

static int64_t to_ns(const struct spool *spool, const struct spool *rate, uint64_t ticks)
{
    if (spool->header.clock_source != SPOOL_CLOCK_TSC)
        return (int64_t)ticks;
    const struct spool_clock_pair *from = &spool->pairs[0];
    double since = (double)(int64_t)(ticks - from->ticks);
    if (rate != NULL) {
        const struct spool_clock_pair *first = &rate->pairs[0], *last = &rate->pairs[rate->n_pairs - 1];
        since *= (double)(last->monotonic_ns - first->monotonic_ns) / (double)(last->ticks - first->ticks);
    }
    return (int64_t)from->monotonic_ns + (int64_t)since;
}

int meetings_collect(struct meetings *meetings, const struct spool *spools, size_t n_spools, size_t begin, size_t end,
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
            struct meeting *grown = trace_grow(meetings->all, meetings->n, sizeof *grown);
            if (grown == NULL)
                return -1;
            meetings->all = grown;
            if (rate == NULL)
                rate = find_rate(spools, n_spools, spool->header.host);
            grown[meetings->n++] = (struct meeting){
                .spool = spool,
                .made = made,
                .begin_ns = to_ns(spool, rate, made->begin_ticks),
                .end_ns = to_ns(spool, rate, made->end_ticks),
                .to_unix_ns = (int64_t)(spool->header.started_unix_ns - spool->header.start.monotonic_ns),
                .world = world,
                .link = MEETING_NONE,
            };
        }
    }
    return 0;
}

static bool is_like(const struct meeting *a, const struct meeting *b)
{
    return a->world == b->world && a->made->function == b->made->function && a->made->leader == b->made->leader &&
           a->made->size == b->made->size && a->made->remote_size == b->made->remote_size;
}

/* Whether the process that the children's launcher named as their parents' root took part in this spawn. */
static bool was_by_parents(const struct meetings *meetings, const struct meeting *spawn, const struct meeting *child)
{
    const struct spool_header *own = &child->spool->header;
    if (own->parent_world[0] == '\0' || spawn->spool->header.world[0] == '\0')
        return true;
    if (strcmp(own->parent_world, spawn->spool->header.world) != 0)
        return false;
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *other = &meetings->all[i];
        if (is_like(other, spawn) && other->spool->header.rank == own->parent_root &&
            other->begin_ns <= spawn->end_ns && spawn->begin_ns <= other->end_ns)
            return true;
    }
    return false;
}

/* Whether two sides may be of one call. */
static bool may_meet(const struct meetings *meetings, const struct meeting *a, const struct meeting *b,
                     int64_t slack_ns)
{
    uint16_t functions[2] = {a->made->function, b->made->function};
    if (a->world == b->world || a->made->size != b->made->remote_size || a->made->remote_size != b->made->size)
        return false;
    if (is_spawn(functions[1]) || functions[1] == FN_Comm_accept) {
        const struct meeting *swapped = a;
        a = b;
        b = swapped;
    }
    bool spawned = is_spawn(a->made->function) && b->made->function == FN_Comm_get_parent;
    bool connected = (a->made->function == FN_Comm_accept && b->made->function == FN_Comm_connect) ||
                     (a->made->function == FN_Comm_join && b->made->function == FN_Comm_join);
    const struct spool_header *one = &a->spool->header, *other = &b->spool->header;
    if ((!spawned && !connected) ||
        (spawned && one->launch[0] != '\0' && other->launch[0] != '\0' && strcmp(one->launch, other->launch) != 0))
        return false;
    bool one_clock = strcmp(one->host, other->host) == 0;
    int64_t shift_ns = one_clock ? 0 : b->to_unix_ns - a->to_unix_ns;
    int64_t begin_ns = b->begin_ns + shift_ns, end_ns = b->end_ns + shift_ns;
    slack_ns += one_clock ? 0 : CLOCKS_SLACK_NS;
    if (spawned)
        return begin_ns >= a->begin_ns - slack_ns && begin_ns <= a->end_ns + slack_ns && was_by_parents(meetings, a, b);
    return begin_ns <= a->end_ns + slack_ns && a->begin_ns <= end_ns + slack_ns;
}

/* Rank 0 of each side speaks for it. */
static bool speaks(const struct meeting *meeting)
{
    return meeting->made->rank == 0 && meeting->link == MEETING_NONE;
}

/* The only one that may be the other side, or NULL; counts those that may be. */
static struct meeting *only_candidate(struct meetings *meetings, struct meeting *one, int64_t slack_ns)
{
    struct meeting *found = NULL;
    one->candidates = 0;
    for (size_t i = 0; i < meetings->n; i++) {
        struct meeting *other = &meetings->all[i];
        if (speaks(other) && may_meet(meetings, one, other, slack_ns)) {
            found = other;
            one->candidates++;
        }
    }
    return one->candidates == 1 ? found : NULL;
}

static void pair_those_alone(struct meetings *meetings, int64_t slack_ns)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < meetings->n; i++) {
            struct meeting *one = &meetings->all[i];
            struct meeting *other = speaks(one) ? only_candidate(meetings, one, slack_ns) : NULL;
            if (other == NULL || only_candidate(meetings, other, slack_ns) != one)
                continue;
            one->link = other->link = meetings->n_links++;
            changed = true;
        }
    }
}

/* How many like it the process recorded before. */
static size_t order_of(const struct meetings *meetings, const struct meeting *meeting)
{
    size_t order = 0;
    for (const struct meeting *other = meetings->all; other < meeting; other++)
        order += other->spool == meeting->spool && is_like(other, meeting);
    return order;
}

/* The link of the other processes of a side: that of its rank 0, whose call was at the same time; of several the one
 * with the same place in the process. */
static void follow(struct meetings *meetings, struct meeting *meeting)
{
    const struct meeting *speaker = NULL;
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *other = &meetings->all[i];
        bool overlaps = other->begin_ns <= meeting->end_ns && meeting->begin_ns <= other->end_ns;
        bool one_clock = strcmp(other->spool->header.host, meeting->spool->header.host) == 0;
        /* A world has one such communicator; its processes start at different times. */
        bool only = meeting->made->function == FN_Comm_get_parent;
        if (other->made->rank != 0 || !is_like(other, meeting) || (one_clock && !overlaps && !only))
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
    pair_those_alone(meetings, 0);
    pair_those_alone(meetings, SLACK_NS);
    for (size_t i = 0; i < meetings->n; i++)
        if (meetings->all[i].made->rank != 0)
            follow(meetings, &meetings->all[i]);
}
