/* A race over a handle shows only where another thread has it before the call returns that gave it back: no MPI does
 * that often enough to be seen. */
#include "tests/unit/stand_in_mpi.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define POOL     8 /* handles, few, so that they change threads; SHARED when they are out */
#define SHARED   (POOL + 1)
#define N_ENOUGH (3 * STAND_IN_THREADS)

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int free_handles[HANDLES_NEW][N_ENOUGH], n_free[HANDLES_NEW], n_new;
static int posted_by[SHARED + 1 + N_ENOUGH + STAND_IN_THREADS * STAND_IN_NEW]; /* by handle */
static bool is_persistent[SHARED + 1 + N_ENOUGH + STAND_IN_THREADS * STAND_IN_NEW];
_Thread_local int stand_in_number;
_Thread_local enum stand_in_handles stand_in_handles;

static int give_handle(void)
{
    int handle = SHARED;
    pthread_mutex_lock(&pool_lock);
    if (stand_in_handles == HANDLES_NEW)
        handle = SHARED + 1 + N_ENOUGH + n_new++;
    else if (n_free[stand_in_handles] > 0)
        handle = free_handles[stand_in_handles][--n_free[stand_in_handles]];
    posted_by[handle] = stand_in_number;
    pthread_mutex_unlock(&pool_lock);
    return handle;
}

static void take_handle(int handle)
{
    enum stand_in_handles from = handle < SHARED ? HANDLES_FEW : HANDLES_ENOUGH;
    if (handle == SHARED || handle > SHARED + N_ENOUGH)
        return;
    pthread_mutex_lock(&pool_lock);
    free_handles[from][n_free[from]++] = handle;
    pthread_mutex_unlock(&pool_lock);
    sched_yield(); /* the next thread may have the handle before this one's call returns */
}

static int stand_in_irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)source, (void)tag, (void)comm;
    *request = (MPI_Request)give_handle();
    return MPI_SUCCESS;
}

static int stand_in_recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                              MPI_Request *request)
{
    stand_in_irecv(buffer, count, type, source, tag, comm, request);
    is_persistent[*request] = true; /* nobody else has the handle */
    return MPI_SUCCESS;
}

static int stand_in_request_free(MPI_Request *request)
{
    is_persistent[*request] = false;
    take_handle(*request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static void finish(MPI_Request *request, MPI_Status *status)
{
    int handle = *request;
    /* The shared handle's requests are waited for by those that posted them. */
    status->MPI_SOURCE = status->MPI_TAG = handle == SHARED ? stand_in_number : posted_by[handle];
    if (is_persistent[handle])
        return;
    take_handle(handle);
    *request = MPI_REQUEST_NULL;
}

static int stand_in_wait(MPI_Request *request, MPI_Status *status)
{
    finish(request, status);
    return MPI_SUCCESS;
}

static int stand_in_waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    for (int i = 0; i < n; i++)
        finish(&requests[i], &statuses[i]);
    return MPI_SUCCESS;
}

static int stand_in_waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
    *index = MPI_UNDEFINED;
    for (int i = n; i-- > 0 && *index == MPI_UNDEFINED;)
        if (requests[i] != MPI_REQUEST_NULL) {
            finish(&requests[i], status);
            *index = i;
        }
    return MPI_SUCCESS;
}

static int stand_in_testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    static _Thread_local unsigned asked;
    *flag = ++asked % 3 == 0;
    return *flag ? stand_in_waitall(n, requests, statuses) : MPI_SUCCESS;
}

static int stand_in_request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    (void)status;
    *flag = request == SHARED;
    return MPI_SUCCESS;
}

static int stand_in_query_thread(int *provided)
{
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

static int stand_in_comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = 1;
    return MPI_SUCCESS;
}

static int stand_in_zero(MPI_Comm comm, int *out)
{
    (void)comm;
    *out = 0;
    return MPI_SUCCESS;
}

static int stand_in_get_parent(MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int stand_in_comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    *made = comm + 1;
    return MPI_SUCCESS;
}

static int stand_in_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)type, (void)op, (void)comm;
    memcpy(out, in, (size_t)count * sizeof(int));
    return MPI_SUCCESS;
}

