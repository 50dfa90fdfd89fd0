/* Remembers the handles before a call and finds the operations that the call completed: afterwards MPI has overwritten
 * the handles. See completion.h. */
#include "interpose/backend/family/completion.h"

static inline void *take_before(MPI_Request request)
{
    return request == MPI_REQUEST_NULL ? NULL : request_table_take_before(HANDLE_KEY(request));
}

void completion_begin_any(struct completion_call *completion, int64_t n, const MPI_Request *requests, size_t n_statuses)
{
    size_t length = requests && n > 0 && n <= INT32_MAX ? (size_t)n : 0;
    completion->n = (int)length;
    completion->watched.status = NULL;
    completion->taken = NULL;
    completion->statuses = NULL;
    completion->memory = NULL;
    if (length == 0)
        return;
    size_t taken_bytes = recorder.multiple ? length * sizeof *completion->taken : 0;
    size_t status_bytes = n_statuses * sizeof(MPI_Status);
    size_t request_bytes = length * sizeof *requests;
    char *memory = scratch_borrow(&completion->call.thread->scratch, taken_bytes + request_bytes + status_bytes);
    if (!memory) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, length);
        completion->call.thread = NULL;
        return;
    }
    completion->memory = memory;
    MPI_Request *before = (MPI_Request *)(void *)(memory + taken_bytes);
    memcpy(before, requests, request_bytes);
    completion->before = before;
    if (n_statuses > 0)
        completion->statuses = (MPI_Status *)(void *)(memory + taken_bytes + request_bytes);
    if (recorder.multiple) {
        completion->taken = (void **)(void *)memory;
        for (size_t i = 0; i < length; i++)
            completion->taken[i] = take_before(before[i]);
    }
}

/* Takes out what the i-th request, which was reported, stood for. */
static inline void *claim(struct completion_call *completion, int i)
{
    struct recorder_thread *thread = completion->call.thread;
    if (!completion->taken)
        return request_table_take(thread, HANDLE_KEY(completion->before[i]));
    void *value = completion->taken[i];
    completion->taken[i] = NULL;
    return request_table_claim(thread, value);
}

static inline int is_persistent(const struct completion_call *completion, int i)
{
    return (completion->taken ? request_value_persistent(completion->taken[i])
                              : request_table_persistent(HANDLE_KEY(completion->before[i]))) != NULL;
}

/* Returns what was not completed and the memory of the call. */
static void arrays_end(struct completion_call *completion)
{
    if (completion->taken)
        for (int i = completion->n; i-- > 0;)
            if (completion->taken[i])
                request_table_put_back(completion->call.thread, HANDLE_KEY(completion->before[i]),
                                       completion->taken[i]);
    if (completion->memory)
        scratch_return(&completion->call.thread->scratch, completion->memory);
}

/* Completes what the i-th request stood for, if it is known and done: MPI nulls a request that it reports; for
 * persistent ones, which stay, `reported` says it. Returns how many were completed: 0 or 1. */
static inline uint32_t complete(struct completion_call *completion, int i, const MPI_Request *requests,
                                const MPI_Status *status, int error, int reported, struct moment now)
{
    if (completion->before[i] == MPI_REQUEST_NULL)
        return 0;
    if (requests[i] != MPI_REQUEST_NULL && (!reported || !is_persistent(completion, i)))
        return 0;
    void *pending = claim(completion, i);
    return pending ? pending_complete(pending, completion->call.thread, status, error, now) : 0;
}

/* Stores the call; a test that reported nothing is added to its row. */
static void store_call(struct completion_call *completion, uint32_t completed, int is_test, uint64_t end_ticks)
{
    if (completed > 0 || !is_test)
        test_store(&completion->call, completed, end_ticks);
    else if (completion->call.begin_ticks != 0)
        timed_call_idle(&completion->call, end_ticks);
    else
        untimed_call_idle(&completion->call);
}

/* Ends a test whose time is not taken and that found nothing. Returns whether it is one. */
static int end_untimed(struct completion_call *completion, int result, int found)
{
    if (!completion_is_untimed(completion, result, found))
        return 0;
    arrays_end(completion);
    untimed_call_idle(&completion->call);
    return 1;
}

