/* The end of a persistent request is reported by calls that know its handle alone (request_table.c). */
#include "interpose/backend/table/persistent_request.h"

#include <stdlib.h>

#include "interpose/backend/table/pending.h"

void persistent_free(struct persistent *persistent, struct recorder_thread *thread)
{
    if (persistent->active)
        pending_abandon(persistent->active, thread, SPOOL_FREED);
    free(persistent->more);
    free(persistent);
}
