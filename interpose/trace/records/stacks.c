/* A process stores a stack once and numbers it. Addresses differ between processes and call sites do not, so the frames
 * are compared as call sites: by two independent 64-bit sums, as the kinds of rounds are. */
#include "interpose/trace/records/records.h"

#include "interpose/database/row.h"
#include "share/base/array.h"

static void add_frames(struct loader *loader, const struct spool_stack *record)
{
    uint64_t ticks = record->timed ? record->sites[record->frames] : loader->last_ticks;
    struct trace *trace = loader->trace;
    for (uint32_t i = 0; i < record->frames; i++) {
        ARRAY_ADD(trace->frames, trace->n_frames, callsite_of(&loader->callsites, trace, record->sites[i], ticks));
    }
}

static struct map_key key_of(const struct trace *trace, size_t first)
{
    struct map_key sums = {0, 0, trace->n_frames - first};
    for (size_t i = first; i < trace->n_frames; i++) {
        sums.a += map_hash((struct map_key){i - first, trace->frames[i], 1});
        sums.b += map_hash((struct map_key){i - first, trace->frames[i], 2});
    }
    return sums;
}

void stack_load(struct loader *loader, const struct spool_stack *record)
{
    struct trace *trace = loader->trace;
    size_t first = trace->n_frames;
    if (record->number == 0 || record->frames == 0) {
        loader->process->damaged++;
        return;
    }
    add_frames(loader, record);
    uint32_t id = map_number(&loader->stack_ids, key_of(trace, first), trace->n_stacks);
    if (id == trace->n_stacks)
        TRACE_ADD(trace->stacks, trace->n_stacks, (struct trace_stack){first, record->frames});
    else
        trace->n_frames = first;
    if (!loader_note(&loader->stacks, record->number, id))
        loader->process->damaged++;
}

void stacks_resolve(struct loader *loader)
{
    struct trace *trace = loader->trace;
    for (size_t i = loader->first_origin; i < trace->n_origins; i++)
        trace->origins[i].stack = loader_resolve(loader, &loader->stacks, trace->origins[i].stack);
    for (size_t i = loader->process->first_collective; i < trace->n_collectives; i++)
        trace->collectives[i].stack = loader_resolve(loader, &loader->stacks, trace->collectives[i].stack);
}

int stacks_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "stack", 3);
    for (uint32_t i = 0; i < trace->n_stacks; i++)
        for (uint32_t depth = 0; depth < trace->stacks[i].n_frames; depth++)
            row_insert(&row, "kuu", i, depth, trace->frames[trace->stacks[i].first + depth]);
    return row_finish(&row);
}
