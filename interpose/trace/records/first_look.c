/* Of operations, completion calls and tests trace_load wants to know which communicators and call sites there are, and
 * of regions which; a process repeats these all the time. What was seen is kept in tables of fixed size, in which a
 * newer entry takes the place of an older one: a record whose entry is gone is taken once more, which changes nothing.
 * All other records are taken, and so are operations that have more than their own record.
 *
 * The look ends at whatever makes a record mean more than it says, so that trace_load, which reads on from there,
 * counts and orders as if there had been none: damage, and records whose meaning depends on what was skipped before
 * them. */
#include "interpose/trace/records/first_look.h"

#include <stdlib.h>

#include "interpose/trace/records/records.h"
#include "share/base/array.h"

/* The most records of a process that are kept: 128 KiB of places. */
enum { PLACES_MOST = 1 << 14 };
enum { SITES_BITS = 10, COMMUNICATORS_BITS = 7 };

/* What taken records had. */
struct seen {
    uint64_t sites[1 << SITES_BITS]; /* 0: none */
    struct {
        uint32_t number; /* of the process, and 1; 0: none */
        int32_t peer;    /* the largest */
    } communicators[1 << COMMUNICATORS_BITS];
    uint8_t regions[SPOOL_REGIONS];
    size_t post; /* index in look->posts of the last operation's processor */
};

/* Returns the place of a key in a table of so many bits. */
static size_t place_of(uint64_t key, int bits)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* Returns whether the call site was seen, or is none; it is from now on. */
static bool is_site_seen(struct seen *seen, uint64_t site)
{
    uint64_t *known = &seen->sites[place_of(site, SITES_BITS)];
    if (*known == site || spool_site_address(site) == 0)
        return true;
    *known = site;
    return false;
}

static bool is_communicator_seen(struct seen *seen, uint32_t communicator, int32_t peer)
{
    size_t at = place_of(communicator, COMMUNICATORS_BITS);
    bool is_same = seen->communicators[at].number == communicator + 1;
    if (is_same && seen->communicators[at].peer >= peer)
        return true;
    seen->communicators[at].number = communicator + 1;
    seen->communicators[at].peer = peer;
    return false;
}

/* Counts a post; mostly the processor is that of the one before. */
static void count_one_post(struct first_look *look, struct seen *seen, int32_t cpu)
{
    if (look->n_posts == 0 || look->posts[seen->post].cpu != cpu) {
        for (seen->post = 0; seen->post < look->n_posts && look->posts[seen->post].cpu != cpu;)
            seen->post++;
        if (seen->post == look->n_posts)
            ARRAY_ADD(look->posts, look->n_posts, (struct trace_posts){.cpu = cpu});
    }
    look->posts[seen->post].posts++;
}

static void look_until(struct first_look *look, uint64_t ticks)
{
    if (ticks > look->last_ticks)
        look->last_ticks = ticks;
}

static bool is_operation_taken(struct first_look *look, struct seen *seen, const struct spool_operation *record)
{
    if (record->communicator == SPOOL_NO_COMMUNICATOR || record_has_origin(record))
        return true;
    bool is_repeated = is_communicator_seen(seen, record->communicator, operation_peer(record));
    is_repeated = is_site_seen(seen, record->site) && is_repeated;
    if (!is_repeated)
        return true;
    if (record->cpu_post >= 0)
        count_one_post(look, seen, record->cpu_post);
    look->off = look->off || (record->flags & SPOOL_OFF);
    look_until(look, record->post_ticks + record->call_ticks);
    look_until(look, record->complete_ticks);
    return false;
}

static bool is_region_taken(struct first_look *look, struct seen *seen, const struct spool_region *record)
{
    if (record->region >= SPOOL_REGIONS || !seen->regions[record->region]) {
        if (record->region > 0 && record->region < SPOOL_REGIONS)
            seen->regions[record->region] = 1;
        return true;
    }
    look_until(look, record->begin_ticks);
    look_until(look, record->end_ticks);
    return false;
}

/* Returns whether the record is to be taken; if not its sums are. */
static bool is_taken(struct first_look *look, struct seen *seen, const uint8_t *record)
{
    const struct spool_call *call = (const void *)record;
    const struct spool_idle *idle = (const void *)record;
    switch (*record) {
    case SPOOL_OPERATION:
        return is_operation_taken(look, seen, (const void *)record);
    case SPOOL_CALL:
        if (!is_site_seen(seen, call->site))
            return true;
        look_until(look, call->begin_ticks + call->call_ticks);
        return false;
    case SPOOL_IDLE:
        if (!is_site_seen(seen, idle->site))
            return true;
        look_until(look, idle->begin_ticks + spool_idle_ticks(idle));
        return false;
    case SPOOL_REGION:
        return is_region_taken(look, seen, (const void *)record);
    case SPOOL_NAME:
    case SPOOL_COMMUNICATOR:
        return false;
    default:
        return true;
    }
}

/* True if what the record means depends on what was skipped before it: its place behind the operation that it belongs
 * to, or the time so far. */
static bool depends_on_skipped(const struct first_look *look, const uint8_t *record)
{
    return (*record == SPOOL_PARTITIONS && !look->is_end_taken) ||
           (*record == SPOOL_STACK && !((const struct spool_stack *)(const void *)record)->timed);
}

void first_look_take(struct first_look *look, const struct spool *spool)
{
    struct seen seen = {.post = 0};
    struct spool_cursor cursor = {.spool = spool};
    for (const uint8_t *record;; look->end_span = cursor.span, look->end_at = cursor.at) {
        record = spool_next(&cursor);
        if (cursor.damaged > 0 || look->n_places == PLACES_MOST || (record != NULL && depends_on_skipped(look, record)))
            return;
        if (record == NULL) {
            look->end_span = spool->n_spans;
            return;
        }
        look->is_end_taken = is_taken(look, &seen, record);
        if (look->is_end_taken)
            ARRAY_ADD(look->places, look->n_places, (size_t)(record - spool->data));
    }
}

bool first_look_holds(const struct first_look *look, const struct trace *trace, const struct trace_process *process,
                      const struct callsite_table *callsites)
{
    for (size_t i = 0; i < look->n_places; i++) {
        const uint8_t *record = process->spool->data + look->places[i];
        const struct spool_operation *operation = (const void *)record;
        const struct spool_call *call = (const void *)record;
        const struct spool_idle *idle = (const void *)record;
        if (*record == SPOOL_OPERATION && operation_rejected(operation))
            continue;
        if (*record == SPOOL_OPERATION && !operation_known(trace, process, operation))
            return false;
        uint64_t site = *record == SPOOL_OPERATION ? operation->site
                        : *record == SPOOL_CALL    ? call->site
                        : *record == SPOOL_IDLE    ? idle->site
                                                   : 0;
        if (!callsite_is_settled(callsites, site))
            return false;
    }
    return true;
}

void first_look_release(struct first_look *look)
{
    free(look->places);
    free(look->posts);
    *look = (struct first_look){0};
}
