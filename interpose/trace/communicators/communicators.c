/* A process numbers its communicators for itself; identity_look_up tells which of them are the same. Each process has
 * its own MPI_COMM_SELF, so what is made from it stays apart too. Each process describes its own group of an
 * intercommunicator; the two groups are two communicators here, each the other's `remote`. Each process says itself
 * which rank it has; where one left no spool, the members of what was duplicated tell. A communicator is marked as not
 * known if its creation or its parent's was not recorded, or if two threads may have made it at once.
 *
 * A communicator has the last name that the process of its lowest rank gave it. */
#include "interpose/trace/communicators/communicators.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/trace/communicators/worlds.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "interpose/trace/state/trace.h"
#include "share/base/one_of.h"

/* Tells which records of different processes describe one communicator. If all members of its parent made it, the
 * parent and the number of the creation on it identify it. If only its members made it, or it has no parent, the hash
 * of its members, its function and its tag do; where all these are alike, the order in its process decides. MPI lets
 * nobody make two such communicators at once except in two threads, which their times show. A communicator whose
 * creation was not recorded has only its members and the order in which processes met it.
 *
 * Rank 0 and size tell a group from the other parts of a split, and from the other group of an intercommunicator. */

/* What identity_look_up found about a record. */
struct identity {
    uint32_t id;         /* the communicator, or MAP_ABSENT: no process spoke of this group before */
    uint32_t first;      /* the communicator of either group that was met first, or MAP_ABSENT */
    bool doubtful;       /* two threads of this process made such a communicator at once */
    struct map_key keys; /* for identity_set */
    uint64_t place, remote_size;
};

/* Counts records that are alike in one process. */
struct identity_repeat {
    uint32_t times;
    uint64_t end_ticks; /* return of the latest creation among them */
};

/* True if the parent identifies anything. It does not after MPI_Intercomm_create and the like, whose two sides
 * have different parents. */
static bool identity_has_parent(const struct spool_communicator *record)
{
    if (record->identity != SPOOL_BY_MEMBERS)
        return record->identity != SPOOL_BY_MEETING;
    return record->parent != SPOOL_NO_COMMUNICATOR &&
           !IS_ONE_OF(record->function, FN_Intercomm_create, FN_Comm_accept, FN_Comm_connect, FN_Comm_join);
}

/* One side accepts, the other connects; both get the same function here. */
static uint16_t common_function(const struct spool_communicator *record)
{
    return record->function == FN_Comm_accept ? (uint16_t)FN_Comm_connect : record->function;
}

/* Returns how many records of this process were like this one; *doubtful is set if the last of them was made at the
 * same time. */
static uint32_t count_repeat(struct identity_table *table, struct map_key key, const struct spool_communicator *record,
                             bool *doubtful)
{
    uint32_t index = map_number(&table->repeated, key, table->n_repeats);
    if (index == table->n_repeats)
        ARRAY_ADD(table->repeats, table->n_repeats, (struct identity_repeat){0, 0});
    struct identity_repeat *repeat = &table->repeats[index];
    *doubtful = repeat->times > 0 && record->identity != SPOOL_BY_MEETING && record->begin_ticks < repeat->end_ticks;
    if (record->end_ticks > repeat->end_ticks)
        repeat->end_ticks = record->end_ticks;
    return repeat->times++;
}

/* Looks up a record, whose parent has the number parent in all processes (MAP_ABSENT: it has none that counts). Records
 * of a process come in the order of their indices. */
static struct identity identity_look_up(struct identity_table *table, const struct spool_communicator *record,
                                        uint32_t parent)
{
    uint32_t function = record->identity == SPOOL_BY_MEETING ? 0 : common_function(record);
    uint32_t creation = record->identity == SPOOL_BY_MEETING ? 0 : record->creation;
    uint64_t kind = (uint64_t)record->identity << 56 | (uint64_t)function << 32;
    struct map_key key = {(uint64_t)parent << 32 | creation, record->members_hash, kind};
    struct identity found = {.id = MAP_ABSENT};
    if (record->identity == SPOOL_BY_CREATION)
        key.c = (uint64_t)SPOOL_BY_CREATION << 56; /* the number is enough */
    else
        key.c |= count_repeat(table, key, record, &found.doubtful);
    found.place = (uint64_t)(uint32_t)record->leader << 32 | (uint32_t)record->size;
    found.remote_size = (uint64_t)(uint32_t)record->remote_size;
    found.keys = key;
    found.first = map_find(&table->contexts, key);
    if (found.first != MAP_ABSENT)
        found.id = map_find(&table->groups, (struct map_key){found.first, found.place, found.remote_size});
    return found;
}

