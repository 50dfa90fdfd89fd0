/* Records collectives as one timed call each: the record is stored before MPI is called, so that a process that is
 * killed in a collective leaves it behind. */
#include "interpose/backend/family/collective.h"

#include "interpose/backend/family/operation.h"

static void sum(struct collective_call *collective, uint32_t communicator)
{
    collective->summed = 1;
    collective->key = sum_key_of(&collective->call);
    collective->key.communicator = communicator;
    collective->bytes = 0;
}

void collective_reserve(struct collective_call *collective, uint32_t communicator)
{
    struct spool_collective *record = NULL;
    collective->summed = 0;
    if (__atomic_load_n(&recorder.off, __ATOMIC_RELAXED))
        sum(collective, communicator);
    else
        record = spool_lane_reserve(collective->call.thread->lane, sizeof *record);
    if (record) {
        record->function = (uint16_t)collective->call.function;
        record->communicator = communicator;
        record->begin_ticks = collective->call.begin_ticks;
        record->site = collective->call.site;
        record->stack = collective->call.thread->stack;
        record->root = -1;
    }
    collective->record = record;
}

/* Begins the call and reserves its record. Returns the index of comm, or COMMUNICATOR_NONE with nothing reserved. */
static uint32_t open_record(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                            MPI_Comm comm)
{
    collective->record = NULL;
    collective->summed = 0;
    if (!call_begin(&collective->call, function, site))
        return COMMUNICATOR_NONE;
    uint32_t communicator = communicator_index(collective->call.thread, comm);
    if (communicator == COMMUNICATOR_NONE)
        return communicator;
    if (communicator_count_collective(communicator) >= recorder.detail) {
        sum(collective, communicator);
        collective->key.flags = 0; /* whether recording is off or not: all ranks of comm count the same calls */
    } else {
        collective_reserve(collective, communicator);
    }
    return communicator;
}

void collective_begin(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                      const struct collective_arguments *arguments)
{
    uint32_t communicator = open_record(collective, function, site, arguments->comm);
    struct spool_collective *record = collective->record;
    if (collective->summed)
        collective->bytes = collective_bytes(arguments, communicator_rank(communicator));
    if (!record)
        return;
    record->bytes = collective_bytes(arguments, communicator_rank(communicator));
    record->root = arguments->root >= 0 ? arguments->root : -1; /* MPI_ROOT, MPI_PROC_NULL: the root is in the other
                                                                 * group */
    spool_record_publish(record, SPOOL_COLLECTIVE);
}

void collective_end(struct collective_call *collective, int result)
{
    (void)result;
    if (collective->summed && call_recorded(&collective->call))
        sum_add(&collective->call, &collective->key, collective->bytes, clock_ticks(recorder.clock_source));
    if (collective->record && call_recorded(&collective->call))
        __atomic_store_n(&collective->record->end_ticks, clock_ticks(recorder.clock_source), __ATOMIC_RELEASE);
}

void icollective_begin(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                       const struct collective_arguments *arguments)
{
    collective_begin(collective, function, site, arguments);
    if (collective->record)
        collective->record->flags |= SPOOL_NONBLOCKING;
}

void icollective_end(struct collective_call *collective, int result, const MPI_Request *request)
{
    struct spool_collective *record = collective->record;
    if (collective->summed)
        collective_end(collective, result);
    if (!record || !call_recorded(&collective->call))
        return;
    uint64_t now = clock_ticks(recorder.clock_source);
    record->call_ticks = saturate_ticks(now - collective->call.begin_ticks);
    if (result == MPI_SUCCESS) {
        request_table_add(collective->call.thread, HANDLE_KEY(*request), record);
    } else {
        record->flags |= SPOOL_FAILED;
        __atomic_store_n(&record->end_ticks, now, __ATOMIC_RELEASE);
    }
}
