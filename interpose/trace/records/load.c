/* Reads one process after the other, by rank. The records of one thread come in the order of its calls; with several
 * lanes what is kept of a process is sorted by time. Records that name a communicator or a rank that does not exist are
 * damaged. There are millions of operations and completion calls. Of these only that is noted which the last reading
 * has to know beforehand: call sites, where the process posted, when it ended. Threads look at the records of a few
 * processes before (first_look.h), so that of most of these records nothing is left to do here.
 *
 * Processes number their persistent requests, partitions and stacks for themselves. A record may lie before the one
 * that it names (in another thread's lane): such numbers are kept as they are and resolved once the process is read. */
#include "interpose/trace/records/records.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/records/first_look.h"
#include "interpose/trace/records/joint_outside.h"
#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/site/callsite.h"
#include "interpose/trace/site/region_names.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"
#include "share/base/side_by_side.h"

struct loader {
    struct trace *trace;
    struct communicator_table communicators;
    struct callsite_table callsites;
    struct map persistents; /* within one process: number -> trace.persistents */
    struct map partitions;  /* within one process: number -> trace.partitions */
    struct map stacks;      /* within one process: number -> trace.stacks */
    struct map stack_ids;   /* within the run: hash of the frames -> trace.stacks */
    const struct trace_node *node;
    struct trace_process *process;
    uint32_t rank;
    uint32_t lane;
    uint32_t partitioned; /* origin of the record just read if that was a partitioned operation, else TRACE_NONE */
    bool left_out;        /* the record just read was an operation outside of all bursts */
    struct joint_outside outside;
    struct first_look *look; /* of the process */
    size_t next_place;       /* index of the look's next record */
    size_t clock_hint;
    uint64_t last_ticks; /* the latest ticks of the process so far */
    size_t first_origin; /* the process's first origin */
    size_t first_persistent;
    size_t first_partition_event;
};

/* Returns the node's time of a moment, which the process lived to see. */
static int64_t loader_ns(struct loader *loader, uint64_t ticks)
{
    int64_t ns = clock_ns(loader->node, loader->process, ticks, &loader->clock_hint);
    if (ns > loader->process->end_ns)
        loader->process->end_ns = ns;
    if (ticks > loader->process->last_ticks)
        loader->process->last_ticks = ticks;
    return ns;
}

/* Returns the time of what may not have happened (ticks 0). */
static int64_t loader_optional_ns(struct loader *loader, uint64_t ticks)
{
    return ticks == 0 ? TRACE_NO_TIME : loader_ns(loader, ticks);
}

/* Returns when a call returned that took so many ticks; one that is not SPOOL_NONBLOCKING returned at its end. */
static int64_t loader_return_ns(struct loader *loader, uint16_t flags, uint64_t begin_ticks, uint32_t call_ticks,
                                uint64_t end_ticks)
{
    bool ended = end_ticks != 0;
    return loader_ns(loader, flags & SPOOL_NONBLOCKING ? begin_ticks + call_ticks : ended ? end_ticks : begin_ticks);
}

/* Notes number -> index in the map of a process, only for the first record of that number; returns whether it was new.
 */
static bool loader_note(struct map *map, uint32_t number, size_t index)
{
    uint32_t *known = map_at(map, (struct map_key){number, 0, 0});
    if (*known != MAP_ABSENT)
        return false;
    *known = (uint32_t)index;
    return true;
}

/* Returns what a number of the process stands for: TRACE_NONE for 0, and for one that no record has, which is damage
 * unless records are known to be lost. */
static uint32_t loader_resolve(struct loader *loader, const struct map *map, uint32_t number)
{
    if (number == 0)
        return TRACE_NONE;
    uint32_t index = map_find(map, (struct map_key){number, 0, 0});
    if (index != MAP_ABSENT)
        return index;
    const struct spool *spool = loader->process->spool;
    uint64_t lost = spool->cut_off;
    for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
        lost += spool->header.lost[i] > 0;
    loader->process->damaged += lost == 0 && !loader->trace->bursts.thinned;
    return TRACE_NONE;
}

/* Counts posts of a processor: there are few in one process. */
static void count_posts(struct loader *loader, int32_t cpu, uint64_t n)
{
    struct trace_process *process = loader->process;
    size_t i = 0;
    while (i < process->n_posts && process->posts[i].cpu != cpu)
        i++;
    if (i == process->n_posts) {
        array_grow(&process->posts, i, sizeof *process->posts);
        process->posts[process->n_posts++] = (struct trace_posts){.cpu = cpu};
    }
    process->posts[i].posts += n;
}

