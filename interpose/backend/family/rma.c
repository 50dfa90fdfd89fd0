/* A transfer of one-sided communication has no partner that could be matched, so all that its arguments say goes into
 * its own record. See rma.h. */
#include "interpose/backend/family/rma.h"

#include "interpose/backend/call/timed_call.h"
#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"

static struct object_sort windows = {.live = LIVE_TABLE_INITIALIZER, .sort = ACCESS_WINDOW};

static uint64_t transfer_bytes(const struct rma_arguments *a)
{
    if (a->target == MPI_PROC_NULL)
        return 0;
    uint64_t bytes = a->op == MPI_NO_OP ? 0 : elements_bytes(a->origin_count, a->origin_type);
    return add_bytes(bytes, elements_bytes(a->result_count, a->result_type));
}

void rma_begin(struct access_call *rma, enum mpistair_function function, uint64_t site,
               const struct rma_arguments *arguments)
{
    if (access_begin(rma, &windows, function, site, HANDLE_KEY(arguments->window)))
        access_publish(rma, arguments->target >= 0 ? arguments->target : -1, transfer_bytes(arguments), -1);
}

void rma_end(struct access_call *rma, int result)
{
    access_end(rma, result);
}

void rma_request_end(struct access_call *rma, int result, const MPI_Request *request)
{
    access_request_end(rma, result, request);
}

void win_test_begin(struct win_test_call *test, enum mpistair_function function, uint64_t site,
                    const struct rma_arguments *arguments)
{
    call_begin(&test->access.call, function, site);
    test->window = arguments->window;
}

void win_test_end(struct win_test_call *test, int result, const int *flag)
{
    if (!call_recorded(&test->access.call))
        return;
    if (result == MPI_SUCCESS && !*flag) {
        timed_call_idle(&test->access.call, clock_ticks(recorder.clock_source));
        return;
    }
    access_reserve(&test->access, &windows, HANDLE_KEY(test->window));
    access_publish(&test->access, -1, 0, -1);
    access_end(&test->access, result);
}

void win_create_begin(struct access_call *rma, enum mpistair_function function, uint64_t site, MPI_Comm comm)
{
    access_create_begin(rma, &windows, function, site, comm);
}

void win_create_end(struct access_call *rma, int result, const MPI_Win *made)
{
    access_create_end(rma, &windows, result, result == MPI_SUCCESS ? HANDLE_KEY(*made) : 0);
}

void win_free_begin(struct access_call *rma, enum mpistair_function function, uint64_t site, const MPI_Win *window)
{
    access_free_begin(rma, &windows, function, site, window ? HANDLE_KEY(*window) : 0);
}

void win_free_end(struct access_call *rma, int result)
{
    access_free_end(rma, &windows, result);
}