static int is_in_status(int result)
{
    int class = result;
    return result != MPI_SUCCESS && PMPI(Error_class)(result, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS;
}

/* Returns whether a persistent request is done, where a call that failed in some of its requests does not say. */
static int is_inactive(MPI_Request request)
{
    int flag = 0;
    return PMPI(Request_get_status)(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

/* Completes what an array call reported. With indices NULL, statuses[i] belongs to the i-th request, else to the
 * indices[i]-th. Without valid statuses it is unknown which of the operations failed, and none is flagged. */
static uint32_t complete_listed(struct completion_call *completion, int result, const MPI_Request *requests, int n,
                                const int *indices, struct moment now)
{
    uint32_t completed = 0;
    int mixed = is_in_status(result);
    const MPI_Status *statuses = result == MPI_SUCCESS || mixed ? completion->statuses : NULL;
    for (int k = 0; k < n; k++) {
        int i = indices ? indices[k] : k;
        int error = mixed && statuses ? statuses[k].MPI_ERROR : MPI_SUCCESS;
        int reported = result == MPI_SUCCESS;
        if (i < 0 || i >= completion->n)
            continue;
        if (!reported && completion->before[i] != MPI_REQUEST_NULL && requests[i] != MPI_REQUEST_NULL)
            reported = is_inactive(requests[i]);
        completed += complete(completion, i, requests, statuses ? &statuses[k] : NULL, error, reported, now);
    }
    return completed;
}

void wait_begin_any(struct completion_call *completion, MPI_Status **status)
{
    if (recorder.multiple) {
        completion->one_taken = take_before(completion->one_before);
        completion->taken = &completion->one_taken;
    }
    if (statuses_matter())
        watch_status(&completion->watched, status);
}

void wait_end_any(struct completion_call *completion, int result, const MPI_Request *request, const int *flag)
{
    completion->n = 1;
    completion->before = &completion->one_before;
    completion->memory = NULL;
    int reported = result != MPI_SUCCESS || !flag || *flag;
    const MPI_Status *status = completion_status(completion, result == MPI_SUCCESS && reported);
    if (!is_recording() || (flag && end_untimed(completion, result, *flag)))
        return;
    struct moment now = moment_now();
    uint32_t completed = complete(completion, 0, request, status, result, reported, now);
    if (completion->taken)
        arrays_end(completion);
    /* An answer yes is stored even if MPI_Request_get_status has reported the operation before. */
    int is_test = flag && !(*flag && completion->one_before != MPI_REQUEST_NULL);
    store_call(completion, completed, is_test, now.ticks);
}

void waitall_begin_any(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                       MPI_Status **statuses)
{
    int ours = *statuses == MPI_STATUSES_IGNORE && n > 0 && statuses_matter();
    completion_begin_any(completion, n, requests, ours ? (size_t)n : 0);
    if (!completion->call.thread)
        return;
    if (ours && completion->statuses)
        *statuses = completion->statuses;
    else if (*statuses != MPI_STATUSES_IGNORE)
        completion->statuses = *statuses;
}

void waitall_end(struct completion_call *completion, int result, const MPI_Request *requests, const int *flag)
{
    if (flag && end_untimed(completion, result, *flag))
        return;
    struct moment now = moment_now();
    uint32_t completed = 0;
    if (result != MPI_SUCCESS || !flag || *flag)
        completed = complete_listed(completion, result, requests, completion->n, NULL, now);
    arrays_end(completion);
    store_call(completion, completed, flag != NULL, now.ticks);
}

void waitsome_end(struct completion_call *completion, int result, const MPI_Request *requests, const int *n_done,
                  const int *indices, int is_test)
{
    if (is_test && end_untimed(completion, result, *n_done))
        return;
    struct moment now = moment_now();
    uint32_t completed = 0;
    if (result != MPI_SUCCESS && !is_in_status(result))
        completed = complete_listed(completion, result, requests, completion->n, NULL, now);
    else if (*n_done != MPI_UNDEFINED)
        completed = complete_listed(completion, result, requests, *n_done, indices, now);
    arrays_end(completion);
    store_call(completion, completed, is_test, now.ticks);
}

/* Index MPI_UNDEFINED means that none was completed. A failed call may not set it. */
void waitany_end(struct completion_call *completion, int result, const MPI_Request *requests, const int *index,
                 const int *flag)
{
    int reported = result == MPI_SUCCESS && (!flag || *flag);
    const MPI_Status *status = completion_status(completion, reported);
    if (!is_recording() || (flag && end_untimed(completion, result, *flag)))
        return;
    struct moment now = moment_now();
    uint32_t completed = 0;
    if (reported && *index >= 0 && *index < completion->n)
        completed = complete(completion, *index, requests, status, MPI_SUCCESS, 1, now);
    for (int i = 0; result != MPI_SUCCESS && i < completion->n; i++)
        completed += complete(completion, i, requests, status, result, 0, now);
    arrays_end(completion);
    store_call(completion, completed, flag != NULL, now.ticks);
}

void cancel_begin(struct completion_call *completion, const MPI_Request *request)
{
    __atomic_store_n(&recorder.cancelled, 1, __ATOMIC_RELAXED);
    need_statuses();
    void *pending =
        *request == MPI_REQUEST_NULL ? NULL : request_table_peek(completion->call.thread, HANDLE_KEY(*request));
    if (pending && pending_type(pending) == SPOOL_OPERATION)
        pending_flag(pending, SPOOL_CANCELLING);
}

void cancel_end(struct completion_call *completion, int result)
{
    (void)result;
    timed_call_store(&completion->call, 0, now_ticks());
}

void request_free_begin(struct completion_call *completion, const MPI_Request *request)
{
    completion->one_before = *request;
    if (*request != MPI_REQUEST_NULL) {
        void *pending = request_table_peek(completion->call.thread, HANDLE_KEY(*request));
        if (pending && pending_type(pending) == SPOOL_OPERATION)
            operation_settle(pending, *request);
    }
    completion->one_taken = take_before(*request);
    if (request_value_persistent(completion->one_taken))
        request_table_take_persistent(HANDLE_KEY(*request));
}

void request_free_end(struct completion_call *completion, int result, const MPI_Request *request)
{
    struct recorder_thread *thread = completion->call.thread;
    (void)result;
    timed_call_store(&completion->call, 0, now_ticks());
    if (!completion->one_taken)
        return;
    struct persistent *persistent = request_value_persistent(completion->one_taken);
    int freed = *request == MPI_REQUEST_NULL;
    if (freed && persistent) {
        persistent_free(persistent, thread);
    } else if (freed) {
        void *pending = request_table_claim(thread, completion->one_taken);
        if (pending)
            pending_abandon(pending, thread, SPOOL_FREED);
    } else if (persistent) {
        request_table_add_persistent(thread, HANDLE_KEY(completion->one_before), persistent);
    } else {
        request_table_put_back(thread, HANDLE_KEY(completion->one_before), completion->one_taken);
    }
}

/* The requests of the get_status families stay as they are, so nothing is copied before the call and nothing is
 * taken out of the table: what MPI says is done is looked up and its record completed. */
static void keep_requests(struct completion_call *completion, int64_t n, const MPI_Request *requests)
{
    completion->watched.status = NULL;
    completion->statuses = NULL;
    completion->memory = NULL;
    completion->before = requests;
    completion->n = requests && n > 0 && n <= INT32_MAX ? (int)n : 0;
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
static void store_answers(struct completion_call *completion, int n_found, uint32_t completed, struct moment now)
{
    if (completion->memory)
        scratch_return(&completion->call.thread->scratch, completion->memory);
    store_call(completion, completed, n_found == 0, now.ticks);
}

void request_get_status_begin(struct completion_call *completion, MPI_Request request, MPI_Status **status)
{
    completion->one_before = request;
    request_get_status_any_begin(completion, 1, &completion->one_before, status);
}

void request_get_status_any_begin(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                                  MPI_Status **status)
{
    keep_requests(completion, n, requests);
    if (statuses_matter())
        watch_status(&completion->watched, status);
}

void request_get_status_any_end(struct completion_call *completion, int result, const int *index, const int *flag)
{
    int i = !index ? 0 : result == MPI_SUCCESS && *flag ? *index : MPI_UNDEFINED;
    int found = result == MPI_SUCCESS && *flag && i != MPI_UNDEFINED;
    const MPI_Status *status = completion_status(completion, found);
    if (!is_recording())
        return;
    struct moment now = moment_now();
    found = found && completion->before[i] != MPI_REQUEST_NULL;
    store_answers(completion, found, found ? report(completion, i, status, now) : 0, now);
}

/* Has MPI fill statuses of our own where the caller wants none and a wildcard or a cancelled request is pending. */
void request_get_status_all_begin(struct completion_call *completion, int64_t n, const MPI_Request *requests,
                                  MPI_Status **statuses)
{
    keep_requests(completion, n, requests);
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

void request_get_status_all_end(struct completion_call *completion, int result, const int *n_done, const int *indices)
{
    struct moment now = moment_now();
    int n = result != MPI_SUCCESS || *n_done == MPI_UNDEFINED ? 0 : indices ? *n_done : *n_done ? completion->n : 0;
    uint32_t completed = 0;
    for (int k = 0; k < n; k++)
        completed +=
            report(completion, indices ? indices[k] : k, completion->statuses ? &completion->statuses[k] : NULL, now);
    store_answers(completion, n, completed, now);
}