static void live_until(struct loader *loader, uint64_t ticks)
{
    if (ticks > loader->last_ticks)
        loader->last_ticks = ticks;
}

/* From that time on records of the process may be missing. */
static void lose_from(struct trace_process *process, uint64_t ticks)
{
    if (ticks < process->lost_ticks)
        process->lost_ticks = ticks;
}

/* Maximum number of entries of trace.rejected compared with a call; after that it gets an entry of its own. */
enum { PLACES_COMPARED = 64 };

/* A loop may make the same rejected call a million times, so calls are counted by rank, call site and function where
 * they come close together. */
static void note_rejected(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    uint32_t callsite = callsite_of(&loader->callsites, trace, record->site, record->post_ticks);
    for (size_t i = trace->n_rejected; i > 0 && trace->n_rejected - i < PLACES_COMPARED; i--) {
        struct trace_rejected *known = &trace->rejected[i - 1];
        if (known->rank == loader->rank && known->callsite == callsite && known->function == record->function) {
            known->calls++;
            return;
        }
    }
    TRACE_ADD(
        trace->rejected, trace->n_rejected,
        (struct trace_rejected){.rank = loader->rank, .callsite = callsite, .function = record->function, .calls = 1});
}

/* Puts what an operation has besides its own record into trace.origins. Returns its index, TRACE_NONE if there is
 * nothing. */
static uint32_t add_origin(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    if (!record_has_origin(record))
        return TRACE_NONE;
    trace_grow(&trace->origins, trace->n_origins, sizeof *trace->origins);
    trace->origins[trace->n_origins] = (struct trace_origin){
        .persistent = record->persistent, .stack = record->stack, .rank = loader->rank, .direction = record->direction};
    return (uint32_t)trace->n_origins++;
}

/* Notes what has to be known of an operation before any is read for good. */
static void note_operation(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    if (operation_rejected(record)) {
        note_rejected(loader, record);
        return;
    }
    if (!operation_known(trace, loader->process, record)) {
        loader->process->damaged++;
        lose_from(loader->process, record->post_ticks);
        return;
    }
    communicator_of(&loader->communicators, trace, record->communicator);
    callsite_of(&loader->callsites, trace, record->site, record->post_ticks);
    uint32_t origin = loader->left_out ? TRACE_NONE : add_origin(loader, record);
    if (record->flags & SPOOL_PARTITIONED)
        loader->partitioned = origin;
    if (record->cpu_post >= 0)
        count_posts(loader, record->cpu_post, 1);
    loader->process->off = loader->process->off || (record->flags & SPOOL_OFF);
    live_until(loader, record->post_ticks + record->call_ticks);
    live_until(loader, record->complete_ticks);
}

static void note_call(struct loader *loader, const struct spool_call *record)
{
    callsite_of(&loader->callsites, loader->trace, record->site, record->begin_ticks);
    live_until(loader, record->begin_ticks + record->call_ticks);
}

static void note_idle(struct loader *loader, const struct spool_idle *record)
{
    /* The end of the row is not known, and it ends with the module. */
    callsite_of_sum(&loader->callsites, loader->trace, record->site, record->begin_ticks,
                    record->begin_ticks + record->first_ticks);
    live_until(loader, record->begin_ticks + spool_idle_ticks(record));
}

/* Adds a call with what all have: its rank, call site and times. ticks: of its entry, how long the call took, and its
 * end, 0: not reached. */
static void add_call(struct loader *loader, struct trace_call call, uint64_t site, uint64_t begin_ticks,
                     uint32_t call_ticks, uint64_t end_ticks)
{
    call.begin_ns = loader_ns(loader, begin_ticks);
    call.call_end_ns = loader_return_ns(loader, call.flags, begin_ticks, call_ticks, end_ticks);
    call.end_ns = loader_optional_ns(loader, end_ticks);
    call.rank = loader->rank;
    call.callsite = callsite_of(&loader->callsites, loader->trace, site, begin_ticks);
    TRACE_ADD(loader->trace->calls, loader->trace->n_calls, call);
}

