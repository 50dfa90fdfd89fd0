/* Measures what recording adds to a call: Irecv, Isend, Wait, Wait of a process to itself through MPI_X (recorded) and
 * through the MPI's own functions (which nobody sees), in turns in one run, beside the cost of two timestamps. The
 * least disturbed turn of each counts; the middle one is printed beside it, and the processor time that the recorder's
 * thread takes elsewhere. The ratio is that of the budget: at most twice two timestamps a call. More than 1 GB is
 * recorded, so chunks are opened and left all the time. It goes to a folder of its own, MPISTAIR_SPOOL, and is removed
 * in the end. Then come tests and probes that find nothing, of which some programs make millions, one-sided calls, and
 * borders of regions.
 *
 * With the path of tests/mock_cuda's driver as argument it then loads that and does the same again, so that each post
 * asks in which memory its buffer lies, first with those of the host, then with those of a GPU, which has been met
 * before. The mock's answer by itself is printed beside it. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/region/mpistair_region.h"
#include "interpose/spool/clock.h"
#include "share/base/cuda_functions.h"
#include "tests/apps/mpi_itself.h"

#define TURNS        41
#define MEMORY_TURNS 11
#define CALLS        140000
#define POLLED       8
#define PROBED_TAG   3

static char own_in[8], own_out[8], *in = own_in, *out = own_out;

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Holds the calls, by what the program finds or by the MPI itself. */
struct names {
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Isend) isend;
    __typeof__(&MPI_Wait) wait;
    __typeof__(&MPI_Test) test;
    __typeof__(&MPI_Testany) testany;
    __typeof__(&MPI_Request_get_status) get_status;
    __typeof__(&MPI_Iprobe) iprobe;
    __typeof__(&MPI_Accumulate) accumulate;
    __typeof__(&MPI_Win_flush) flush;
};

static const struct names recorded_names = {MPI_Irecv,  MPI_Isend,      MPI_Wait,
                                            MPI_Test,   MPI_Testany,    MPI_Request_get_status,
                                            MPI_Iprobe, MPI_Accumulate, MPI_Win_flush};

/* Returns the calls of the MPI itself. */
static struct names names_of_mpi(void)
{
    return (struct names){(__typeof__(&MPI_Irecv))mpi_itself("PMPI_Irecv"),
                          (__typeof__(&MPI_Isend))mpi_itself("PMPI_Isend"),
                          (__typeof__(&MPI_Wait))mpi_itself("PMPI_Wait"),
                          (__typeof__(&MPI_Test))mpi_itself("PMPI_Test"),
                          (__typeof__(&MPI_Testany))mpi_itself("PMPI_Testany"),
                          (__typeof__(&MPI_Request_get_status))mpi_itself("PMPI_Request_get_status"),
                          (__typeof__(&MPI_Iprobe))mpi_itself("PMPI_Iprobe"),
                          (__typeof__(&MPI_Accumulate))mpi_itself("PMPI_Accumulate"),
                          (__typeof__(&MPI_Win_flush))mpi_itself("PMPI_Win_flush")};
}

/* Open receives and a window, for rounds of calls that find nothing or go to the process itself. */
static MPI_Request open_requests[POLLED];
static MPI_Win window;
static void *window_memory;

static void open_all(void)
{
    for (int i = 0; i < POLLED; i++)
        MPI_Irecv(in, 8, MPI_BYTE, 0, 2, MPI_COMM_SELF, &open_requests[i]);
    MPI_Win_allocate_shared(sizeof(int64_t), 1, MPI_INFO_NULL, MPI_COMM_SELF, &window_memory, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
}

static void close_all(void)
{
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
    for (int i = 0; i < POLLED; i++) {
        MPI_Cancel(&open_requests[i]);
        MPI_Wait(&open_requests[i], MPI_STATUS_IGNORE);
    }
}

static void exchange(const struct names *mpi, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Request receive, send;
        mpi->irecv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &receive);
        mpi->isend(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &send);
        mpi->wait(&receive, MPI_STATUS_IGNORE);
        mpi->wait(&send, MPI_STATUS_IGNORE);
    }
}

static void test(const struct names *mpi, int rounds)
{
    for (int flag, i = 0; i < rounds; i++)
        mpi->test(&open_requests[0], &flag, MPI_STATUS_IGNORE);
}

static void testany(const struct names *mpi, int rounds)
{
    for (int index, flag, i = 0; i < rounds; i++)
        mpi->testany(POLLED, open_requests, &index, &flag, MPI_STATUS_IGNORE);
}

