/* Ghosts are made of the same entries as records are counted by (spool_ghost_of of interpose/spool/area.h), and lead to
 * the same envelopes. */
#include "interpose/trace/stream/outside.h"

#include <stdlib.h>

#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/gather/bursts.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Operations of one side of an envelope. */
struct outside_count {
    struct map_key key;
    uint64_t n;
    uint8_t direction;
};

/* Finds the envelope of an entry; returns false if it is none of operations, or names what does not exist. */
static bool count_of(const struct outside_calls *outside, const struct trace *trace, uint32_t rank,
                     const struct spool_ghost_entry *entry, struct outside_count *count)
{
    const struct trace_process *process = &trace->processes[rank];
    if (entry->sort == GHOST_START) {
        uint32_t index = map_find(&outside->persistents, (struct map_key){(uint32_t)entry->peer, 0, 0});
        const struct trace_persistent *request = index == MAP_ABSENT ? NULL : &trace->persistents[index];
        if (request == NULL || request->ordinal == TRACE_NONE)
            return false;
        *count = (struct outside_count){match_key(rank, request->direction, request->peer_world, request->communicator,
                                                  request->tag, request->ordinal + 1),
                                        entry->count, request->direction};
        return true;
    }
    uint32_t communicator = process_communicator(trace, process, entry->communicator, entry->peer);
    if (entry->sort > GHOST_RECEIVE || communicator == TRACE_NONE || entry->peer < 0 || entry->tag < 0)
        return false;
    int32_t peer_world = communicator_world_rank(trace, communicator, entry->peer);
    if (peer_world < 0)
        return false;
    uint8_t direction = entry->sort == GHOST_SEND ? SPOOL_SEND : SPOOL_RECEIVE;
    *count = (struct outside_count){
        match_key(rank, direction, peer_world, communicator_context(trace, communicator), entry->tag, 0), entry->count,
        direction};
    return true;
}

static void count_gap(const struct outside_calls *outside, struct matcher *matcher, size_t gap, int64_t until_place)
{
    for (size_t i = outside->first[gap]; i < outside->first[gap + 1]; i++)
        match_count(matcher, outside->counts[i].key, outside->counts[i].direction, outside->counts[i].n, until_place);
}

void outside_begin(struct outside_calls *outside, struct trace *trace, struct matcher *matcher, uint32_t rank)
{
    const struct trace_process *process = &trace->processes[rank];
    struct spool_folded folded;
    for (size_t i = 0; i < trace->n_persistents; i++)
        if (trace->persistents[i].rank == rank)
            *map_at(&outside->persistents, (struct map_key){trace->persistents[i].number, 0, 0}) = (uint32_t)i;
    spool_folded_read(process->spool, &folded);
    outside->n_gaps = folded.n_gaps;
    outside->gaps = xcalloc(folded.n_gaps, sizeof *outside->gaps);
    outside->first = xcalloc(folded.n_gaps + 1, sizeof *outside->first);
    for (size_t i = 0; i < folded.n_gaps; i++) {
        outside->gaps[i] = folded.gaps[i];
        outside->gaps[i].entries = NULL;
        outside->first[i] = outside->n_counts;
        struct outside_count count;
        for (uint32_t k = 0; k < folded.gaps[i].n; k++)
            if (count_of(outside, trace, rank, &folded.gaps[i].entries[k], &count))
                ARRAY_ADD(outside->counts, outside->n_counts, count);
    }
    outside->first[folded.n_gaps] = outside->n_counts;
    spool_folded_free(&folded);
    for (size_t i = 0; i < outside->n_gaps; i++)
        if (!process_has_lane(process, outside->gaps[i].lane))
            count_gap(outside, matcher, i, INT64_MAX);
}

void outside_release(struct outside_calls *outside)
{
    free(outside->gaps);
    free(outside->first);
    free(outside->counts);
    free(outside->passed);
    map_release(&outside->persistents);
    *outside = (struct outside_calls){0};
}

void outside_pass(struct outside_calls *outside, struct passed_gap gap)
{
    ARRAY_ADD(outside->passed, outside->n_passed, gap);
}

void outside_count_passed(struct outside_calls *outside, struct matcher *matcher)
{
    for (size_t i = 0; i < outside->n_passed; i++) {
        const struct passed_gap *passed = &outside->passed[i];
        size_t begin, end;
        if (!gaps_between(outside->gaps, outside->n_gaps, passed->lane, passed->first, passed->end_sequence, &begin,
                          &end))
            outside->is_uncounted = true;
        for (size_t gap = begin; gap < end; gap++)
            count_gap(outside, matcher, gap, passed->until_place);
    }
    outside->n_passed = 0;
}

bool outside_count_record(struct outside_calls *outside, struct matcher *matcher, uint32_t rank,
                          const struct spool_operation *record)
{
    struct spool_ghost_entry entry;
    struct outside_count count;
    if (!spool_ghost_of(record, &entry))
        return false;
    if (count_of(outside, matcher->trace, rank, &entry, &count))
        match_count(matcher, count.key, count.direction, count.n, INT64_MIN);
    return true;
}