static void add_collective(struct loader *loader, const struct spool_collective *record)
{
    uint32_t communicator = communicator_of(&loader->communicators, loader->trace, record->communicator);
    if (communicator == TRACE_NONE) {
        loader->process->damaged++;
        return;
    }
    struct trace_call call = {.bytes = record->bytes,
                              .communicator = communicator,
                              .persistent = record->persistent,
                              .stack = record->stack,
                              .peer = record->root,
                              .function = record->function,
                              .flags = record->flags,
                              .sort = CALL_COLLECTIVE};
    add_call(loader, call, record->site, record->begin_ticks, record->call_ticks, record->end_ticks);
}

static void add_persistent(struct loader *loader, const struct spool_persistent *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator = communicator_of(&loader->communicators, trace, record->communicator);
    bool collective = record->direction == UINT8_MAX;
    if (communicator == TRACE_NONE || record->number == 0 || (!collective && record->direction > SPOOL_RECEIVE)) {
        loader->process->damaged++;
        return;
    }
    TRACE_ADD(trace->persistents, trace->n_persistents,
              (struct trace_persistent){
                  .begin_ns = loader_ns(loader, record->begin_ticks),
                  .end_ns = loader_ns(loader, record->begin_ticks + record->call_ticks),
                  .bytes = record->bytes,
                  .rank = loader->rank,
                  .number = record->number,
                  .communicator = communicator,
                  .peer = record->peer,
                  .peer_world = -1,
                  .tag = record->tag,
                  .partitions = record->partitions,
                  .ordinal = TRACE_NONE,
                  .callsite = callsite_of(&loader->callsites, trace, record->site, record->begin_ticks),
                  .lane = record->lane,
                  .function = record->function,
                  .direction = record->direction,
              });
}

/* Adds what lies right behind the record of its operation. */
static void add_partitions(struct loader *loader, const struct spool_partitions *record)
{
    struct trace *trace = loader->trace;
    if (loader->partitioned == TRACE_NONE || record->number == 0 ||
        !loader_note(&loader->partitions, record->number, trace->n_partitions)) {
        loader->process->damaged++;
        return;
    }
    TRACE_ADD(trace->partitions, trace->n_partitions,
              (struct trace_partitions){
                  .first_ns = loader_optional_ns(loader, record->first_ticks),
                  .last_ns = loader_optional_ns(loader, record->last_ticks),
                  .origin = loader->partitioned,
                  .done = record->done,
                  .partitions = record->partitions,
              });
}

static void add_partition(struct loader *loader, const struct spool_partition *record)
{
    struct trace *trace = loader->trace;
    TRACE_ADD(trace->partition_events, trace->n_partition_events,
              (struct trace_partition){
                  .at_ns = loader_ns(loader, record->ticks),
                  .partitions = record->number,
                  .partition = record->partition,
                  .callsite = callsite_of(&loader->callsites, trace, record->site, record->ticks),
                  .function = record->function,
              });
}

static void add_access(struct loader *loader, const struct spool_access *record)
{
    struct trace *trace = loader->trace;
    bool file = function_is_of_file(record->function);
    uint32_t communicator = TRACE_NONE;
    if (record->communicator != SPOOL_NO_COMMUNICATOR) {
        communicator = communicator_of(&loader->communicators, trace, record->communicator);
        if (communicator == TRACE_NONE || record->target >= trace->communicators[communicator].size) {
            loader->process->damaged++;
            return;
        }
    }
    struct trace_call call = {.bytes = file && (record->flags & SPOOL_FAILED) ? 0 : record->bytes,
                              .communicator = communicator,
                              .peer = record->target,
                              .object = record->object,
                              .offset = record->offset,
                              .stack = record->stack,
                              .function = record->function,
                              .flags = record->flags,
                              .sort = file ? CALL_FILE : CALL_ONE_SIDED};
    add_call(loader, call, record->site, record->begin_ticks, record->call_ticks, record->end_ticks);
}

static void add_mark(struct loader *loader, const struct spool_mark *record)
{
    struct trace_call call = {.communicator = TRACE_NONE,
                              .peer = record->number,
                              .function = FN_Pcontrol,
                              .flags = record->flags,
                              .sort = CALL_MARK};
    add_call(loader, call, record->site, record->ticks, 0, record->ticks);
}

/* Addresses differ between processes and call sites do not, so the frames are compared as call sites: by two
 * independent 64-bit sums, as the kinds of rounds are. */