static void get_status(const struct names *mpi, int rounds)
{
    for (int flag, i = 0; i < rounds; i++)
        mpi->get_status(open_requests[0], &flag, MPI_STATUS_IGNORE);
}

static void iprobe(const struct names *mpi, int rounds)
{
    for (int flag, i = 0; i < rounds; i++)
        mpi->iprobe(0, PROBED_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void accumulate(const struct names *mpi, int rounds)
{
    int64_t one = 1;
    for (int i = 0; i < rounds; i++) {
        mpi->accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, window);
        mpi->flush(0, window);
    }
}

/* Without the recorder, for which the MPI's own functions stand, there is nothing. */
static void region(const struct names *mpi, int rounds)
{
    for (int i = 0; i < rounds && mpi == &recorded_names; i++) {
        mpistair_region_begin("region");
        mpistair_region_end("region");
    }
}

/* Kinds of rounds: the exchange comes first, then what needs open_all. */
static const struct kind {
    const char *name;
    int calls; /* of a round */
    void (*run)(const struct names *mpi, int rounds);
} kinds[] = {{"exchange", 4, exchange},     {"test", 1, test},     {"testany", 1, testany},
             {"get_status", 1, get_status}, {"iprobe", 1, iprobe}, {"accumulate", 2, accumulate},
             {"region", 2, region}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

static double calls_ns(const struct names *mpi)
{
    double begin_ns = now_ns(CLOCK_MONOTONIC);
    exchange(mpi, CALLS);
    return (now_ns(CLOCK_MONOTONIC) - begin_ns) / CALLS;
}

static double timestamp_ns(enum spool_clock_source source)
{
    volatile uint64_t sink = 0;
    double begin_ns = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < CALLS * 4; i++)
        sink += clock_ticks(source);
    (void)sink;
    return (now_ns(CLOCK_MONOTONIC) - begin_ns) / (CALLS * 4);
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Sorts turns, the least first. */
static void sort_turns(double *values, int turns)
{
    qsort(values, (size_t)turns, sizeof *values, compare);
}

/* Returns the processor time of the process's other threads since *begin_ns; begins anew. */
static double elsewhere_ns(double *begin_ns)
{
    double now = now_ns(CLOCK_PROCESS_CPUTIME_ID) - now_ns(CLOCK_THREAD_CPUTIME_ID), passed = now - *begin_ns;
    *begin_ns = now;
    return passed;
}

/* Removes what was recorded; returns its bytes. */
static double remove_spools(void)
{
    const char *path = getenv("MPISTAIR_SPOOL");
    DIR *folder = path ? opendir(path) : NULL;
    double bytes = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode)) {
            bytes += (double)status.st_size;
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder)
        closedir(folder);
    return bytes;
}

/* Holds the least disturbed turn of each, in ns. */
struct found {
    double recorded, bare, middle_added, timestamp, elsewhere;
};

static void measure(enum spool_clock_source source, int turns, struct found *found)
{
    const struct names bare_names = names_of_mpi();
    double recorded[TURNS], bare[TURNS], timestamp[TURNS], others_ns = 0, thread_ns = 0;
    calls_ns(&recorded_names);
    calls_ns(&bare_names);
    elsewhere_ns(&others_ns);
    for (int turn = 0; turn < turns; turn++) {
        recorded[turn] = calls_ns(&recorded_names);
        thread_ns += elsewhere_ns(&others_ns);
        bare[turn] = calls_ns(&bare_names);
        timestamp[turn] = timestamp_ns(source);
        elsewhere_ns(&others_ns);
    }
    sort_turns(recorded, turns);
    sort_turns(bare, turns);
    sort_turns(timestamp, turns);
    *found = (struct found){recorded[0], bare[0], (recorded[turns / 2] - bare[turns / 2]) / 4, timestamp[0],
                            thread_ns / (4.0 * CALLS * turns)};
}

/* Prints what each of the other kinds costs, and costs more, a call, each in its least disturbed turn. */
static void measure_others(void)
{
    const struct names bare_names = names_of_mpi(), *names[] = {&bare_names, &recorded_names};
    double least_ns[N_KINDS][2];
    open_all();
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 1; i < N_KINDS; i++)
            for (int way = 0; way < 2; way++) {
                double begin_ns = now_ns(CLOCK_MONOTONIC);
                kinds[i].run(names[way], CALLS / kinds[i].calls);
                double ns = (now_ns(CLOCK_MONOTONIC) - begin_ns) / CALLS;
                least_ns[i][way] = turn == 0 ? ns : fmin(least_ns[i][way], ns);
            }
    close_all();
    printf("ns a call, bare and more:");
    for (int i = 1; i < N_KINDS; i++)
        printf(" %s %.1f and %.1f%s", kinds[i].name, least_ns[i][0], least_ns[i][1] - least_ns[i][0],
               i + 1 < N_KINDS ? "," : "\n");
}

