/* Runs the recorder under ThreadSanitizer, or under the sanitizers of the build, over an MPI of a few functions that
 * gives a freed request handle to the next thread at once.
 *
 * Each thread posts receives with wildcards and completes them in every way; the stand-in reports the number of the
 * thread that posted as source and tag. A completion that landed on the record of another thread would show the wrong
 * numbers. In turns:
 *   talk     few handles that wander between the threads, all completion calls
 *   grow     so many live requests a thread, each with a handle of its own, that the table grows below the others
 *   hand on  each thread waits for what its neighbour posted
 *   restart  persistent requests, started, completed and freed, whose handles wander too
 *   ask      buffers of the host and of GPUs, freed and used again, by tests/mock_cuda's driver, whose path is the
 *            argument; it is loaded before, in mid-run, and fails in the end. A count says which memory is expected.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/backend/family/wrappers.h"

#define THREADS 8
#define ROUNDS  5000
#define LIVE    3 /* requests of a thread at once */
#define POOL    8 /* handles, few, so that they change threads; SHARED when they are out */
#define SHARED  (POOL + 1)
#define MANY    4000 /* live requests of a thread in grow */
#define HANDED  1000 /* requests of a thread in hand on, and in restart */
#define ASKED   500  /* rounds of a thread in ask */
#define BUFFER  64   /* bytes of a buffer in ask */
#define MANAGED (ASKED - (ASKED + 2) / 3)

/* What a count is beyond the thread's number tells the memory, in ask. */
#define MEMORY_UNIT 100

/* Handles come from a few, so that requests share one; from enough that wander all the same; or each is new. */
enum handles { FEW, ENOUGH, NEW };
#define N_ENOUGH (3 * THREADS)

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int free_handles[NEW][N_ENOUGH], n_free[NEW], n_new;
static int posted_by[SHARED + 1 + N_ENOUGH + THREADS * MANY]; /* by handle */
static bool is_persistent[SHARED + 1 + N_ENOUGH + THREADS * MANY];
static _Thread_local int own_number;
static _Thread_local enum handles handles;

static int give_handle(void)
{
    int handle = SHARED;
    pthread_mutex_lock(&pool_lock);
    if (handles == NEW)
        handle = SHARED + 1 + N_ENOUGH + n_new++;
    else if (n_free[handles] > 0)
        handle = free_handles[handles][--n_free[handles]];
    posted_by[handle] = own_number;
    pthread_mutex_unlock(&pool_lock);
    return handle;
}

static void take_handle(int handle)
{
    enum handles from = handle < SHARED ? FEW : ENOUGH;
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
    status->MPI_SOURCE = status->MPI_TAG = handle == SHARED ? own_number : posted_by[handle];
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

static const struct mpistair_host host = {
    .table_hash = MPISTAIR_TABLE_HASH,
    .n_functions = FN_COUNT,
    .next = functions,
    .pnext = functions,
    .calls = &calls,
    .stop = stop,
};

static void fill_functions(void)
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
        free_handles[FEW][n_free[FEW]++] = i + 1;
    for (int i = 0; i < N_ENOUGH; i++)
        free_handles[ENOUGH][n_free[ENOUGH]++] = SHARED + 1 + i;
}

#define RECORDED(name) ((__typeof__(&MPI_##name))recorder_wrappers[FN_##name])

static void talk(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[LIVE];
        int flag = 0, index;
        MPI_Comm comm = round % 50 == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD, made;
        for (int i = 0; i < LIVE; i++)
            RECORDED(Irecv)(NULL, own_number, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]);
        if (round % 4 == 0)
            RECORDED(Waitall)(LIVE, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; round % 4 == 1 && i < LIVE; i++)
            RECORDED(Wait)(&requests[i], MPI_STATUS_IGNORE);
        for (int i = 0; round % 4 == 2 && i < LIVE; i++)
            RECORDED(Waitany)(LIVE, requests, &index, MPI_STATUS_IGNORE);
        while (round % 4 == 3 && !flag)
            RECORDED(Testall)(LIVE, requests, &flag, MPI_STATUSES_IGNORE);
        if (round % 100 == 0 && RECORDED(Comm_dup)(MPI_COMM_WORLD + 100 * own_number, &made) == MPI_SUCCESS)
            RECORDED(Comm_free)(&made);
    }
}

static void post(MPI_Request *request)
{
    RECORDED(Irecv)(NULL, own_number, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request);
}

