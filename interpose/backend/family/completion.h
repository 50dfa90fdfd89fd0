/* Families wait..., test... find which operations a call reported complete.
 *
 * Handles are copied before MPI is called, for it overwrites them. An operation is complete when its call reports it
 * and left MPI_REQUEST_NULL behind. A persistent request stays, so for it the call's report alone counts. Requests that
 * are not in the table (null, inactive, or posted by functions that are not recorded) are none of ours and ignored.
 * Where the caller ignores statuses but wildcards are pending, MPI is given statuses of our own. */
#ifndef MPISTAIR_BACKEND_COMPLETION_H
#define MPISTAIR_BACKEND_COMPLETION_H

#include "interpose/backend/call/timed_call.h"
#include "interpose/backend/family/operation.h"
#include "interpose/backend/family/persistent.h"
#include "interpose/backend/table/pending.h"
#include "interpose/backend/table/request_table.h"

/* So many handles need no memory from elsewhere. */
enum { COMPLETION_FEW = 16 };
_Static_assert(COMPLETION_FEW * sizeof(MPI_Request) <= 128 && sizeof(MPI_Request) >= 4, "copy_handles");

struct completion_call {
    struct recorded_call call;
    int n;
    const MPI_Request *before;     /* [n] handles before the call */
    void **taken;                  /* [n] MPI_THREAD_MULTIPLE: request_table_take_before of each; else NULL */
    MPI_Status *statuses;          /* [n] arrays only: what MPI fills; NULL: ignored */
    void *memory;                  /* holds the arrays */
    struct watched_status watched; /* calls with one status */
    MPI_Request one_before;
    void *one_taken;
    MPI_Request few_before[COMPLETION_FEW];
};

/* Returns what MPI filled in of a single status, or NULL. is_reported says that the call reported a request. Of a send
 * MPICH tells only whether it was cancelled: its source stays untouched, and no wildcard of a send would read it. */
static inline const MPI_Status *completion_status(struct completion_call *completion, int is_reported)
{
    const MPI_Status *status = watched_result(&completion->watched);
    return is_reported && __atomic_load_n(&recorder.cancelled, __ATOMIC_RELAXED) ? completion->watched.status : status;
}

/* Returns whether the call is a test that found nothing, and is only counted. */
static inline int completion_is_untimed(const struct completion_call *completion, int result, int found)
{
    return completion->call.begin_ticks == 0 && result == MPI_SUCCESS && !found;
}

/* Copies as many bytes in two parts, which may overlap. */
IN_WRAPPER void copy_parts(void *to, const void *from, size_t bytes, size_t part)
{
    memcpy(to, from, part);
    memcpy((char *)to + bytes - part, (const char *)from + bytes - part, part);
}

/* Copies 4 to 128 bytes, as a call of memcpy would cost more than the copy. */
static inline void copy_handles(void *to, const void *from, size_t bytes)
{
    if (bytes >= 64)
        copy_parts(to, from, bytes, 64);
    else if (bytes >= 32)
        copy_parts(to, from, bytes, 32);
    else if (bytes >= 16)
        copy_parts(to, from, bytes, 16);
    else if (bytes >= 8)
        copy_parts(to, from, bytes, 8);
    else
        copy_parts(to, from, bytes, 4);
}

/* Copies the handles before a call where they are few and one thread at a time calls MPI. Returns whether they are. */
IN_WRAPPER int completion_keep_few(struct completion_call *completion, int64_t n, const MPI_Request *requests)
{
    if (__builtin_expect(n < 1 || n > COMPLETION_FEW || !requests || recorder.multiple, 0))
        return 0;
    copy_handles(completion->few_before, requests, (size_t)n * sizeof *requests);
    return 1;
}

/* Makes a call of what was kept; its statuses are the caller's, or none. */
IN_WRAPPER void completion_set_few(struct completion_call *completion, int64_t n, MPI_Status *statuses)
{
    completion->watched.status = NULL;
    completion->statuses = statuses;
    completion->taken = NULL;
    completion->memory = NULL;
    completion->n = (int)n;
    completion->before = completion->few_before;
    completion->one_before = completion->few_before[0];
}

/* Copies the handles, and makes room for n_statuses statuses. */
void completion_begin_any(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                          size_t n_statuses);

