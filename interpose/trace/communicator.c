/* A process numbers its communicators for itself. Two of different processes are the same if their creation was: the
 * same parent (already unified), the same number of the creation on it, the same rank 0 (a split makes several at once)
 * and the same size. MPI_COMM_SELF is one a process, so what is made of it stays apart too. A communicator that was met
 * without its creation has only its members: equal members in the same order of appearance are taken for the same, and
 * it is marked as not known. Of an intercommunicator each process describes its own group; the hash covers both, so
 * that the two are found together. Who is rank r, each process says for itself.
 */
#include "communicator.h"

#include <stdlib.h>
#include <string.h>

/* Indices of one process run from 0; far larger ones are damage. */
#define INDEX_LIMIT (1U << 24)

static const uint64_t self_mark = UINT64_C(0xffffffffffffffff);

static struct trace_communicator *add(struct trace *trace, int32_t size)
{
    struct trace_communicator *grown = trace_grow(trace->communicators, trace->n_communicators, sizeof *grown);
    if (grown == NULL)
        return NULL;
    trace->communicators = grown;
    struct trace_communicator *added = &trace->communicators[trace->n_communicators];
    *added = (struct trace_communicator){.parent = TRACE_NONE, .remote = TRACE_NONE, .size = size, .known = true};
    added->members = malloc((size_t)size * sizeof *added->members);
    if (added->members == NULL)
        return NULL;
    for (int32_t i = 0; i < size; i++)
        added->members[i] = -1;
    trace->n_communicators++;
    return added;
}

int communicators_begin(struct communicator_table *table, struct trace *trace)
{
    *table = (struct communicator_table){0};
    struct trace_communicator *world = add(trace, trace->world_size);
    if (world == NULL)
        return -1;
    for (int32_t i = 0; i < world->size; i++)
        world->members[i] = i;
    strcpy(world->name, "MPI_COMM_WORLD");
    world->used = true;
    return 0;
}

static int compare_index(const void *left, const void *right)
{
    const struct spool_communicator *const *a = left, *const *b = right;
    return (*a)->index < (*b)->index ? -1 : (*a)->index > (*b)->index;
}

/* All records of communicators of a spool, by index; NULL: no memory. */
static const struct spool_communicator **read_records(const struct spool *spool, size_t *n_records)
{
    const struct spool_communicator **records = trace_grow(NULL, 0, sizeof *records);
    struct spool_cursor cursor = {.spool = spool};
    *n_records = 0;
    for (const uint8_t *record; records != NULL && (record = spool_next(&cursor)) != NULL;) {
        if (*record != SPOOL_COMMUNICATOR)
            continue;
        const struct spool_communicator **grown = trace_grow(records, *n_records, sizeof *records);
        if (grown == NULL) {
            free(records);
            return NULL;
        }
        records = grown;
        records[(*n_records)++] = (const void *)record;
    }
    if (records != NULL)
        qsort(records, *n_records, sizeof *records, compare_index);
    return records;
}

static int set_local(struct communicator_table *table, uint32_t index, uint32_t id)
{
    if (index >= table->n_local) {
        size_t n = (size_t)index + 1 > 2 * table->n_local ? (size_t)index + 1 : 2 * table->n_local;
        uint32_t *grown = realloc(table->local, n * sizeof *grown);
        if (grown == NULL)
            return -1;
        for (size_t i = table->n_local; i < n; i++)
            grown[i] = TRACE_NONE;
        table->local = grown;
        table->n_local = n;
    }
    table->local[index] = id;
    return 0;
}

/* What makes two records of different processes the same communicator. 0, or -1: no memory; *damaged without parent. */
static int identify(struct communicator_table *table, const struct spool_communicator *record, struct map_key *key,
                    bool *damaged)
{
    uint64_t place = (uint64_t)(uint32_t)record->leader << 32 | (uint32_t)record->size;
    *damaged = false;
    if (record->identity == SPOOL_BY_MEETING) {
        uint32_t *times = map_at(&table->occurrences, (struct map_key){record->members_hash, place, 0});
        if (times == NULL)
            return -1;
        *times = *times == MAP_ABSENT ? 0 : *times + 1;
        uint64_t occurrence = (uint64_t)*times << 32 | (uint64_t)(uint32_t)record->remote_size;
        *key = (struct map_key){record->members_hash, place, ~occurrence};
        return 0;
    }
    uint32_t parent = record->parent < table->n_local ? table->local[record->parent] : TRACE_NONE;
    *damaged = parent == TRACE_NONE;
    *key = (struct map_key){(uint64_t)parent << 32 | record->creation, place, (uint64_t)(uint32_t)record->remote_size};
    return 0;
}