static void grow(void)
{
    static _Thread_local MPI_Request requests[MANY];
    handles = NEW;
    for (int i = 0; i < MANY; i++)
        post(&requests[i]);
    for (int i = 0; i < MANY / 2; i++)
        RECORDED(Wait)(&requests[i], MPI_STATUS_IGNORE);
    RECORDED(Waitall)(MANY - MANY / 2, requests + MANY / 2, MPI_STATUSES_IGNORE);
}

/* Is where a thread leaves a request for its neighbour. */
static struct mailbox {
    pthread_mutex_t lock;
    MPI_Request request;
    bool full;
} mailboxes[THREADS];

/* Puts the request in, or takes one out, if there is room or one. */
static bool exchange(struct mailbox *mailbox, MPI_Request *request, bool put)
{
    pthread_mutex_lock(&mailbox->lock);
    bool possible = mailbox->full != put;
    if (possible && put)
        mailbox->request = *request;
    else if (possible)
        *request = mailbox->request;
    mailbox->full = mailbox->full != possible;
    pthread_mutex_unlock(&mailbox->lock);
    return possible;
}

static void hand_on(void)
{
    handles = ENOUGH; /* one in the mailbox, one that waits for room in it, one that is waited for */
    struct mailbox *own = &mailboxes[own_number - 1], *neighbours = &mailboxes[own_number % THREADS];
    MPI_Request posted = MPI_REQUEST_NULL, taken;
    for (int n_put = 0, n_taken = 0; n_put < HANDED || n_taken < HANDED;) {
        if (n_put < HANDED && posted == MPI_REQUEST_NULL)
            post(&posted);
        if (posted != MPI_REQUEST_NULL && exchange(own, &posted, true)) {
            posted = MPI_REQUEST_NULL;
            n_put++;
        }
        if (exchange(neighbours, &taken, false)) {
            RECORDED(Wait)(&taken, MPI_STATUS_IGNORE);
            n_taken++;
        } else {
            sched_yield();
        }
    }
}