/* MPI_Wait and MPI_Test have one request. flag is NULL here and below where the call waits. */
void wait_begin_any(struct completion_call *completion, MPI_Status **status);
IN_WRAPPER void wait_begin(struct completion_call *completion, const MPI_Request *request, MPI_Status **status)
{
    completion->one_before = *request;
    completion->watched.status = NULL;
    completion->taken = NULL;
    if (__builtin_expect(recorder.multiple != 0, 0) || __builtin_expect(statuses_matter() != 0, 0))
        wait_begin_any(completion, status);
}

/* wait_end itself serves a request that has its handle alone, reported without a wildcard. */
void wait_end_any(struct completion_call *completion, int result, const MPI_Request *request, const int *flag);
IN_WRAPPER void wait_end(struct completion_call *completion, int result, const MPI_Request *request, const int *flag)
{
    struct handle_slot *slot = NULL;
    struct spool_operation *operation = NULL;
    int is_usual =
        result == MPI_SUCCESS && *request == MPI_REQUEST_NULL && is_recording_plainly() && !completion->watched.status;
    if (__builtin_expect(is_usual, 1))
        slot = handle_table_glance(&request_table, HANDLE_KEY(completion->one_before));
    if (slot && !((uintptr_t)slot->value & REQUEST_TAGS))
        operation = slot->value;
    if (__builtin_expect(!operation || !pending_is_plain(operation), 0)) {
        wait_end_any(completion, result, request, flag);
        return;
    }
    struct moment now = {quick_ticks(), current_processor()};
    slot->value = NULL;
    pending_complete_plain(operation, now);
    if (flag)
        test_store(&completion->call, 1, now.ticks);
    else
        timed_call_store(&completion->call, 1, now.ticks);
}

/* MPI_Waitall, Testall, Waitsome, Testsome have an array of requests and one of statuses. */
void waitall_begin_any(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                       MPI_Status **statuses);
IN_WRAPPER void waitall_begin(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                              MPI_Status **statuses)
{
    int is_ignored = *statuses == MPI_STATUSES_IGNORE;
    if (__builtin_expect(!completion_keep_few(completion, n, requests) || (is_ignored && statuses_matter()), 0))
        waitall_begin_any(completion, n, requests, statuses);
    else
        completion_set_few(completion, n, is_ignored ? NULL : *statuses);
}

void waitall_end(struct completion_call *completion, int result, const MPI_Request *requests, const int *flag);
void waitsome_end(struct completion_call *completion, int result, const MPI_Request *requests, const int *n_done,
                  const int *indices, int is_test);

/* MPI_Waitany and Testany have an array of requests and one status. */
IN_WRAPPER void waitany_begin(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                              MPI_Status **status)
{
    if (__builtin_expect(completion_keep_few(completion, n, requests), 1))
        completion_set_few(completion, n, NULL);
    else
        completion_begin_any(completion, n, requests, 0);
    if (completion->call.thread && statuses_matter())
        watch_status(&completion->watched, status);
}

void waitany_end(struct completion_call *completion, int result, const MPI_Request *requests, const int *index,
                 const int *flag);

/* Family cancel: the request may report SPOOL_CANCELLED from now on. */
void cancel_begin(struct completion_call *completion, const MPI_Request *request);
void cancel_end(struct completion_call *completion, int result);

/* Family request_free: the operation goes on, but no call will report it complete. */
void request_free_begin(struct completion_call *completion, const MPI_Request *request);
void request_free_end(struct completion_call *completion, int result, const MPI_Request *request);

/* MPI_Request_get_status and its kin of MPI 4.1: tests, but the requests stay alive, so nothing is copied before the
 * call and nothing is taken out of the table; the call that frees one does not report it again. index and indices are
 * NULL where the call has none; then n_done is a flag. */
void request_get_status_begin(struct completion_call *completion, MPI_Request request, MPI_Status **status);
void request_get_status_any_begin(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                                  MPI_Status **status);
void request_get_status_any_end(struct completion_call *completion, int result, const int *index, const int *flag);
void request_get_status_all_begin(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                                  MPI_Status **statuses);
void request_get_status_all_end(struct completion_call *completion, int result, const int *n_done, const int *indices);

/* Tests that are only counted unless they find something (call.h). A status is the caller's: where it matters and is
 * ignored the test is not one of these. MPI fills what it was given where it says that something is done. Where the
 * call fails, a wildcard's source stays unknown. */
IN_WRAPPER int counted_status_serves(int is_ignored)
{
    return !is_ignored || !statuses_matter();
}

IN_WRAPPER void counted_set_status(struct completion_call *completion, int result, MPI_Status *status)
{
    if (result == MPI_SUCCESS && status != MPI_STATUS_IGNORE && statuses_matter())
        completion->watched.status = status;
}

#endif
