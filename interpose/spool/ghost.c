/* Says which records have a number in the order of matching. */
#include "interpose/functions.h"
#include "interpose/spool/area.h"

/* Ingest decides by the same rule which operations have a place (interpose/trace/stream/match.c): none has one that
 * failed without taking a message, was cancelled, has no partner, or a wildcard that never met one. */
static int operation_ghost(const struct spool_operation *record, struct spool_ghost_entry *entry)
{
    int failed = (record->flags & SPOOL_FAILED) && !(record->flags & SPOOL_TOOK);
    if (failed || (record->flags & SPOOL_CANCELLED) || record->peer < 0 || record->tag < 0)
        return 0;
    *entry = (struct spool_ghost_entry){.communicator = record->communicator, .count = 1};
    if (record->flags & SPOOL_PARTITIONED) {
        entry->sort = GHOST_START;
        entry->peer = (int32_t)record->persistent;
        return 1;
    }
    entry->sort = record->direction == SPOOL_RECEIVE ? GHOST_RECEIVE : GHOST_SEND;
    entry->peer = record->peer;
    entry->tag = record->tag;
    return 1;
}

/* True for calls on windows and files that all ranks of their communicator make together. */
static int is_joint_access(uint16_t function)
{
    static const uint8_t ghost_families[] = {
#define FAMILY_OF(name, family) family,
        MPISTAIR_FUNCTIONS(FAMILY_OF)
#undef FAMILY_OF
    };
    if (function >= sizeof ghost_families)
        return 0;
    switch (ghost_families[function]) {
    case FAMILY_WIN_CREATE:
    case FAMILY_WIN_FREE:
    case FAMILY_FILE_ALL:
    case FAMILY_FILE_REQUEST_ALL:
    case FAMILY_FILE_OPEN:
    case FAMILY_FILE_CLOSE:
        return 1;
    default:
        return function == FN_Win_fence;
    }
}

int spool_ghost_of(const void *record, struct spool_ghost_entry *entry)
{
    const struct spool_collective *collective = record;
    const struct spool_access *access = record;
    switch (*(const uint8_t *)record) {
    case SPOOL_OPERATION:
        return operation_ghost(record, entry);
    case SPOOL_COLLECTIVE:
        *entry = (struct spool_ghost_entry){.communicator = collective->communicator,
                                            .peer = (int32_t)collective->persistent,
                                            .sort = GHOST_JOINT + collective->function,
                                            .count = 1};
        return 1;
    case SPOOL_ACCESS:
        if (access->communicator == SPOOL_NO_COMMUNICATOR || !is_joint_access(access->function))
            return 0;
        *entry = (struct spool_ghost_entry){
            .communicator = access->communicator, .sort = GHOST_JOINT + access->function, .count = 1};
        return 1;
    default:
        return 0;
    }
}
