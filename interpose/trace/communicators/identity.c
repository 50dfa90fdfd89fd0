/* Tells which records of different processes describe one communicator. If all members of its parent made it, the
 * parent and the number of the creation on it identify it. If only its members made it, or it has no parent, the hash
 * of its members, its function and its tag do; where all these are alike, the order in its process decides. MPI lets
 * nobody make two such communicators at once except in two threads, which their times show. A communicator whose
 * creation was not recorded has only its members and the order in which processes met it.
 *
 * Rank 0 and size tell a group from the other parts of a split, and from the other group of an intercommunicator. */
#include "interpose/trace/communicators/identity.h"

#include <stdlib.h>

#include "interpose/trace/state/trace.h"
#include "share/base/array.h"

/* Counts records that are alike in one process. */
struct identity_repeat {
    uint32_t times;
    uint64_t end_ticks; /* return of the latest creation among them */
};

bool identity_has_parent(const struct spool_communicator *record)
{
    switch (record->identity) {
    case SPOOL_BY_MEETING:
        return false;
    case SPOOL_BY_MEMBERS:
        return record->parent != SPOOL_NO_COMMUNICATOR && record->function != FN_Intercomm_create &&
               record->function != FN_Comm_accept && record->function != FN_Comm_connect &&
               record->function != FN_Comm_join;
    default:
        return true;
    }
}

bool identity_is_meeting(const struct spool_communicator *record)
{
    if (record->identity != SPOOL_BY_TIME)
        return false;
    switch (record->function) {
    case FN_Comm_spawn:
    case FN_Comm_spawn_multiple:
    case FN_Comm_get_parent:
    case FN_Comm_accept:
    case FN_Comm_connect:
    case FN_Comm_join:
    case FN_Intercomm_create:
        return true;
    default:
        return false;
    }
}

/* One side accepts, the other connects; both get the same function here. */
static uint16_t common_function(const struct spool_communicator *record)
{
    return record->function == FN_Comm_accept ? (uint16_t)FN_Comm_connect : record->function;
}

void identity_next_process(struct identity_table *table)
{
    map_release(&table->repeated);
    table->n_repeats = 0;
}

/* Returns how many records of this process were like this one; *doubtful is set if the last of them was made at the
 * same time. */
static uint32_t count_repeat(struct identity_table *table, struct map_key key, const struct spool_communicator *record,
                             bool *doubtful)
{
    uint32_t *index = map_at(&table->repeated, key);
    if (*index == MAP_ABSENT) {
        array_grow(&table->repeats, table->n_repeats, sizeof *table->repeats);
        *index = (uint32_t)table->n_repeats;
        table->repeats[table->n_repeats++] = (struct identity_repeat){0, 0};
    }
    struct identity_repeat *repeat = &table->repeats[*index];
    *doubtful = repeat->times > 0 && record->identity != SPOOL_BY_MEETING && record->begin_ticks < repeat->end_ticks;
    if (record->end_ticks > repeat->end_ticks)
        repeat->end_ticks = record->end_ticks;
    return repeat->times++;
}

struct identity identity_look_up(struct identity_table *table, const struct spool_communicator *record, uint32_t parent)
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

void identity_set(struct identity_table *table, struct identity *found, uint32_t id)
{
    uint32_t *first = map_at(&table->contexts, found->keys);
    if (*first == MAP_ABSENT)
        *first = id;
    *map_at(&table->groups, (struct map_key){*first, found->place, found->remote_size}) = id;
    found->id = id;
}

void identity_release(struct identity_table *table)
{
    map_release(&table->groups);
    map_release(&table->contexts);
    map_release(&table->repeated);
    free(table->repeats);
    *table = (struct identity_table){0};
}
