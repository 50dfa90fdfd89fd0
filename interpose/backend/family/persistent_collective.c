/* A start of a persistent collective says nothing about its arguments, so each start copies what the initialisation
 * recorded. See persistent_collective.h. */
#include "interpose/backend/family/persistent_collective.h"

/* Stores the record of one start. Its function is MPI_Start or MPI_Startall; the request says which collective it is.
 */
static void *start_collective(struct persistent *self, const struct recorded_call *call)
{
    struct collective_call collective = {.call = *call};
    if (__atomic_load_n(&recorder.off, __ATOMIC_RELAXED))
        return NULL;
    collective_reserve(&collective, self->facts.communicator);
    struct spool_collective *record = collective.record;
    if (!record)
        return NULL;
    record->bytes = self->facts.bytes;
    record->root = self->facts.peer;
    record->persistent = self->facts.number;
    record->flags = SPOOL_NONBLOCKING | SPOOL_STARTED;
    spool_record_publish(record, SPOOL_COLLECTIVE);
    return record;
}

void collective_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site,
                           const struct collective_arguments *arguments)
{
    init->persistent = NULL;
    if (!call_begin(&init->call, function, site))
        return;
    uint32_t communicator = communicator_index(init->call.thread, arguments->comm);
    if (communicator == COMMUNICATOR_NONE)
        return;
    const struct spool_persistent facts = {
        .direction = UINT8_MAX,
        .communicator = communicator,
        .peer = arguments->root >= 0 ? arguments->root : -1,
        .bytes = collective_bytes(arguments, communicator_rank(communicator)),
    };
    init->persistent = persistent_new(&init->call, &facts);
    if (init->persistent)
        init->persistent->start = start_collective;
}

void collective_init_end(struct persistent_call *init, int result, const MPI_Request *request)
{
    persistent_ready(&init->call, init->persistent, result, request);
}