/* Gives a record that was not found the number id. */
static void identity_set(struct identity_table *table, struct identity *found, uint32_t id)
{
    uint32_t first = map_number(&table->contexts, found->keys, id);
    *map_at(&table->groups, (struct map_key){first, found->place, found->remote_size}) = id;
    found->id = id;
}

/* Indices of one process run from 0; far larger ones are damage. */
#define INDEX_LIMIT (1U << 24)
/* Limits how many members the communicators of a run have together: so many, and MEMBERS_A_RECORD_SPOOL more for each
 * record and each spool, as every member of a communicator leaves a record of it. */
#define MEMBERS_LIMIT          (UINT64_C(1) << 26)
#define MEMBERS_A_RECORD_SPOOL UINT64_C(16)

static struct trace_communicator *add_communicator(struct trace *trace, int32_t size)
{
    trace_grow(&trace->communicators, trace->n_communicators, sizeof *trace->communicators);
    struct trace_communicator *added = &trace->communicators[trace->n_communicators++];
    *added = (struct trace_communicator){
        .parent = TRACE_NONE, .remote = TRACE_NONE, .size = size, .known = true, .named_by = -1};
    added->members = xcalloc((size_t)size, sizeof *added->members);
    for (int32_t i = 0; i < size; i++)
        added->members[i] = -1;
    return added;
}

void communicators_begin(struct communicator_table *table, struct trace *trace)
{
    *table = (struct communicator_table){.worlds = trace->worlds};
    const struct worlds *worlds = trace->worlds;
    table->links = xcalloc(worlds->n_links, sizeof *table->links);
    for (uint32_t i = 0; i < worlds->n_links; i++)
        table->links[i] = TRACE_NONE;
    for (size_t w = 0; w < worlds->n_worlds; w++) {
        struct trace_communicator *world = add_communicator(trace, worlds->worlds[w].size);
        world->name = xstrdup("MPI_COMM_WORLD");
        for (int32_t i = 0; i < world->size; i++)
            world->members[i] = worlds->worlds[w].first + i;
        world->used = true;
    }
}

/* What a spool says of communicators. */
struct records {
    const void **made; /* [n_made] struct spool_communicator, by index */
    size_t n_made;
    const void **names; /* [n_names] struct spool_name, as they were given */
    size_t n_names;
};