static int stand_in_allgather(const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out,
                              MPI_Datatype out_type, MPI_Comm comm)
{
    (void)in_type, (void)n_out, (void)out_type, (void)comm;
    memcpy(out, in, (size_t)n_in);
    return MPI_SUCCESS;
}

static int stand_in_translate(MPI_Group from, int n, const int ranks[], MPI_Group to, int out[])
{
    (void)from, (void)to;
    memcpy(out, ranks, (size_t)n * sizeof *out);
    return MPI_SUCCESS;
}

static int stand_in_type_size(MPI_Datatype type, MPI_Count *bytes)
{
    (void)type;
    *bytes = 1;
    return MPI_SUCCESS;
}

static MPI_Comm_delete_attr_function *at_end;

static int stand_in_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete, int *key,
                           void *state)
{
    (void)copy, (void)state;
    at_end = delete;
    *key = 1;
    return MPI_SUCCESS;
}

static int stand_in_nothing(void)
{
    return MPI_SUCCESS;
}

static mpistair_code *functions[FN_COUNT];
static uint64_t counts[FN_COUNT];
static uint64_t *volatile calls = counts;

static void stop(void)
{
}

static void count_openmp(bool on)
{
    (void)on;
}

static void read_openmp(uint64_t sums[OPENMP_SUMS])
{
    memset(sums, 0, OPENMP_SUMS * sizeof *sums);
}

static const struct mpistair_host host = {
    .table_hash = MPISTAIR_TABLE_HASH,
    .n_functions = FN_COUNT,
    .next = functions,
    .pnext = functions,
    .calls = &calls,
    .stop = stop,
    .count_openmp = count_openmp,
    .read_openmp = read_openmp,
};

const struct mpistair_host *stand_in_mpi(void)
{
    for (int i = 0; i < FN_COUNT; i++)
        functions[i] = (mpistair_code *)stand_in_nothing;
    functions[FN_Irecv] = (mpistair_code *)stand_in_irecv;
    functions[FN_Recv_init] = (mpistair_code *)stand_in_recv_init;
    functions[FN_Request_free] = (mpistair_code *)stand_in_request_free;
    functions[FN_Wait] = (mpistair_code *)stand_in_wait;
    functions[FN_Waitall] = (mpistair_code *)stand_in_waitall;
    functions[FN_Waitany] = (mpistair_code *)stand_in_waitany;
    functions[FN_Testall] = (mpistair_code *)stand_in_testall;
    functions[FN_Request_get_status] = (mpistair_code *)stand_in_request_get_status;
    functions[FN_Query_thread] = (mpistair_code *)stand_in_query_thread;
    functions[FN_Comm_size] = (mpistair_code *)stand_in_comm_size;
    functions[FN_Comm_rank] = (mpistair_code *)stand_in_zero;
    functions[FN_Comm_group] = (mpistair_code *)stand_in_zero;
    functions[FN_Comm_test_inter] = (mpistair_code *)stand_in_zero;
    functions[FN_Comm_get_parent] = (mpistair_code *)stand_in_get_parent;
    functions[FN_Comm_dup] = (mpistair_code *)stand_in_comm_dup;
    functions[FN_Allreduce] = (mpistair_code *)stand_in_allreduce;
    functions[FN_Allgather] = (mpistair_code *)stand_in_allgather;
    functions[FN_Group_translate_ranks] = (mpistair_code *)stand_in_translate;
    functions[FN_Type_size_x] = (mpistair_code *)stand_in_type_size;
    functions[FN_Comm_create_keyval] = (mpistair_code *)stand_in_keyval;
    for (int i = 0; i < POOL; i++)
        free_handles[HANDLES_FEW][n_free[HANDLES_FEW]++] = i + 1;
    for (int i = 0; i < N_ENOUGH; i++)
        free_handles[HANDLES_ENOUGH][n_free[HANDLES_ENOUGH]++] = SHARED + 1 + i;
    return &host;
}

void stand_in_finalize(void)
{
    at_end(MPI_COMM_SELF, 1, NULL, NULL);
}
