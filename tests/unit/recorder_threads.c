/* Runs the recorder under ThreadSanitizer, or under the sanitizers of the build, over an MPI of a few functions that
 * gives a freed request handle to the next thread at once (stand_in_mpi.h).
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

#include "interpose/backend/wrappers.h"
#include "tests/unit/stand_in_mpi.h"

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

/* The thread of counters has descriptors of its own (counter_thread.h). ThreadSanitizer knows one table alone, and
 * takes what another thread closes under the same number for a race with the open. */
const char *__tsan_default_suppressions(void)
{
    return "race_top:open64\nrace_top:open\n";
}

#define THREADS STAND_IN_THREADS
#define ROUNDS  5000
#define LIVE    3            /* requests of a thread at once */
#define MANY    STAND_IN_NEW /* live requests of a thread in grow */
#define HANDED  1000         /* requests of a thread in hand on, and in restart */
#define ASKED   500          /* rounds of a thread in ask */
#define BUFFER  64           /* bytes of a buffer in ask */
#define MANAGED (ASKED - (ASKED + 2) / 3)

/* What a count is beyond the thread's number tells the memory, in ask. */
#define MEMORY_UNIT 100

#define RECORDED(name) ((__typeof__(&MPI_##name))recorder_wrappers[FN_##name])

static void talk(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[LIVE];
        int flag = 0, index;
        MPI_Comm comm = round % 50 == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD, made;
        for (int i = 0; i < LIVE; i++)
            RECORDED(Irecv)(NULL, stand_in_number, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]);
        if (round % 4 == 0)
            RECORDED(Waitall)(LIVE, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; round % 4 == 1 && i < LIVE; i++)
            RECORDED(Wait)(&requests[i], MPI_STATUS_IGNORE);
        for (int i = 0; round % 4 == 2 && i < LIVE; i++)
            RECORDED(Waitany)(LIVE, requests, &index, MPI_STATUS_IGNORE);
        while (round % 4 == 3 && !flag)
            RECORDED(Testall)(LIVE, requests, &flag, MPI_STATUSES_IGNORE);
        if (round % 100 == 0 && RECORDED(Comm_dup)(MPI_COMM_WORLD + 100 * stand_in_number, &made) == MPI_SUCCESS)
            RECORDED(Comm_free)(&made);
    }
}

static void post(MPI_Request *request)
{
    RECORDED(Irecv)(NULL, stand_in_number, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request);
}

static void grow(void)
{
    static _Thread_local MPI_Request requests[MANY];
    stand_in_handles = HANDLES_NEW;
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
    stand_in_handles = HANDLES_ENOUGH; /* one in the mailbox, one that waits for room in it, one that is waited for */
    struct mailbox *own = &mailboxes[stand_in_number - 1], *neighbours = &mailboxes[stand_in_number % THREADS];
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
    stand_in_handles = HANDLES_ENOUGH;
    for (int i = 0; i < HANDED / 5; i++) {
        MPI_Request request, again[1];
        int flag = 0;
        RECORDED(Recv_init)(NULL, stand_in_number, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
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
    ((void *)(uintptr_t)buffer, stand_in_number + (int)(memory * MEMORY_UNIT), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
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
    unsigned gpu = (unsigned)stand_in_number << SPOOL_MEMORY_GPU_SHIFT;
    receive_into(own, SPOOL_MEMORY_HOST);
    if (pthread_barrier_wait(&all_here) == PTHREAD_BARRIER_SERIAL_THREAD) {
        load_driver(path);
        usleep(20000); /* it is looked for about every millisecond */
    }
    pthread_barrier_wait(&all_here);
    check_driver(driver.cuCtxCreate_v2(&context, 0, stand_in_number));
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
    stand_in_number = work->number;
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
    if (!file || fseek(file, SPOOL_CHUNKS_BEGIN, SEEK_SET) != 0)
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
    if (lifecycle_start(stand_in_mpi()) != 0)
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
    stand_in_finalize();
    int right = count_right(path);
    snprintf(path, sizeof path, "rm -r %s", folder);
    int posted = THREADS * (ROUNDS * LIVE + MANY + 2 * HANDED + 2 * ASKED + MANAGED + 2);
    if (system(path) != 0 || right != posted) {
        fprintf(stderr, "%d receives are complete and right, not %d\n", right, posted);
        return 1;
    }
    return 0;
}