static int compare_index(const void *left, const void *right)
{
    const struct spool_communicator *a = *(const void *const *)left, *b = *(const void *const *)right;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void append_member(const void ***array, size_t *n, const void *record)
{
    array_grow(array, *n, sizeof **array);
    (*array)[(*n)++] = record;
}

/* Reads the records; the caller frees both arrays. */
static struct records read_records(const struct spool *spool)
{
    struct records records = {0};
    struct spool_cursor cursor = {.spool = spool};
    while (cursor.end_span < spool->n_spans && spool->spans[cursor.end_span].lane == SPOOL_DEFINITIONS_LANE)
        cursor.end_span++;
    for (const uint8_t *record; cursor.end_span > 0 && (record = spool_next(&cursor)) != NULL;) {
        if (*record == SPOOL_COMMUNICATOR)
            append_member(&records.made, &records.n_made, record);
        else if (*record == SPOOL_NAME)
            append_member(&records.names, &records.n_names, record);
    }
    if (records.n_made > 1)
        qsort(records.made, records.n_made, sizeof *records.made, compare_index);
    return records;
}

static void set_local(struct communicator_table *table, uint32_t index, uint32_t id)
{
    size_t i = table->n_local;
    array_reserve(&table->local, &table->n_local, (size_t)index + 1, sizeof *table->local);
    for (; i < table->n_local; i++)
        table->local[i] = TRACE_NONE;
    table->local[index] = id;
}

/* Makes two groups each other's remote group, if they can be an intercommunicator. */
static void join_groups(struct trace *trace, uint32_t id, uint32_t first)
{
    struct trace_communicator *one = &trace->communicators[id], *other = &trace->communicators[first];
    if (id == first || one->remote_size == 0 || other->remote != TRACE_NONE || other->size != one->remote_size ||
        other->remote_size != one->size)
        return;
    one->remote = first;
    other->remote = id;
}

/* Joins the two sides of a call by which worlds met. */
static void join_worlds(struct communicator_table *table, struct trace *trace, uint32_t id, uint32_t link)
{
    if (table->links[link] == TRACE_NONE)
        table->links[link] = id;
    else
        join_groups(trace, id, table->links[link]);
}

static bool is_duplicate(uint16_t function)
{
    return IS_ONE_OF(function, FN_Comm_dup, FN_Comm_dup_with_info, FN_Comm_idup, FN_Comm_idup_with_info);
}

/* True if the record is of a duplicate of an intercommunicator between worlds. */
static bool is_foreign_duplicate(const struct spool_communicator *record)
{
    return record->identity == SPOOL_BY_TIME && record->remote_size > 0 && is_duplicate(record->function);
}

/* True if rank 0 of the local group may be of another world, where its rank is unknown. */
static bool has_foreign_leader(const struct spool_communicator *record)
{
    return record->identity == SPOOL_BY_TIME &&
           (record->remote_size == 0 || record->function == FN_Intercomm_create || is_foreign_duplicate(record));
}

/* Returns the record with ranks of the run instead of ranks of its world. */
static struct spool_communicator in_run(const struct spool *spool, const struct spool_communicator *record)
{
    struct spool_communicator copy = *record;
    if (copy.leader >= 0)
        copy.leader += spool->world_first;
    if (has_foreign_leader(record))
        copy.leader = -1;
    else if (copy.identity != SPOOL_BY_TIME && copy.members_hash != 0)
        copy.members_hash += spool->world * UINT64_C(0x9e3779b97f4a7c15); /* the hash is over ranks of the world */
    return copy;
}

/* True if a communicator of so many members may exist, after so many records. */
static bool has_room(const struct communicator_table *table, const struct trace *trace, int32_t size)
{
    return table->n_members + (uint64_t)size <=
           MEMBERS_LIMIT + MEMBERS_A_RECORD_SPOOL * table->n_records * trace->n_spools;
}

/* Adds the communicator of a record that is the first to speak of it. */
static void add_new(struct communicator_table *table, struct trace *trace, const struct spool_communicator *record,
                    struct identity *identity)
{
    struct trace_communicator *added = add_communicator(trace, record->size);
    uint32_t id = (uint32_t)(trace->n_communicators - 1);
    identity_set(&table->identities, identity, id);
    table->n_members += (uint64_t)record->size;
    added->remote_size = record->remote_size;
    added->made = record->identity != SPOOL_BY_MEETING;
    added->used = true;
    added->function = record->function;
    if (record->identity != SPOOL_BY_MEETING && record->parent != SPOOL_NO_COMMUNICATOR)
        added->parent = table->local[record->parent];
    if (identity->first != MAP_ABSENT &&
        (record->identity == SPOOL_BY_MEETING || record->identity == SPOOL_BY_MEMBERS || is_foreign_duplicate(record)))
        join_groups(trace, id, identity->first);
}

static void add_record(struct communicator_table *table, struct trace *trace, const struct spool *spool,
                       const struct spool_communicator *stored, uint64_t *damaged)
{
    struct spool_communicator copy = in_run(spool, stored);
    const struct spool_communicator *record = &copy;
    int32_t world_rank = spool->header.rank;
    bool met = record->identity == SPOOL_BY_MEETING;
    uint32_t parent = met || record->parent >= table->n_local ? TRACE_NONE : table->local[record->parent];
    bool orphan = !met && record->parent != SPOOL_NO_COMMUNICATOR && parent == TRACE_NONE;
    if (orphan || record->index >= INDEX_LIMIT ||
        (record->index < table->n_local && table->local[record->index] != TRACE_NONE)) {
        (*damaged)++;
        return;
    }
    if (is_foreign_duplicate(record))
        copy.leader = (int32_t)parent; /* tells the two groups apart */
    bool has_parent = parent != TRACE_NONE && identity_has_parent(record);
    uint32_t context = has_parent ? communicator_context(trace, parent) : MAP_ABSENT;
    struct identity identity = identity_look_up(&table->identities, record, context);
    table->n_records++;
    if (identity.id == MAP_ABSENT && !has_room(table, trace, record->size)) {
        (*damaged)++;
        return;
    }
    if (identity.id == MAP_ABSENT)
        add_new(table, trace, record, &identity);
    struct trace_communicator *communicator = &trace->communicators[identity.id];
    int32_t *member = &communicator->members[record->rank];
    uint32_t link = map_find(&table->worlds->links, (struct map_key){(uint32_t)world_rank, record->index, 0});
    if (link < table->worlds->n_links)
        join_worlds(table, trace, identity.id, link);
    if (met || link == WORLDS_AMBIGUOUS || identity.doubtful || (has_parent && !trace->communicators[parent].known) ||
        (*member != -1 && *member != world_rank))
        communicator->known = false;
    *member = world_rank;
    if (communicator->parent != TRACE_NONE)
        trace->communicators[communicator->parent].used = true;
    set_local(table, record->index, identity.id);
}

/* Adds the names that the process of this rank gave, where none before it did. */
static void add_names(const struct communicator_table *table, struct trace *trace, const struct records *records,
                      int32_t rank)
{
    for (size_t i = 0; i < records->n_names; i++) {
        struct spool_name record = *(const struct spool_name *)records->names[i];
        uint32_t id = record.index < table->n_local ? table->local[record.index] : TRACE_NONE;
        if (id == TRACE_NONE)
            continue;
        struct trace_communicator *communicator = &trace->communicators[id];
        spool_clean_text(record.name, sizeof record.name);
        if (communicator->named_by != -1 && communicator->named_by != rank)
            continue;
        communicator->named_by = rank;
        free(communicator->name);
        communicator->name = xstrdup(record.name);
    }
}

void communicators_of_process(struct communicator_table *table, struct trace *trace, const struct spool *spool,
                              uint64_t *damaged)
{
    int32_t rank = spool->header.rank;
    for (size_t i = 0; i < table->n_local; i++)
        table->local[i] = TRACE_NONE;
    map_release(&table->identities.repeated);
    table->identities.n_repeats = 0;
    struct trace_communicator *self = add_communicator(trace, 1);
    self->name = xstrdup("MPI_COMM_SELF");
    self->members[0] = rank;
    set_local(table, 1, (uint32_t)(trace->n_communicators - 1));
    set_local(table, 0, spool->world);
    struct records records = read_records(spool);
    for (size_t i = 0; i < records.n_made; i++) {
        const struct spool_communicator *record = records.made[i];
        if (record->index > 1)
            add_record(table, trace, spool, record, damaged);
    }
    add_names(table, trace, &records, rank);
    free(records.made);
    free(records.names);
}

void communicators_complete(struct trace *trace)
{
    for (size_t i = 0; i < trace->n_communicators; i++) { /* parents come before what is made of them */
        struct trace_communicator *communicator = &trace->communicators[i];
        if (!communicator->made || communicator->parent == TRACE_NONE)
            continue;
        const struct trace_communicator *parent = &trace->communicators[communicator->parent];
        if (!is_duplicate(communicator->function) || parent->size != communicator->size)
            continue;
        for (int32_t rank = 0; rank < parent->size; rank++)
            if (communicator->members[rank] == -1)
                communicator->members[rank] = parent->members[rank];
    }
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
    map_release(&table->identities.groups);
    map_release(&table->identities.contexts);
    map_release(&table->identities.repeated);
    free(table->identities.repeats);
    free(table->links);
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