static struct map_key stack_key(const struct trace *trace, size_t first)
{
    struct map_key sums = {0, 0, trace->n_frames - first};
    for (size_t i = first; i < trace->n_frames; i++) {
        sums.a += map_hash((struct map_key){i - first, trace->frames[i], 1});
        sums.b += map_hash((struct map_key){i - first, trace->frames[i], 2});
    }
    return sums;
}

static void add_stack(struct loader *loader, const struct spool_stack *record)
{
    struct trace *trace = loader->trace;
    size_t first = trace->n_frames;
    if (record->number == 0 || record->frames == 0) {
        loader->process->damaged++;
        return;
    }
    uint64_t ticks = record->timed ? record->sites[record->frames] : loader->last_ticks;
    for (uint32_t i = 0; i < record->frames; i++)
        ARRAY_ADD(trace->frames, trace->n_frames, callsite_of(&loader->callsites, trace, record->sites[i], ticks));
    uint32_t id = map_number(&loader->stack_ids, stack_key(trace, first), trace->n_stacks);
    if (id == trace->n_stacks)
        TRACE_ADD(trace->stacks, trace->n_stacks, (struct trace_stack){first, record->frames});
    else
        trace->n_frames = first;
    if (!loader_note(&loader->stacks, record->number, id))
        loader->process->damaged++;
}

static void note_region(struct loader *loader, const struct spool_region *record)
{
    if (record->region == 0 || record->region >= SPOOL_REGIONS) {
        loader->process->damaged++;
        return;
    }
    region_of_process(loader->trace, loader->process, record->region);
    live_until(loader, record->begin_ticks);
    live_until(loader, record->end_ticks);
}

static int compare_calls(const void *left, const void *right)
{
    const struct trace_call *a = left, *b = right;
    return ORDER(a->begin_ns, b->begin_ns);
}

/* Sorts calls[n] unless they are in order already, as they are with a single thread. */
static void sort_calls(struct trace_call *calls, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (calls[i].begin_ns < calls[i - 1].begin_ns) {
            qsort(calls, n, sizeof *calls, compare_calls);
            return;
        }
}

static int compare_persistents(const void *left, const void *right)
{
    const struct trace_persistent *a = left, *b = right;
    return ORDER(a->begin_ns, b->begin_ns) ?: ORDER(a->lane, b->lane) ?: ORDER(a->number, b->number);
}

/* Resolves the numbers that the process itself gave, its requests being sorted by time. */
static void resolve_numbers(struct loader *loader)
{
    struct trace *trace = loader->trace;
    struct trace_process *process = loader->process;
    size_t first = loader->first_persistent;
    if (trace->n_persistents > first + 1)
        qsort(trace->persistents + first, trace->n_persistents - first, sizeof *trace->persistents,
              compare_persistents);
    for (size_t i = first; i < trace->n_persistents; i++)
        process->damaged += !loader_note(&loader->persistents, trace->persistents[i].number, i);
    for (size_t i = loader->first_origin; i < trace->n_origins; i++) {
        struct trace_origin *origin = &trace->origins[i];
        origin->stack = loader_resolve(loader, &loader->stacks, origin->stack);
        origin->persistent = loader_resolve(loader, &loader->persistents, origin->persistent);
        if (origin->persistent != TRACE_NONE)
            trace->persistents[origin->persistent].starts++;
    }
    for (size_t i = process->first_call; i < trace->n_calls; i++) {
        struct trace_call *call = &trace->calls[i];
        call->stack = loader_resolve(loader, &loader->stacks, call->stack);
        call->persistent = loader_resolve(loader, &loader->persistents, call->persistent);
        if (call->persistent != TRACE_NONE && !(call->flags & SPOOL_OFF))
            trace->persistents[call->persistent].starts++;
    }
    for (size_t i = loader->first_partition_event; i < trace->n_partition_events; i++) {
        struct trace_partition *partition = &trace->partition_events[i];
        uint32_t number = partition->partitions;
        partition->partitions = loader_resolve(loader, &loader->partitions, number);
        bool beyond = partition->partitions != TRACE_NONE &&
                      partition->partition >= trace->partitions[partition->partitions].partitions;
        if (number == 0 || beyond) {
            process->damaged++;
            partition->partitions = TRACE_NONE;
        }
    }
    map_release(&loader->stacks);
    map_release(&loader->persistents);
    map_release(&loader->partitions);
}

