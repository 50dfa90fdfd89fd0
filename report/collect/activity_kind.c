/* Says by its name which kind of communication a function of MPI belongs to. The table of MPI functions knows the
 * family of each; a wait counts for messages, though what it waits for may be a collective. */
#include <stdint.h>
#include <string.h>

#include "interpose/trace/state/trace.h"
#include "report/collect/report_activity.h"

const char *const report_activity_name[SPENT_COUNT] = {
    "computation", "point_to_point", "collectives", "one_sided", "files", "other", "between_polls", "not_recorded"};

static enum report_activity_kind kind_of_family(enum mpistair_family family)
{
    switch (family) {
    case FAMILY_COLLECTIVE:
    case FAMILY_COLLECTIVE_INIT:
    case FAMILY_ICOLLECTIVE:
        return SPENT_COLLECTIVES;
    case FAMILY_RMA:
    case FAMILY_RMA_REQUEST:
    case FAMILY_WIN_CREATE:
    case FAMILY_WIN_FREE:
    case FAMILY_WIN_TEST:
        return SPENT_ONE_SIDED;
    case FAMILY_CANCEL:
    case FAMILY_IMPROBE:
    case FAMILY_IMRECV:
    case FAMILY_IPROBE:
    case FAMILY_IRECV:
    case FAMILY_ISEND:
    case FAMILY_ISENDRECV:
    case FAMILY_MPROBE:
    case FAMILY_MRECV:
    case FAMILY_PARRIVED:
    case FAMILY_PARTITIONED_INIT:
    case FAMILY_PERSISTENT_INIT:
    case FAMILY_PREADY:
    case FAMILY_PREADY_LIST:
    case FAMILY_PREADY_RANGE:
    case FAMILY_PROBE:
    case FAMILY_RECV:
    case FAMILY_REQUEST_FREE:
    case FAMILY_REQUEST_GET_STATUS:
    case FAMILY_SEND:
    case FAMILY_SENDRECV:
    case FAMILY_START:
    case FAMILY_STARTALL:
    case FAMILY_TEST:
    case FAMILY_TESTALL:
    case FAMILY_TESTANY:
    case FAMILY_TESTSOME:
    case FAMILY_WAIT:
    case FAMILY_WAITALL:
    case FAMILY_WAITANY:
    case FAMILY_WAITSOME:
        return SPENT_MESSAGES;
    default:
        return SPENT_OTHER;
    }
}

enum report_activity_kind activity_kind(const char *function)
{
    if (strncmp(function, "MPI_File_", strlen("MPI_File_")) == 0)
        return SPENT_FILES;
    for (uint16_t i = 0; i < FN_COUNT; i++)
        if (strcmp(function_name(i), function) == 0)
            return kind_of_family(function_family(i));
    return SPENT_OTHER;
}