/* Finds a function of the driver, or ends the program. */
static void find(void *driver, const char *name, void *function)
{
    void *found = driver ? dlsym(driver, name) : NULL;
    if (found == NULL) {
        fprintf(stderr, "overhead: no %s in the driver\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memcpy(function, &found, sizeof found);
}

/* Prints what a post costs more once there is a driver to ask, and what the driver's answer takes of that. */
static void measure_memory(const char *path, enum spool_clock_source source)
{
    static const int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_ALLOCATION};
    struct {
        int (*cuCtxCreate_v2)(void **context, unsigned flags, int device);
        int (*cuMemAlloc_v2)(uint64_t *address, size_t bytes);
        CUDA_MEMORY_FUNCTIONS(CUDA_MEMBER)
    } cuda;
    void *driver, *context;
    uint64_t address[2], values[2];
    void *places[] = {&values[0], &values[1]};
    struct found without, host, device;
    measure(source, MEMORY_TURNS, &without);
    driver = dlopen(path, RTLD_NOW);
    find(driver, "cuCtxCreate_v2", &cuda.cuCtxCreate_v2);
    find(driver, "cuMemAlloc_v2", &cuda.cuMemAlloc_v2);
    find(driver, "cuPointerGetAttributes", &cuda.cuPointerGetAttributes);
    if (cuda.cuCtxCreate_v2(&context, 0, 0) != 0 || cuda.cuMemAlloc_v2(&address[0], 8) != 0 ||
        cuda.cuMemAlloc_v2(&address[1], 8) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    usleep(20000); /* it is looked for about every millisecond */
    measure(source, MEMORY_TURNS, &host);
    in = (char *)(uintptr_t)address[0];
    out = (char *)(uintptr_t)address[1];
    measure(source, MEMORY_TURNS, &device);
    double answer_ns = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < CALLS; i++)
        cuda.cuPointerGetAttributes(2, attributes, places, address[0]);
    answer_ns = (now_ns(CLOCK_MONOTONIC) - answer_ns) / CALLS;
    double before_ns = without.recorded - without.bare;
    printf(
        "memory of a GPU: a post of host memory costs %.1f ns more, one of a GPU's that is known %.1f ns; the mock's "
        "answer alone takes %.1f ns\n",
        (host.recorded - host.bare - before_ns) / 2, (device.recorded - device.bare - before_ns) / 2, answer_ns);
}

/* Makes so many rounds of a kind, "bare " before its name: by the MPI itself. For overhead.py, which counts their
 * instructions. Returns the exit code. */
static int run_rounds(const char *name, int rounds)
{
    const struct names bare_names = names_of_mpi(), *names = &recorded_names;
    const struct kind *kind = kinds;
    if (strncmp(name, "bare ", 5) == 0) {
        names = &bare_names;
        name += 5;
    }
    while (strcmp(kind->name, name) != 0)
        if (++kind == kinds + N_KINDS)
            return 2;
    if (kind->run != exchange)
        open_all();
    kind->run(names, rounds);
    if (kind->run != exchange)
        close_all();
    return 0;
}

int main(int argc, char **argv)
{
    enum spool_clock_source source = spool_clock_detect();
    struct found found;
    MPI_Init(&argc, &argv);
    if (argc == 3) {
        int code = run_rounds(argv[1], atoi(argv[2]));
        MPI_Finalize();
        remove_spools();
        return code;
    }
    measure(source, TURNS, &found);
    measure_others();
    double added_ns = (found.recorded - found.bare) / 4, two_ns = 2 * found.timestamp;
    double rounds = (double)CALLS * (TURNS + 1);
    if (argc > 1) {
        measure_memory(argv[1], source);
        rounds += 3.0 * CALLS * (MEMORY_TURNS + 1);
    }
    MPI_Finalize();
    double bytes = remove_spools();
    printf(
        "overhead: bare %.1f ns, recorded %.1f ns for Irecv+Isend+Wait+Wait; added %.1f ns a call (median of %d turns "
        "%.1f), on another processor %.1f ns; two timestamps %.1f ns; ratio %.2f; spool %.2f GB, %.1f bytes a round of "
        "two operations and two completion calls\n",
        found.bare, found.recorded, added_ns, TURNS, found.middle_added, found.elsewhere, two_ns, added_ns / two_ns,
        bytes / 1e9, bytes / rounds);
    return 0;
}
