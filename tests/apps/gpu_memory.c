/* Sends from and to all kinds of memory that NVIDIA's driver knows, between ranks 0 and 1. The first two arguments name
 * the driver of each rank: that of tests/mock_cuda, whose device memory is the host's, so that any MPI can take it. The
 * program loads it late, calls MPI before cuInit, frees memory whose address is used again, lets the driver fail,
 * resets, forks, has threads, and closes the driver while MPI goes on.
 *
 * Each rank writes `RANK,TAG,KIND` for what it sent or received into the file of the third argument with its rank
 * behind. Exits with 1 where the driver was asked too often. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 4096, THREADS = 8, THREAD_MESSAGES = 50, REPEATS = 100 };

static int rank, next_tag = 1;
static FILE *out;
static struct {
    int (*create)(void **context, unsigned flags, int device);
    int (*destroy)(void *context);
    int (*allocate)(uint64_t *address, size_t bytes);
    int (*allocate_managed)(uint64_t *address, size_t bytes, unsigned flags);
    int (*allocate_host)(void **address, size_t bytes);
    int (*pin)(void *address, size_t bytes, unsigned flags);
    int (*unpin)(void *address);
    int (*release)(uint64_t address);
    int (*release_host)(void *address);
    int (*init)(unsigned flags);
    void (*fail)(int error);
    long (*asked)(void);
} driver;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void say(int tag, const char *kind)
{
    fprintf(out, "%d,%d,%s\n", rank, tag, kind);
}

static void transfer(void *buffer, int tag)
{
    if (rank == 0)
        MPI_Send(buffer, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void one(const char *kind, void *buffer)
{
    int tag = next_tag++;
    transfer(buffer, tag);
    say(tag, kind);
}

/* Sends and receives the buffer by every way that posts an operation. */
static void every_way(const char *kind, char *buffer)
{
    MPI_Request request;
    MPI_Message message;
    int tag = next_tag++, peer = 1 - rank;
    if (rank == 0)
        MPI_Isend(buffer, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(buffer, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say(tag, kind);
    tag = next_tag++;
    if (rank == 0)
        MPI_Send_init(buffer, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(buffer, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        say(tag, kind);
    }
    MPI_Request_free(&request);
    tag = next_tag++;
    if (rank == 0)
        MPI_Send(buffer, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
    else {
        MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(buffer, 8, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
    say(tag, kind);
    tag = next_tag++;
    MPI_Sendrecv(buffer, 8, MPI_BYTE, peer, tag, buffer + 64, 8, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    say(tag, kind); /* as sender */
    say(tag, kind); /* as receiver */
    one(kind, buffer);
    one(kind, buffer + BYTES - 8);
}

static void find(const char *name, void *function, void *library)
{
    void *found = dlsym(library, name);
    check(found != NULL, name);
    memcpy(function, &found, sizeof found);
}

/* Returns the driver's library. */
static void *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    check(library != NULL, "no driver");
    find("cuInit", &driver.init, library);
    find("cuCtxCreate_v2", &driver.create, library);
    find("cuCtxDestroy_v2", &driver.destroy, library);
    find("cuMemAlloc_v2", &driver.allocate, library);
    find("cuMemAllocManaged", &driver.allocate_managed, library);
    find("cuMemAllocHost_v2", &driver.allocate_host, library);
    find("cuMemHostRegister_v2", &driver.pin, library);
    find("cuMemHostUnregister", &driver.unpin, library);
    find("cuMemFree_v2", &driver.release, library);
    find("cuMemFreeHost", &driver.release_host, library);
    find("mock_cuda_fail", &driver.fail, library);
    find("mock_cuda_asked", &driver.asked, library);
    usleep(20000); /* a real driver takes longer to start */
    return library;
}

static char *device_memory(void)
{
    uint64_t address;
    check(driver.allocate(&address, BYTES) == 0, "cuMemAlloc");
    return (char *)(uintptr_t)address;
}

static void release(const void *memory)
{
    check(driver.release((uint64_t)(uintptr_t)memory) == 0, "cuMemFree");
}

/* Frees memory and gets its address again, as another kind. */
static void used_again(const char *device, const char *managed)
{
    char *first = device_memory();
    one(device, first);
    release(first);
    uint64_t address;
    check(driver.allocate_managed(&address, BYTES, 1) == 0, "cuMemAllocManaged");
    check((uintptr_t)address == (uintptr_t)first, "the address was not used again");
    every_way(managed, first);
    release(first);
    void *pinned;
    check(driver.allocate_host(&pinned, BYTES) == 0 && pinned == first, "the address was not used again");
    every_way("pinned", pinned);
    check(driver.release_host(pinned) == 0, "cuMemFreeHost");
    check(device_memory() == first, "the address was not used again");
    one(device, first);
    release(first);
}

static void registered(char *own)
{
    one("host", own);
    check(driver.pin(own, BYTES, 0) == 0, "cuMemHostRegister");
    every_way("pinned", own);
    check(driver.unpin(own) == 0, "cuMemHostUnregister");
    one("host", own);
}

static void failing(const char *device)
{
    char *memory = device_memory();
    for (int error = 1; error < 1000; error += 499) {
        driver.fail(error);
        one("host", memory);
        driver.fail(0);
        one(device, memory);
    }
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status;
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "fork");
    one(device, memory);
    release(memory);
}

struct thread {
    pthread_t id;
    char *memory;
    int tag;
};

static void *run_thread(void *memory)
{
    struct thread *thread = memory;
    for (int i = 0; i < THREAD_MESSAGES; i++)
        transfer(thread->memory, thread->tag);
    return NULL;
}

static void threads(const char *device, char *own)
{
    struct thread all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = (struct thread){.memory = i % 2 ? own : device_memory(), .tag = next_tag++};
        check(pthread_create(&all[i].id, NULL, run_thread, &all[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i].id, NULL);
        for (int message = 0; message < THREAD_MESSAGES; message++)
            say(all[i].tag, i % 2 ? "host" : device);
        if (i % 2 == 0)
            release(all[i].memory);
    }
}

/* Counts the questions to the driver: one an operation on memory that was met before. */
static void count_questions(const char *device)
{
    char *memory = device_memory();
    one(device, memory);
    long before = driver.asked();
    for (int i = 0; i < REPEATS; i++)
        one(device, memory);
    long asked = driver.asked() - before;
    check(!getenv("LD_PRELOAD") || asked == REPEATS, "the driver was not asked once for each operation");
    release(memory);
}

int main(int argc, char **argv)
{
    int provided;
    char *own = calloc(1, BYTES), device[16], managed[16];
    void *context;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(argc == 4 && own, "usage: gpu_memory LIBCUDA LIBCUDA OUT");
    char path[4096];
    snprintf(path, sizeof path, "%s%d", argv[3], rank);
    out = fopen(path, "w");
    check(out != NULL, path);
    snprintf(device, sizeof device, "device %d", rank ? 3 : 0);
    snprintf(managed, sizeof managed, "managed %d", rank ? 3 : 0);
    every_way("host", own);
    void *library = load(argv[1 + rank]);
    every_way("host", own); /* nobody has called cuInit */
    check(driver.init(0) == 0, "cuInit");
    one("host", own); /* there is no context */
    check(driver.create(&context, 0, rank ? 3 : 0) == 0, "cuCtxCreate");
    char *memory = device_memory();
    every_way(device, memory);
    one(rank ? "host" : device, rank ? own : memory);
    registered(own);
    used_again(device, managed);
    failing(device);
    count_questions(device);
    if (provided == MPI_THREAD_MULTIPLE)
        threads(device, own);
    driver.destroy(context);
    one("host", own);
    check(driver.create(&context, 0, 40) == 0, "cuCtxCreate");
    memory = device_memory();
    one("device 31", memory); /* stands for all above, too */
    driver.fail(4);           /* CUDA_ERROR_DEINITIALIZED: from here on for ever */
    one("host", memory);
    dlclose(library); /* what asks has to keep it, or calls what is gone */
    every_way("host", memory);
    MPI_Finalize();
    fclose(out);
    free(own);
    return 0;
}