/* Finds the lanes of a process, in the order of its spans. */
static void find_lanes(struct loader *loader)
{
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    for (size_t i = 0; i < spool->n_spans; i++) {
        if (process->n_lanes > 0 && process->lanes[process->n_lanes - 1].number == spool->spans[i].lane) {
            process->lanes[process->n_lanes - 1].end_span = i + 1;
            continue;
        }
        ARRAY_ADD(process->lanes, process->n_lanes,
                  (struct trace_lane){.number = spool->spans[i].lane, .first_span = i, .end_span = i + 1});
    }
}

/* Notes what the totals name of a call that becomes no row. */
static void note_outside(struct loader *loader, const uint8_t *record)
{
    const struct spool_collective *collective = (const void *)record;
    const struct spool_access *access = (const void *)record;
    if (*record == SPOOL_COLLECTIVE) {
        communicator_of(&loader->communicators, loader->trace, collective->communicator);
        callsite_of(&loader->callsites, loader->trace, collective->site, collective->begin_ticks);
        live_until(loader, collective->end_ticks);
    } else if (*record == SPOOL_ACCESS) {
        callsite_of(&loader->callsites, loader->trace, access->site, access->begin_ticks);
        live_until(loader, access->end_ticks);
    }
}

static void take_record(struct loader *loader, const uint8_t *record, bool inside)
{
    const void *any = record;
    if (*record == SPOOL_PARTITIONS && !loader->left_out)
        add_partitions(loader, any);
    loader->partitioned = TRACE_NONE;
    loader->left_out = !inside && *record == SPOOL_OPERATION;
    if (!inside && is_loaded(record)) {
        note_outside(loader, record);
        return;
    }
    switch (*record) {
    case SPOOL_OPERATION:
        note_operation(loader, any);
        break;
    case SPOOL_CALL:
        note_call(loader, any);
        break;
    case SPOOL_IDLE:
        note_idle(loader, any);
        break;
    case SPOOL_COLLECTIVE:
        add_collective(loader, any);
        break;
    case SPOOL_PERSISTENT:
        add_persistent(loader, any);
        break;
    case SPOOL_PARTITION:
        add_partition(loader, any);
        break;
    case SPOOL_ACCESS:
        add_access(loader, any);
        break;
    case SPOOL_MARK:
        add_mark(loader, any);
        break;
    case SPOOL_STACK:
        add_stack(loader, any);
        break;
    case SPOOL_REGION:
        note_region(loader, any);
        break;
    case SPOOL_REGION_NAME:
        loader->process->damaged += !region_take(loader->trace, loader->process, any);
        break;
    default:
        break;
    }
}

/* Takes the records of the lane that the look has found, and lets the cursor stand behind all that it has seen. */
static void take_looked_at(struct loader *loader, struct spool_cursor *cursor)
{
    const struct first_look *look = loader->look;
    const struct spool *spool = cursor->spool;
    for (; cursor->span < cursor->end_span && cursor->span <= look->end_span; cursor->span++) {
        const struct spool_span *span = &spool->spans[cursor->span];
        size_t first = loader->next_place;
        for (size_t at; loader->next_place < look->n_places; loader->next_place++) {
            at = look->places[loader->next_place];
            if (at < span->begin || at >= span->end)
                break;
            take_record(loader, spool->data + at, true);
        }
        if (cursor->span == look->end_span) {
            cursor->at = look->end_at;
            if (!look->is_end_taken)
                loader->partitioned = TRACE_NONE;
            return;
        }
        if (loader->next_place > first)
            spool_forget(spool, span);
    }
}

/* Takes what the look has added up, or forgets all of it if it does not hold. */
static void begin_look(struct loader *loader)
{
    struct first_look *look = loader->look;
    if (!first_look_holds(look, loader->trace, loader->process, &loader->callsites))
        first_look_release(look);
    loader->next_place = 0;
    loader->process->off = look->off;
    live_until(loader, look->last_ticks);
    for (size_t i = 0; i < look->n_posts; i++)
        count_posts(loader, look->posts[i].cpu, look->posts[i].posts);
}