/* Joins the two groups of an intercommunicator that was met without its creation. 0, or -1 without memory. */
static int join_sides(struct communicator_table *table, struct trace *trace, uint32_t id, struct map_key key)
{
    struct trace_communicator *one = &trace->communicators[id];
    if (one->remote_size == 0 || one->known)
        return 0;
    uint32_t *first = map_at(&table->sides, (struct map_key){key.a, (~key.c) >> 32, 0});
    if (first == NULL)
        return -1;
    if (*first == MAP_ABSENT)
        *first = id;
    struct trace_communicator *other = &trace->communicators[*first];
    if (*first != id && other->remote == TRACE_NONE && other->size == one->remote_size &&
        other->remote_size == one->size) {
        one->remote = *first;
        other->remote = id;
    }
    return 0;
}

static int add_record(struct communicator_table *table, struct trace *trace, const struct spool_communicator *record,
                      int32_t world_rank, uint64_t *damaged)
{
    bool orphan = false;
    struct map_key key;
    if (record->index >= INDEX_LIMIT || (record->index < table->n_local && table->local[record->index] != TRACE_NONE)) {
        (*damaged)++;
        return 0;
    }
    if (identify(table, record, &key, &orphan) != 0)
        return -1;
    if (orphan) {
        (*damaged)++;
        return 0;
    }
    uint32_t *id = map_at(&table->ids, key);
    if (id == NULL)
        return -1;
    if (*id == MAP_ABSENT) {
        struct trace_communicator *added = add(trace, record->size);
        if (added == NULL)
            return -1;
        *id = (uint32_t)(trace->n_communicators - 1);
        added->remote_size = record->remote_size;
        added->known = record->identity != SPOOL_BY_MEETING;
        added->made = true;
        added->function = record->function;
        added->parent = record->identity == SPOOL_BY_MEETING ? TRACE_NONE : table->local[record->parent];
        added->used = true;
        if (join_sides(table, trace, *id, key) != 0)
            return -1;
    }
    struct trace_communicator *communicator = &trace->communicators[*id];
    int32_t *member = &communicator->members[record->rank];
    if (*member != -1 && *member != world_rank)
        communicator->known = false;
    *member = world_rank;
    if (communicator->parent != TRACE_NONE)
        trace->communicators[communicator->parent].used = true;
    return set_local(table, record->index, *id);
}

int communicators_of_process(struct communicator_table *table, struct trace *trace, const struct spool *spool,
                             uint64_t *damaged)
{
    int32_t rank = spool->header.rank;
    for (size_t i = 0; i < table->n_local; i++)
        table->local[i] = TRACE_NONE;
    map_release(&table->occurrences);
    uint32_t *self = map_at(&table->ids, (struct map_key){(uint64_t)rank, self_mark, self_mark});
    if (self == NULL)
        return -1;
    if (*self == MAP_ABSENT) {
        struct trace_communicator *added = add(trace, 1);
        if (added == NULL)
            return -1;
        added->members[0] = rank;
        strcpy(added->name, "MPI_COMM_SELF");
        *self = (uint32_t)(trace->n_communicators - 1);
    }
    if (set_local(table, 1, *self) != 0 || set_local(table, 0, COMMUNICATOR_WORLD) != 0)
        return -1;
    size_t n_records;
    const struct spool_communicator **records = read_records(spool, &n_records);
    int result = records == NULL ? -1 : 0;
    for (size_t i = 0; result == 0 && i < n_records; i++)
        if (records[i]->index > 1)
            result = add_record(table, trace, records[i], rank, damaged);
    free(records);
    return result;
}

uint32_t communicator_of(struct communicator_table *table, struct trace *trace, uint32_t index)
{
    uint32_t id = index < table->n_local ? table->local[index] : TRACE_NONE;
    if (id != TRACE_NONE)
        trace->communicators[id].used = true;
    return id;
}

void communicators_release(struct communicator_table *table)
{
    map_release(&table->ids);
    map_release(&table->sides);
    map_release(&table->occurrences);
    free(table->local);
    *table = (struct communicator_table){0};
}

int32_t communicator_world_rank(const struct trace *trace, uint32_t communicator, int32_t peer)
{
    const struct trace_communicator *group = &trace->communicators[communicator];
    if (group->remote_size > 0)
        group = group->remote == TRACE_NONE ? NULL : &trace->communicators[group->remote];
    return group == NULL || peer < 0 || peer >= group->size ? -1 : group->members[peer];
}

uint32_t communicator_context(const struct trace *trace, uint32_t communicator)
{
    uint32_t remote = trace->communicators[communicator].remote;
    return remote < communicator ? remote : communicator;
}
