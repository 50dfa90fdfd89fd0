/* The requests stay as they are, so nothing is copied before the call and nothing is taken out of the table: what MPI
 * says is done is looked up and its record completed. See get_status.h. */
#include "interpose/backend/family/get_status.h"

#include "interpose/backend/call/timed_call.h"

/* Begins a call with n requests. Returns whether it is recorded. */
static int begin(struct completion_call *completion, enum mpistair_function function, uint64_t site, int64_t n,
                 const MPI_Request *requests)
{
    completion->watched.status = NULL;
    completion->statuses = NULL;
    completion->memory = NULL;
    if (!call_begin(&completion->call, function, site))
        return 0;
    completion->before = requests;
    completion->n = requests && n > 0 && n <= INT32_MAX ? (int)n : 0;
    return 1;
}

/* Has MPI fill statuses of our own where the caller wants none and a wildcard or a cancelled request is pending. */
static void watch_statuses(struct completion_call *completion, MPI_Status **statuses)
{
    if (*statuses != MPI_STATUSES_IGNORE) {
        completion->statuses = *statuses;
        return;
    }
    if (completion->n == 0 || !statuses_matter())
        return;
    completion->memory = scratch_borrow(&completion->call.thread->scratch, (size_t)completion->n * sizeof(MPI_Status));
    if (!completion->memory) { /* a wildcard's source may stay unknown */
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, (uint64_t)completion->n);
        return;
    }
    completion->statuses = completion->memory;
    *statuses = completion->statuses;
}

/* Completes the record of the i-th request, which MPI says is done. Returns how many were completed: 0 or 1. */
static uint32_t report(struct completion_call *completion, int i, const MPI_Status *status, struct moment now)
{
    if (i < 0 || i >= completion->n || completion->before[i] == MPI_REQUEST_NULL)
        return 0;
    void *pending = request_table_peek(completion->call.thread, HANDLE_KEY(completion->before[i]));
    return pending ? pending_report(pending, completion->call.thread, status, now) : 0;
}

/* Ends the call: it found `n_found` requests done, `completed` of which nothing had reported before. */
static void end(struct completion_call *completion, int n_found, uint32_t completed, struct moment now)
{
    if (completion->memory)
        scratch_return(&completion->call.thread->scratch, completion->memory);
    if (n_found > 0)
        timed_call_store(&completion->call, completed, now.ticks);
    else
        timed_call_idle(&completion->call, now.ticks);
}

void request_get_status_any_begin(struct completion_call *completion, enum mpistair_function function, uint64_t site,
                                  int64_t n, const MPI_Request *requests, MPI_Status **status)
{
    if (begin(completion, function, site, n, requests) && statuses_matter())
        watch_status(&completion->watched, status);
}

void request_get_status_any_end(struct completion_call *completion, int result, const int *index, const int *flag)
{
    int found = result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED;
    const MPI_Status *status = completion_status(completion, found);
    if (!call_recorded(&completion->call))
        return;
    struct moment now = moment_now();
    end(completion, found, found ? report(completion, *index, status, now) : 0, now);
}

void request_get_status_all_begin(struct completion_call *completion, enum mpistair_function function, uint64_t site,
                                  int64_t n, const MPI_Request *requests, MPI_Status **statuses)
{
    if (begin(completion, function, site, n, requests))
        watch_statuses(completion, statuses);
}

void request_get_status_all_end(struct completion_call *completion, int result, const int *flag)
{
    if (!call_recorded(&completion->call))
        return;
    struct moment now = moment_now();
    int n = result == MPI_SUCCESS && *flag ? completion->n : 0;
    uint32_t completed = 0;
    for (int i = 0; i < n; i++)
        completed += report(completion, i, completion->statuses ? &completion->statuses[i] : NULL, now);
    end(completion, n, completed, now);
}

void request_get_status_some_begin(struct completion_call *completion, enum mpistair_function function, uint64_t site,
                                   int64_t n, const MPI_Request *requests, MPI_Status **statuses)
{
    if (begin(completion, function, site, n, requests))
        watch_statuses(completion, statuses);
}

void request_get_status_some_end(struct completion_call *completion, int result, const int *n_done, const int *indices)
{
    if (!call_recorded(&completion->call))
        return;
    struct moment now = moment_now();
    int n = result == MPI_SUCCESS && *n_done != MPI_UNDEFINED ? *n_done : 0;
    uint32_t completed = 0;
    for (int k = 0; k < n; k++)
        completed += report(completion, indices[k], completion->statuses ? &completion->statuses[k] : NULL, now);
    end(completion, n, completed, now);
}