static void load_lane(struct loader *loader, struct trace_lane *lane)
{
    struct spool_cursor cursor = {
        .spool = loader->process->spool, .span = lane->first_span, .end_span = lane->end_span};
    lane->first_origin = loader->trace->n_origins;
    loader->lane = lane->number;
    bool thinned = loader->trace->bursts.thinned;
    if (thinned)
        joint_outside_begin_lane(&loader->outside, lane);
    take_looked_at(loader, &cursor);
    for (const uint8_t *record; (record = spool_next(&cursor)) != NULL;) {
        bool inside = !thinned || joint_outside_take(&loader->outside, record, cursor.span);
        take_record(loader, record, inside);
    }
    if (thinned)
        joint_outside_end_lane(&loader->outside, lane);
    loader->process->damaged += cursor.damaged;
    if (cursor.damaged > 0)
        lose_from(loader->process, 0);
}

/* Keeps the process's numbers of communicators for the last reading. */
static void keep_communicators(struct loader *loader)
{
    struct trace_process *process = loader->process;
    process->n_communicators = loader->communicators.n_local;
    process->communicators = xcalloc(process->n_communicators, sizeof *process->communicators);
    for (size_t i = 0; i < process->n_communicators; i++)
        process->communicators[i] = loader->communicators.local[i];
}

/* Returns when the last chunk of the file was begun. */
static uint64_t last_chunk_ticks(const struct spool *spool)
{
    const struct spool_span *last = NULL;
    for (size_t i = 0; i < spool->n_spans; i++)
        if (last == NULL || spool->spans[i].begin > last->begin)
            last = &spool->spans[i];
    struct spool_chunk chunk = {.clock = {0}};
    if (last != NULL)
        memcpy(&chunk, spool->data + last->begin - sizeof chunk, sizeof chunk);
    return chunk.clock.ticks;
}

/* Takes over what the spool itself knows of losses. A lane that gets no further chunk is stopped for good; without
 * memory single records are lost, and where damaged ones were is unknown. */
static void find_losses(struct loader *loader)
{
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    bool stopped = false;
    process->lost_ticks = TRACE_NOT_LOST;
    process->stopped_ns = process->uncounted_ns = TRACE_NO_TIME;
    for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
        if (spool->header.lost[i] > 0) {
            lose_from(process, spool->header.lost_ticks);
            stopped = stopped || i != SPOOL_LOSS_MEMORY;
        }
    if (spool->cut_off > 0) {
        /* Chunks that are used again lie in any order. */
        lose_from(process, spool->header.folded_chunks > 0 ? 0 : last_chunk_ticks(spool));
        stopped = true;
    }
    if (stopped && process->lost_ticks > 0)
        process->stopped_ns = clock_ns(loader->node, process, process->lost_ticks, &loader->clock_hint);
    if (spool->damaged > 0)
        lose_from(process, 0);
}

/* Notes call sites that only the totals of the recorder name. */
static void note_totals(struct loader *loader)
{
    struct spool_folded folded;
    spool_folded_read(loader->process->spool, &folded);
    for (uint32_t i = 0; folded.totals.slots != NULL && i < folded.totals.n_slots; i++)
        if (folded.totals.slots[i].calls > 0) {
            uint64_t site = folded.totals.slots[i].site;
            callsite_of_any(&loader->callsites, loader->trace, site);
            region_of_process(loader->trace, loader->process, spool_site_region(site));
        }
    loader->process->damaged += folded.damaged;
    spool_folded_free(&folded);
}

static void load_process(struct loader *loader)
{
    struct trace *trace = loader->trace;
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    loader->node = &trace->nodes[process->node];
    loader->clock_hint = 0;
    loader->partitioned = TRACE_NONE;
    loader->first_origin = trace->n_origins;
    loader->first_persistent = trace->n_persistents;
    loader->first_partition_event = trace->n_partition_events;
    loader->last_ticks = spool->header.start.ticks;
    process->begin_ns = clock_ns(loader->node, process, spool->header.start.ticks, &loader->clock_hint);
    process->end_ns = process->begin_ns;
    live_until(loader, spool->header.finish.ticks);
    uint64_t damaged = 0;
    communicators_of_process(&loader->communicators, trace, spool, &damaged);
    callsites_of_process(&loader->callsites, trace, process);
    process->damaged = spool->damaged + damaged;
    find_losses(loader);
    if (spool->header.processor > 0) /* all that is known of a process without records of posts */
        count_posts(loader, (int32_t)spool->header.processor - 1, 1);
    keep_communicators(loader);
    find_lanes(loader);
    begin_look(loader);
    if (trace->bursts.thinned)
        joint_outside_begin_process(&loader->outside, loader->trace, &loader->communicators, loader->rank);
    for (size_t i = 0; i < process->n_lanes; i++)
        load_lane(loader, &process->lanes[i]);
    if (trace->bursts.thinned)
        joint_outside_end_process(&loader->outside);
    loader_ns(loader, loader->last_ticks);
    resolve_numbers(loader);
    note_totals(loader);
    process->callsites = callsites_take(&loader->callsites);
    if (trace->n_calls > process->first_call)
        sort_calls(trace->calls + process->first_call, trace->n_calls - process->first_call);
}

