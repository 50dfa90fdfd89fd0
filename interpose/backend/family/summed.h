/* What wrappers of hot functions do with MPISTAIR_DETAIL=none, where calls are only added up (total.h): all of it after
 * the call, whose arguments still say what they said before. Requests stand for nothing, so that a receive with a
 * wildcard has no peer. */
#ifndef MPISTAIR_BACKEND_SUMMED_H
#define MPISTAIR_BACKEND_SUMMED_H

#include "interpose/backend/call/call.h"
#include "interpose/backend/family/access.h"
#include "interpose/backend/family/operation.h"

/* Adds one operation, with the time that its call took up to end_ticks. */
IN_WRAPPER void summed_add(const struct recorded_call *call, enum mpistair_function function,
                           enum spool_direction direction, int64_t count, MPI_Datatype datatype, int peer,
                           MPI_Comm comm, uint64_t end_ticks)
{
    unsigned flags = direction == SPOOL_RECEIVE ? (unsigned)TOTAL_RECEIVE : 0U;
    uint64_t bytes = message_bytes(call->thread, count, datatype);
    const struct total_call one = {
        .site = call->site,
        .partner = total_partner(communicator_index(call->thread, comm), recorded_peer(peer)),
        .rest = total_rest(function, bytes, flags | total_off()),
        .bytes = bytes,
        .begin_ticks = call->begin_ticks,
        .ticks = end_ticks - call->begin_ticks,
    };
    total_add(WINDOW_POINT_TO_POINT, &one, direction == SPOOL_SEND ? bytes : 0);
}

/* Families send, isend, recv, irecv. */
IN_WRAPPER void summed_operation_end(const struct recorded_call *call, enum mpistair_function function, int result,
                                     enum spool_direction direction, int64_t count, MPI_Datatype datatype, int peer,
                                     MPI_Comm comm)
{
    (void)result;
    uint64_t now = now_ticks();
    if (__builtin_expect(call->thread->n_places != 0, 0))
        total_end_row(call->thread);
    summed_add(call, function, direction, count, datatype, peer, comm, now);
}

/* Families sendrecv and isendrecv. The receive has no time. */
static inline void summed_exchange_end(const struct recorded_call *call, enum mpistair_function function, int result,
                                       int64_t send_count, MPI_Datatype send_type, int dest, int64_t receive_count,
                                       MPI_Datatype receive_type, int source, MPI_Comm comm)
{
    summed_operation_end(call, function, result, SPOOL_SEND, send_count, send_type, dest, comm);
    summed_add(call, function, SPOOL_RECEIVE, receive_count, receive_type, source, comm, call->begin_ticks);
}

/* Family rma. */
IN_WRAPPER void summed_access_end(const struct recorded_call *call, enum mpistair_function function, int result,
                                  const struct rma_arguments *arguments)
{
    uint64_t ticks = now_ticks() - call->begin_ticks;
    uintptr_t object = access_object(ACCESS_WINDOW, HANDLE_KEY(arguments->window));
    uint64_t bytes = result == MPI_SUCCESS ? rma_bytes(arguments) : 0;
    const struct total_call one = {
        .site = call->site,
        .partner = total_partner(object ? (uint32_t)(object >> 32) : SPOOL_NO_COMMUNICATOR,
                                 arguments->target >= 0 ? arguments->target : TOTAL_NO_PEER),
        .rest = total_rest(function, bytes, total_off()),
        .bytes = bytes,
        .begin_ticks = call->begin_ticks,
        .ticks = ticks,
    };
    if (__builtin_expect(call->thread->n_places != 0, 0))
        total_end_row(call->thread);
    total_add(WINDOW_ONE_SIDED, &one, 0);
}

/* Families wait..., probe. */
IN_WRAPPER void summed_call_end(const struct recorded_call *call, enum mpistair_function function, int result)
{
    (void)result;
    total_add_call(call, function, WINDOW_WAIT, SPOOL_NO_COMMUNICATOR, 0, now_ticks());
}

/* Families test..., iprobe: one in 64 of those without a result is timed, as in records. */
static inline int summed_test_begin(struct recorded_call *call, enum mpistair_function function,
                                    const void *return_address)
{
    struct recorder_thread *thread = recorder_thread;
    if (thread && thread->n_places != 0 && thread->fortran_note->site == 0) {
        struct idle_place *place = idle_place_find(thread, function, site_of_call(thread, return_address));
        if (place && place->entry && --thread->untimed_left != 0 && is_recording_steadily()) {
            *call = (struct recorded_call){thread, 0, site_of_call(thread, return_address), function, {.place = place}};
            return 1;
        }
        if (thread->untimed_left == 0)
            thread->untimed_left = next_untimed(thread);
    }
    return call_begin(call, function, return_address);
}

/* As counted_row, count_test and counted_call. */
IN_WRAPPER struct idle_place *counted_place(enum mpistair_function function, const void *return_address)
{
    struct recorder_thread *thread = recorder_thread;
    struct idle_place *place = thread ? thread->counted_place : NULL;
    if (__builtin_expect(!place || place->site != site_of_call(thread, return_address) || place->function != function ||
                             thread->untimed_left <= 1 || !is_recording_steadily(),
                         0))
        return NULL;
    thread->untimed_left--;
    return place;
}

IN_WRAPPER int count_summed_test(struct idle_place *place)
{
    if (!is_recording())
        return 0;
    place->untimed++;
    place->entry->calls++;
    return 1;
}

static inline struct recorded_call counted_summed_call(struct idle_place *place, enum mpistair_function function,
                                                       const void *return_address)
{
    return (struct recorded_call){
        recorder_thread, 0, site_of_call(recorder_thread, return_address), function, {.place = place}};
}

/* found: the number of requests or messages that it found, or a flag. */
static inline void summed_test_end(const struct recorded_call *call, enum mpistair_function function, int result,
                                   const int *found)
{
    (void)function;
    int is_idle = result == MPI_SUCCESS && *found <= 0;
    if (is_idle && call->begin_ticks == 0) {
        call->place->untimed++;
        call->place->entry->calls++;
    } else if (is_idle) {
        total_timed_idle(call, now_ticks());
    } else {
        total_add_test(call, now_ticks());
    }
}

#endif