static void restart(void)
{
    handles = ENOUGH;
    for (int i = 0; i < HANDED / 5; i++) {
        MPI_Request request, again[1];
        int flag = 0;
        RECORDED(Recv_init)(NULL, own_number, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        for (int start = 0; start < 5; start++) {
            RECORDED(Start)(&request);
            again[0] = request;
            if (start % 2 == 0)
                RECORDED(Wait)(&request, MPI_STATUS_IGNORE);
            for (flag = start % 2 == 0; !flag;)
                RECORDED(Testall)(1, again, &flag, MPI_STATUSES_IGNORE);
        }
        RECORDED(Request_free)(&request);
    }
}

/* Holds the driver and its functions. */
static struct {
    void *library;
    int (*cuCtxCreate_v2)(void **context, unsigned flags, int device);
    int (*cuMemAlloc_v2)(uint64_t *address, size_t bytes);
    int (*cuMemAllocManaged)(uint64_t *address, size_t bytes, unsigned flags);
    int (*cuMemFree_v2)(uint64_t address);
    void (*mock_cuda_fail)(int error);
} driver;
static pthread_barrier_t all_here;

static void find(const char *name, void *function)
{
    void *found = driver.library ? dlsym(driver.library, name) : NULL;
    if (!found) {
        fprintf(stderr, "no %s in the driver\n", name);
        exit(1);
    }
    memcpy(function, &found, sizeof found);
}

static void load_driver(const char *path)
{
    driver.library = dlopen(path, RTLD_NOW);
    find("cuCtxCreate_v2", &driver.cuCtxCreate_v2);
    find("cuMemAlloc_v2", &driver.cuMemAlloc_v2);
    find("cuMemAllocManaged", &driver.cuMemAllocManaged);
    find("cuMemFree_v2", &driver.cuMemFree_v2);
    find("mock_cuda_fail", &driver.mock_cuda_fail);
}

/* Posts a receive into the buffer and waits for it. */
static void receive_into(const void *buffer, unsigned memory)
{
    MPI_Request request;
    RECORDED(Irecv)
    ((void *)(uintptr_t)buffer, own_number + (int)(memory * MEMORY_UNIT), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
     MPI_COMM_WORLD, &request);
    RECORDED(Wait)(&request, MPI_STATUS_IGNORE);
}

static void check_driver(int error)
{
    if (error == 0)
        return;
    fprintf(stderr, "the driver's error is %d\n", error);
    exit(1);
}

static void ask(const char *path)
{
    char own[BUFFER];
    void *context;
    uint64_t device = 0, managed = 0;
    unsigned gpu = (unsigned)own_number << SPOOL_MEMORY_GPU_SHIFT;
    receive_into(own, SPOOL_MEMORY_HOST);
    if (pthread_barrier_wait(&all_here) == PTHREAD_BARRIER_SERIAL_THREAD) {
        load_driver(path);
        usleep(20000); /* it is looked for about every millisecond */
    }
    pthread_barrier_wait(&all_here);
    check_driver(driver.cuCtxCreate_v2(&context, 0, own_number));
    for (int i = 0; i < ASKED; i++) {
        check_driver(driver.cuMemAlloc_v2(&device, BUFFER));
        receive_into((void *)(uintptr_t)device, SPOOL_MEMORY_DEVICE | gpu);
        receive_into(own, SPOOL_MEMORY_HOST);
        check_driver(driver.cuMemFree_v2(device));
        if (i % 3 == 0) /* else a number's kind could be guessed from the one before */
            continue;
        check_driver(driver.cuMemAllocManaged(&managed, BUFFER, 1));
        receive_into((void *)(uintptr_t)(managed + BUFFER - 1), SPOOL_MEMORY_MANAGED | gpu);
        check_driver(driver.cuMemFree_v2(managed));
    }
    pthread_barrier_wait(&all_here);
    driver.mock_cuda_fail(4); /* CUDA_ERROR_DEINITIALIZED */
    receive_into((void *)(uintptr_t)device, SPOOL_MEMORY_HOST);
}

struct work {
    int number;
    const char *driver;
};

static void *run(void *argument)
{
    const struct work *work = argument;
    own_number = work->number;
    talk();
    grow();
    hand_on();
    restart();
    ask(work->driver);
    return NULL;
}

/* Counts the receives of the spool that are complete with their own thread's numbers; returns -1 if one is not. */
static int count_right(const char *path)
{
    static uint8_t chunk[SPOOL_CHUNK_BYTES];
    FILE *file = fopen(path, "rb");
    int right = 0;
    if (!file || fseek(file, SPOOL_HEADER_BYTES, SEEK_SET) != 0)
        return -1;
    for (size_t bytes; memset(chunk, 0, sizeof chunk), (bytes = fread(chunk, 1, sizeof chunk, file)) > 0;)
        for (size_t at = sizeof(struct spool_chunk); at < bytes && chunk[at] != SPOOL_NONE;) {
            const struct spool_operation *operation = (const void *)(chunk + at);
            at += operation->type == SPOOL_CALL ? sizeof(struct spool_call) : sizeof *operation;
            if (operation->type != SPOOL_OPERATION)
                continue;
            int thread = (int)operation->bytes % MEMORY_UNIT;
            if (operation->complete_ticks == 0 || operation->memory != operation->bytes / MEMORY_UNIT ||
                (!(operation->flags & SPOOL_SHARED_HANDLE) && (operation->peer != thread || operation->tag != thread)))
                return -1;
            right++;
        }
    fclose(file);
    return right;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/mpistair-threads-XXXXXX", path[512];
    pthread_t threads[THREADS];
    struct work work[THREADS];
    struct recorded_call call;
    if (argc != 2 || !mkdtemp(folder))
        return 1;
    setenv("MPISTAIR_SPOOL", folder, 1);
    setenv("MPISTAIR_INGEST", "0", 1);
    fill_functions();
    if (lifecycle_start(&host) != 0)
        return 1;
    init_end(&call, MPI_SUCCESS);
    snprintf(path, sizeof path, "%s/%s-0" SPOOL_SUFFIX, folder, recorder.spool.header->run_key);
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){i + 1, argv[1]};
        pthread_mutex_init(&mailboxes[i].lock, NULL);
    }
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, &work[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    at_end(MPI_COMM_SELF, 1, NULL, NULL);
    int right = count_right(path);
    snprintf(path, sizeof path, "rm -r %s", folder);
    int posted = THREADS * (ROUNDS * LIVE + MANY + 2 * HANDED + 2 * ASKED + MANAGED + 2);
    if (system(path) != 0 || right != posted) {
        fprintf(stderr, "%d receives are complete and right, not %d\n", right, posted);
        return 1;
    }
    return 0;
}