/* Counts the partitioned requests of each envelope, by rank, in the order of their making. */
static void number_persistents(struct trace *trace)
{
    struct map latest = {0}; /* (rank, communicator, peer, tag, direction) -> the last such request */
    for (uint32_t i = 0; i < trace->n_persistents; i++) {
        struct trace_persistent *request = &trace->persistents[i];
        if (request->partitions == 0 || request->direction > SPOOL_RECEIVE || request->peer_world < 0)
            continue;
        uint32_t *last =
            map_at(&latest, (struct map_key){(uint64_t)request->rank << 32 | request->communicator,
                                             (uint64_t)(uint32_t)request->peer << 32 | (uint32_t)request->tag,
                                             request->direction});
        request->ordinal = 0;
        if (*last != MAP_ABSENT) {
            struct trace_persistent *before = &trace->persistents[*last];
            request->ordinal = before->ordinal + 1;
            if (before->lane != request->lane && before->end_ns > request->begin_ns) {
                before->uncertain |= DOUBT_THREADS;
                request->uncertain |= DOUBT_THREADS;
            }
        }
        *last = i;
    }
    map_release(&latest);
}

/* Ranks that are looked at, side by side, before they are loaded, for each thread: their looks have 2 MiB at most. */
enum { RANKS_A_THREAD = 16 };

struct looks {
    const struct trace *trace;
    uint32_t first_rank;
    struct first_look *looks; /* of the ranks from that one on */
};

static int look_at_rank(void *context, size_t number, struct error *error)
{
    const struct looks *looks = context;
    const struct trace_process *process = &looks->trace->processes[looks->first_rank + number];
    (void)error;
    if (process->spool != NULL)
        first_look_take(&looks->looks[number], process->spool);
    return 0;
}

static void load_processes(struct loader *loader, size_t jobs)
{
    struct trace *trace = loader->trace;
    uint32_t n_ranks = (uint32_t)trace->world_size;
    uint32_t most = jobs < n_ranks / RANKS_A_THREAD ? RANKS_A_THREAD * (uint32_t)jobs : n_ranks;
    struct looks looks = {.trace = trace, .looks = xcalloc(most, sizeof *looks.looks)};
    for (uint32_t n; looks.first_rank < n_ranks; looks.first_rank += n) {
        n = n_ranks - looks.first_rank < most ? n_ranks - looks.first_rank : most;
        if (!trace->bursts.thinned)
            side_by_side(n, jobs, look_at_rank, &looks, NULL);
        for (uint32_t i = 0; i < n; i++) {
            loader->rank = looks.first_rank + i;
            loader->process = &trace->processes[loader->rank];
            loader->process->first_call = trace->n_calls;
            loader->look = &looks.looks[i];
            if (loader->process->spool != NULL)
                load_process(loader);
            first_look_release(loader->look);
        }
    }
    trace->processes[n_ranks].first_call = trace->n_calls;
    free(looks.looks);
}

void trace_load(struct trace *trace, size_t jobs)
{
    struct loader loader = {.trace = trace};
    communicators_begin(&loader.communicators, trace);
    load_processes(&loader, jobs);
    communicators_release(&loader.communicators);
    callsites_release(&loader.callsites);
    map_release(&loader.stack_ids);
    communicators_complete(trace);
    for (size_t i = 0; i < trace->n_persistents; i++) {
        struct trace_persistent *request = &trace->persistents[i];
        if (request->direction <= SPOOL_RECEIVE)
            request->peer_world = communicator_world_rank(trace, request->communicator, request->peer);
        request->communicator = communicator_context(trace, request->communicator);
    }
    number_persistents(trace);
}
