/* The memory benchmark: what the cores of a socket and a message that is received leave each other of the memory's
 * bandwidth (A. Denis, E. Jeannot, P. Swartvagher, Modeling Memory Contention between Communications and Computations
 * in Distributed HPC Systems, RR-9451, 2022, section 4.1.1). Rank 0 computes and receives, rank 1 on another node
 * sends.
 *
 * Where the machine cannot show contention, the program refuses before it measures anything, with a line for each
 * reason (`mpistair-note: refused REASON`). It writes measured values only. */
#include <dirent.h>
#include <errno.h>
#include <linux/tcp.h>
#include <mpi.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/measure/rank_place.h"
#include "calibrate/measure/processor.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "calibrate/benchmark/memory/memory_steady.h"
#include "share/base/array.h"
#include "calibrate/benchmark/memory/memory_plan.h"
#include "calibrate/benchmark/memory/memory_seats.h"
#include "share/base/error.h"
#include "calibrate/samples/samples.h"

struct memory_arguments {
    double seconds; /* time of all samples, about; 0: not given */
    double spent_s; /* what earlier runs took, for at_s */
    uint64_t seed;
    uint32_t launch;
    int all_placements; /* 0: those of the model */
    bool skip_beyond_peak;
    bool allow_cpu_copy;
    const char *resume_path; /* borrowed; NULL: none */
};

static const char memory_command[] = "mpistair-benchmark-MPI memory_contention";
static const char memory_usage[] =
    "usage: mpiexec -n 2 mpistair-benchmark-MPI memory_contention [options]\n\n"
    "Measures what computing cores and a message that is received cost each other. Rank 0 computes and receives, rank "
    "1\n"
    "sends. Writes samples as CSV on standard output, remarks on standard error.\n";

/* Returns 0; -1 after --help; EXIT_WRONG_USAGE after saying what was expected. */
static int memory_arguments_parse(int argc, char **argv, struct memory_arguments *options)
{
    *options = (struct memory_arguments){.seed = 1, .launch = 1};
    const struct option_row rows[] = {
        {0, "seconds", "S", "time of all samples, about (0.5 s each)", .real = &options->seconds, .most = 1000000},
        {0, "placements", "model|all",
         "model: data of both on the first NUMA node, local and remote (model); all: every one",
         .choice = &options->all_placements},
        {0, "skip-beyond-peak", NULL,
         "leave out what is between the number of cores with the highest bandwidth and the last",
         .flag = &options->skip_beyond_peak},
        {0, "allow-cpu-copy", NULL, "measure also where a processor copies the messages, and with two cores",
         .flag = &options->allow_cpu_copy},
        {0, "seed", "N", "of the random order (1)", .whole = &options->seed, .most = 1000000000},
        {0, "launch", "N", "number of this launch, for the CSV (1)", .u32 = &options->launch, .most = 1000000000},
        {0, "resume", "F", "go on from the samples in F, written by an earlier run that ended",
         .text = &options->resume_path},
        {0, "spent", "S", "time that earlier runs took, for the CSV (0)", .real = &options->spent_s,
         .most = 1000000000},
    };
    const struct option_table table = {
        .command = memory_command, .usage = memory_usage, .rows = rows, .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code == EXIT_DONE ? -1 : code;
    return argc == 0 ? 0 : wrong_usage(memory_command, "unexpected argument '%s'", argv[0]);
}

#define POLL_S 200e-6

struct crew_worker {
    pthread_t thread;
    hwloc_topology_t topology;
    unsigned processor;
    char *block;
    size_t block_bytes;
    struct memory_iterations *iterations;
    atomic_size_t n_done; /* iterations, for others to see */
    atomic_bool stop;
    atomic_int failure; /* errno of what went wrong */
};

/* The computing threads: each bound to its core, each storing over its own block of memory, one iteration after the
 * other. The stores pass the cache where the processor has such stores: what goes to a cache is no traffic of the
 * memory (section 2.3). Each core has the same amount of work, however many compute. */
struct memory_crew {
    struct crew_worker *workers;          /* [n] */
    struct memory_iterations *iterations; /* [n] what each has done, once the crew is stopped */
    size_t n;
};

/* How blocks are written, and whether through caches, so that blocks must be much larger than these. */
#ifdef __SSE2__
#define STORES        "non-temporal"
#define STORES_CACHED false

/* Writes whole cache lines; block_bytes is a multiple of 64. */
static void write_block(char *block, size_t block_bytes, char value)
{
    const __m128i filled = _mm_set1_epi8(value);
    for (size_t at = 0; at < block_bytes; at += 64) {
        __m128i *line = (__m128i *)(void *)(block + at);
        _mm_stream_si128(line, filled);
        _mm_stream_si128(line + 1, filled);
        _mm_stream_si128(line + 2, filled);
        _mm_stream_si128(line + 3, filled);
    }
    _mm_sfence();
}
#else
#define STORES        "memset"
#define STORES_CACHED true

static void write_block(char *block, size_t block_bytes, char value)
{
    memset(block, value, block_bytes);
    atomic_thread_fence(memory_order_seq_cst); /* keeps the compiler from leaving stores out */
}
#endif

/* Binds the calling thread to one processor. Returns 0, or an errno. */
static int crew_bind(hwloc_topology_t topology, unsigned processor)
{
    hwloc_bitmap_t set = or_no_memory(hwloc_bitmap_alloc());
    hwloc_bitmap_only(set, processor);
    int failure = hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0 ? 0 : errno;
    hwloc_bitmap_free(set);
    return failure;
}

static void *work(void *argument)
{
    struct crew_worker *worker = argument;
    struct memory_iterations *iterations = worker->iterations;
    atomic_store(&worker->failure, crew_bind(worker->topology, worker->processor));
    bool is_last = false;
    while (!is_last && atomic_load(&worker->failure) == 0) {
        is_last = atomic_load(&worker->stop);
        write_block(worker->block, worker->block_bytes, (char)iterations->n);
        ARRAY_ADD(iterations->end_s, iterations->n, clock_now_s());
        atomic_store(&worker->n_done, iterations->n);
    }
    return NULL;
}

static bool has_begun(const struct memory_crew *crew)
{
    for (size_t i = 0; i < crew->n; i++)
        if (atomic_load(&crew->workers[i].n_done) == 0 && atomic_load(&crew->workers[i].failure) == 0)
            return false;
    return true;
}

/* Returns the first failure of a thread, 0 if there is none. */
static int failure_of(const struct memory_crew *crew, size_t *which)
{
    for (*which = 0; *which < crew->n; ++*which)
        if (atomic_load(&crew->workers[*which].failure) != 0)
            return atomic_load(&crew->workers[*which].failure);
    return 0;
}

/* Ends the threads. Each does one more whole iteration before, which begins after this call. */
static void crew_stop(struct memory_crew *crew)
{
    for (size_t i = 0; i < crew->n; i++)
        atomic_store(&crew->workers[i].stop, true);
    for (size_t i = 0; i < crew->n; i++)
        pthread_join(crew->workers[i].thread, NULL);
}

static void crew_release(struct memory_crew *crew)
{
    for (size_t i = 0; i < crew->n; i++)
        free(crew->iterations[i].end_s);
    free(crew->iterations);
    free(crew->workers);
    *crew = (struct memory_crew){0};
}

/* Starts n threads: threads[n] are the hardware threads to bind them to, blocks[n] what they write. Returns once each
 * has done an iteration: 0, or -1 with the reason, when none runs. */
static int crew_start(struct memory_crew *crew, hwloc_topology_t topology, size_t n, const unsigned *threads,
                      void *const *blocks, size_t block_bytes, struct error *error)
{
    int failure = 0;
    *crew = (struct memory_crew){.workers = xcalloc(n, sizeof *crew->workers),
                                 .iterations = xcalloc(n, sizeof *crew->iterations)};
    for (size_t i = 0; i < n && failure == 0; i++) {
        struct crew_worker *worker = &crew->workers[i];
        worker->topology = topology;
        worker->processor = threads[i];
        worker->block = blocks[i];
        worker->block_bytes = block_bytes;
        worker->iterations = &crew->iterations[i];
        failure = pthread_create(&worker->thread, NULL, work, worker);
        crew->n += failure == 0;
    }
    while (failure == 0 && !has_begun(crew))
        clock_sleep_s(POLL_S);
    size_t which = crew->n;
    if (failure == 0)
        failure = failure_of(crew, &which);
    if (failure == 0)
        return 0;
    error_set(error, "computing thread %zu, for processor %u: %s", which, threads[which < n ? which : n - 1],
              strerror(failure));
    crew_stop(crew);
    crew_release(crew);
    return -1;
}

/* Messages go from rank 1 to rank 0, which asks for each one. A sender that waits to be asked after each message would
 * leave a gap between messages, and one that does not know how many there are could not stop: so a request is always
 * one ahead. */
enum { STREAM_RECEIVER = 0, STREAM_SENDER = 1 };
/* Size of a message of the paper, B, and the largest here. */
enum { STREAM_BYTES = 64000000 };

enum { TAG_REQUEST = 1, TAG_MESSAGE = 2 };
/* Time for which an idle sender polls before it sleeps between polls, s: on the same machine it must not disturb the
 * receiver's samples without messages. */
#define BUSY_S  200e-6
#define SLEEP_S 500e-6

/* Request for a message of that size, after a delay; 0 bytes end the stream. */
struct request {
    int bytes;
    double delay_s;
};

static void stream_ask(MPI_Comm comm, int bytes, double delay_s)
{
    struct request request;
    memset(&request, 0, sizeof request);
    request.bytes = bytes;
    request.delay_s = delay_s;
    MPI_Send(&request, sizeof request, MPI_BYTE, STREAM_SENDER, TAG_REQUEST, comm);
}

static struct request next_request(MPI_Comm comm)
{
    struct request request;
    double begin_s = clock_now_s();
    for (int found = 0; !found;) {
        MPI_Iprobe(STREAM_RECEIVER, TAG_REQUEST, comm, &found, MPI_STATUS_IGNORE);
        if (!found && clock_now_s() - begin_s > BUSY_S)
            clock_sleep_s(SLEEP_S);
    }
    MPI_Recv(&request, sizeof request, MPI_BYTE, STREAM_RECEIVER, TAG_REQUEST, comm, MPI_STATUS_IGNORE);
    return request;
}

/* Sends, on rank 1, what rank 0 asks for, until the end. */
static void stream_serve(MPI_Comm comm)
{
    char *message = xmalloc(STREAM_BYTES);
    memset(message, 1, STREAM_BYTES);
    for (struct request request; (request = next_request(comm)).bytes > 0;) {
        if (request.delay_s > 0)
            clock_sleep_s(request.delay_s);
        MPI_Send(message, request.bytes, MPI_BYTE, STREAM_RECEIVER, TAG_MESSAGE, comm);
    }
    free(message);
}

/* Receives messages of bytes into buffer, one after the other, for seconds behind the first one, and at least that many
 * behind it. Appends their times. */
static void stream_receive(MPI_Comm comm, void *buffer, int bytes, double seconds, size_t least,
                           struct memory_messages *messages)
{
    double end_s = 0;
    stream_ask(comm, bytes, 0);
    for (bool more = true; more;) {
        more = messages->n < least || clock_now_s() < end_s;
        if (more)
            stream_ask(comm, bytes, 0);
        struct memory_window time = {.begin_s = clock_now_s()};
        MPI_Recv(buffer, bytes, MPI_BYTE, STREAM_SENDER, TAG_MESSAGE, comm, MPI_STATUS_IGNORE);
        time.end_s = clock_now_s();
        if (messages->n == 0)
            end_s = time.end_s + seconds;
        ARRAY_ADD(messages->times, messages->n, time);
    }
}

/* Waits in MPI_Recv for a message that the sender sends only after so many seconds. */
static void stream_wait(MPI_Comm comm, void *buffer, double seconds)
{
    stream_ask(comm, 1, seconds);
    MPI_Recv(buffer, 1, MPI_BYTE, STREAM_SENDER, TAG_MESSAGE, comm, MPI_STATUS_IGNORE);
}

/* Size of a trial message, large enough for rendezvous and single copy, short even on a slow network; number of them.
 */
enum { LOOK_BYTES = 4000000, LOOK_MESSAGES = 2 };
#define LOOK_S 0.25
#define IDLE_S 0.1

/* Returns what the TCP sockets of this process have received since they were opened. */
static uint64_t tcp_received(void)
{
    uint64_t bytes = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct tcp_info info = {.tcpi_bytes_received = 0};
        socklen_t size = sizeof info;
        char *end;
        long descriptor = strtol(entry->d_name, &end, 10);
        if (*end == '\0' && end != entry->d_name &&
            getsockopt((int)descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
            bytes += info.tcpi_bytes_received;
    }
    if (folder != NULL)
        closedir(folder);
    return bytes;
}

static double system_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
}

/* Receives for about half a second into buffer, of STREAM_BYTES, and judges. For rank 0; rank 1 serves. */
static void transport_find(MPI_Comm comm, void *buffer, struct transport *transport)
{
    struct transport_use use = {0};
    struct memory_messages first = {0}, messages = {0};
    /* Connections are made, and pages prepared, by the first messages. */
    stream_receive(comm, buffer, LOOK_BYTES, 0, 1, &first);
    uint64_t tcp_before = tcp_received();
    double system_before_s = system_s(), begin_s = clock_now_s();
    stream_receive(comm, buffer, LOOK_BYTES, LOOK_S, LOOK_MESSAGES, &messages);
    use.seconds = clock_now_s() - begin_s;
    use.system_s = system_s() - system_before_s;
    use.bytes = (uint64_t)messages.n * LOOK_BYTES;
    use.tcp_bytes = tcp_received() - tcp_before;
    free(first.times);
    free(messages.times);
    system_before_s = system_s();
    begin_s = clock_now_s();
    stream_wait(comm, buffer, IDLE_S);
    use.idle_share = (system_s() - system_before_s) / (clock_now_s() - begin_s);
    transport_judge(&use, transport);
}

#define MEMORY_CSV_HEADER "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa,at_s"

/* What rank 0 knows. */
struct program {
    MPI_Comm comm;
    struct memory_arguments options;
    hwloc_topology_t topology;
    struct memory_seats seats;
    struct memory_sender sender;
    struct transport transport;
    struct memory_data data;
    struct memory_plan plan;
    double begin_s;  /* when at_s is 0 */
    double sample_s; /* steady time of a sample, at least */
};

/* Messages of a sample behind the first, at least; tries of a sample that was too short, and by which factor each is
 * longer. */
enum { MESSAGES_LEAST = 3, TRIES = 4, LONGER = 4 };

/* Result of one sample. */
struct contended_sample {
    uint64_t computed_bytes;
    double computed_s;
    uint64_t received_bytes;
    double received_s;
};

static void print_numa(uint32_t numa)
{
    if (numa != MEMORY_NO_DATA)
        printf("%u", numa);
    putchar(',');
}

static void memory_write_row(const struct program *program, const struct memory_place *place,
                             enum memory_variant variant, uint64_t bytes, double seconds, double at_s)
{
    printf(MEMORY_BENCHMARK ",%s,%s,%llu,%u,%.9g,%u,", memory_variant_name[variant], level_name[program->seats.level],
           (unsigned long long)bytes, place->n, seconds, program->options.launch);
    print_numa(place->computing_numa);
    print_numa(place->message_numa);
    printf("%.3f\n", at_s);
}

/* Writes the sample in one piece, so that an interrupted run ends between samples. */
static void keep(const struct program *program, struct memory_task *task, const struct contended_sample *sample)
{
    const struct memory_place *place = &task->place;
    bool computes = place->n > 0, receives = place->message_numa != MEMORY_NO_DATA;
    double at_s = clock_now_s() - program->begin_s;
    if (computes)
        memory_write_row(program, place, place->variant, sample->computed_bytes, sample->computed_s, at_s);
    if (receives)
        memory_write_row(program, place, computes ? MEMORY_MESSAGE : place->variant, sample->received_bytes,
                         sample->received_s, at_s);
    fflush(stdout);
    point_add(&task->samples, computes ? sample->computed_s / (double)sample->computed_bytes
                                       : sample->received_s / (double)sample->received_bytes);
}

/* Finds the part of a sample that counts. Returns false where it was too short. */
static bool evaluate(const struct memory_crew *crew, const struct memory_messages *messages, size_t block_bytes,
                     struct contended_sample *sample)
{
    struct memory_window window;
    if (crew->n > 0) {
        if (!memory_steady_window(crew->iterations, crew->n, &window))
            return false;
        sample->computed_bytes = memory_steady_bytes(crew->iterations, crew->n, block_bytes, &window);
        sample->computed_s = window.end_s - window.begin_s;
    }
    if (messages->n == 0)
        return true;
    size_t n = memory_steady_messages(messages, crew->n > 0 ? &window : NULL, &sample->received_s);
    sample->received_bytes = (uint64_t)n * STREAM_BYTES;
    return n > 0;
}

/* Lets the threads of a task compute and its messages come for so long. Returns 1; 0 where that was too short; -1 with
 * the reason. */
static int try_sample(struct program *program, const struct memory_place *place, double seconds,
                      struct contended_sample *sample, struct error *error)
{
    struct memory_crew crew = {0};
    struct memory_messages messages = {0};
    struct memory_data *data = &program->data;
    void *const *blocks = NULL;
    void *buffer = NULL;
    if (place->n > 0 && (blocks = memory_data_blocks(data, place->computing_numa, place->n, error)) == NULL)
        return -1;
    if (place->message_numa != MEMORY_NO_DATA &&
        (buffer = memory_data_buffer(data, place->message_numa, error)) == NULL)
        return -1;
    if (place->n > 0 &&
        crew_start(&crew, data->topology, place->n, program->seats.cores, blocks, data->block_bytes, error) != 0)
        return -1;
    if (buffer != NULL)
        stream_receive(program->comm, buffer, STREAM_BYTES, seconds, MESSAGES_LEAST, &messages);
    else
        clock_sleep_s(seconds);
    crew_stop(&crew);
    int result = evaluate(&crew, &messages, data->block_bytes, sample);
    crew_release(&crew);
    free(messages.times);
    return result;
}

static int take_sample(struct program *program, struct memory_task *task, struct error *error)
{
    double seconds = program->sample_s;
    struct contended_sample sample = {0};
    int result = 0;
    for (int i = 0; i < TRIES && result == 0; i++, seconds *= LONGER)
        result = try_sample(program, &task->place, seconds, &sample, error);
    if (result == 0)
        return error_set(error,
                         "%u computing cores on NUMA node %u: in samples of up to %.1f s they never all computed "
                         "at the same time; stop other programs on them",
                         task->place.n, task->place.computing_numa, seconds / LONGER);
    if (result > 0)
        keep(program, task, &sample);
    return result > 0 ? 0 : -1;
}

/* Measures until the plan has nothing left. The calling thread receives, bound by the caller. Returns 0, or -1 with the
 * reason. */
static int memory_measure_all(struct program *program, struct error *error)
{
    size_t n_done = 0;
    double begin_s = clock_now_s();
    for (struct memory_task *task; (task = memory_plan_next(&program->plan)) != NULL; n_done++) {
        if (take_sample(program, task, error) != 0)
            return -1;
        size_t left = memory_plan_left(&program->plan);
        fprintf(stderr, MEASURE_NOTE "progress " MEMORY_BENCHMARK " %zu %zu %.0f\n", n_done + 1, n_done + 1 + left,
                (clock_now_s() - begin_s) / (double)(n_done + 1) * (double)left);
    }
    return 0;
}

/* Time of a sample unless given, and its bounds, s. */
#define MEMORY_SAMPLE_S 0.5
#define SAMPLE_LEAST_S  0.05
#define SAMPLE_MOST_S   1.0
/* Share of the time for samples; the rest goes to starting threads and to messages that are dropped. */
#define SAMPLE_SHARE 0.8

/* Note of a refusal, which ends with exit code 0: Open MPI's launcher takes a second to end where a process failed. */
#define REFUSED MEASURE_NOTE "refused "

enum { ALLOWED_CORES_NEEDED = 2 };

/* Place of a rank, for rank 0. */
struct self {
    uint64_t machine;
    cpu_set_t cpus;
};

static int refuse_cores(const struct memory_seats *seats, uint32_t needed)
{
    if (seats->n_cores >= needed)
        return 0;
    if (seats->n_cores < seats->n_cores_socket)
        fprintf(stderr,
                REFUSED "rank 0 may use %u of the %u cores of its socket, expected %u or more, of which one receives: "
                        "launch it unbound, by mpiexec --bind-to none (Open MPI), mpiexec -bind-to none (MPICH), srun "
                        "--cpu-bind=none\n",
                seats->n_cores, seats->n_cores_socket, needed);
    else
        fprintf(stderr, REFUSED "the socket has %u core%s, expected %u or more, of which one receives\n",
                seats->n_cores, seats->n_cores == 1 ? "" : "s", needed);
    return 1;
}

/* Notes all reasons against measuring on this machine; returns how many there are. */
static int refuse(const struct program *program)
{
    bool allowed = program->options.allow_cpu_copy;
    int n = refuse_cores(&program->seats, allowed ? ALLOWED_CORES_NEEDED : MEMORY_CORES_NEEDED);
    if (allowed)
        return n;
    if (!hwloc_topology_is_thissystem(program->topology))
        n += fprintf(stderr, REFUSED "the topology is not this machine's (HWLOC_SYNTHETIC, HWLOC_XMLFILE): nothing "
                                     "can be bound by it\n") > 0;
    if (program->sender.same_machine)
        n += fprintf(stderr, REFUSED "both processes are on one machine, where a processor copies what is received "
                                     "(shared memory, loopback, network namespaces): expected rank 1 on a second "
                                     "node\n") > 0;
    else if (program->transport.is_copy)
        n += fprintf(stderr,
                     REFUSED "a processor copies what is received (%s): expected a network card that writes to the "
                             "memory by itself\n",
                     program->transport.seen) > 0;
    return n;
}

/* Notes how to read the samples. */
static void memory_note(const struct program *program)
{
    const struct memory_seats *seats = &program->seats;
    bool is_copy = program->sender.same_machine || program->transport.is_copy;
    fprintf(stderr, MEASURE_NOTE "memory cores %u\n", seats->n_cores);
    fprintf(stderr, MEASURE_NOTE "memory numa_nodes %u\n", seats->numa_nodes);
    fprintf(stderr, MEASURE_NOTE "memory numa_all %u\n", seats->numa_all);
    fprintf(stderr, MEASURE_NOTE "memory method %s\n", is_copy ? "cpu-copy" : "nic");
    fprintf(stderr, MEASURE_NOTE "memory stores " STORES "\n");
    fprintf(stderr, MEASURE_NOTE "memory block_bytes %zu\n", program->data.block_bytes);
    fprintf(stderr, MEASURE_NOTE "memory cache_bytes %llu\n",
            (unsigned long long)memory_data_cache_bytes(&program->data));
    fprintf(stderr, MEASURE_NOTE "messages: %s\n", program->transport.seen);
    if (seats->n_cores < seats->n_cores_socket)
        fprintf(stderr, MEASURE_NOTE "rank 0 may use %u of the %u cores of its socket\n", seats->n_cores,
                seats->n_cores_socket);
    if (!hwloc_topology_is_thissystem(program->topology))
        fprintf(stderr, MEASURE_NOTE "the topology is not this machine's, nothing is bound\n");
}

/* Takes the samples that an earlier run has left. */
static int memory_resume(const char *path, struct memory_plan *plan, struct error *error)
{
    struct memory_samples samples;
    if (path == NULL)
        return 0;
    if (memory_samples_read_csv(path, &samples, error) != 0)
        return -1;
    for (size_t i = 0; i < samples.n_samples; i++) {
        struct memory_task *task = memory_plan_find(plan, &samples.samples[i].place);
        if (task != NULL)
            point_add(&task->samples, 1 / samples.samples[i].bytes_per_s);
    }
    memory_samples_release(&samples);
    return 0;
}

static double sample_seconds(const struct memory_arguments *options, const struct memory_plan *plan)
{
    size_t left = memory_plan_left(plan);
    double seconds = MEMORY_SAMPLE_S;
    if (options->seconds > 0 && left > 0)
        seconds = SAMPLE_SHARE * (options->seconds - options->spent_s) / (double)left;
    return seconds < SAMPLE_LEAST_S ? SAMPLE_LEAST_S : seconds > SAMPLE_MOST_S ? SAMPLE_MOST_S : seconds;
}

static int measure(struct program *program, struct error *error)
{
    const struct memory_seats *seats = &program->seats;
    const struct memory_asked asked = {.n_computing = seats->n_computing,
                                       .numa_nodes = seats->numa_nodes,
                                       .numa_all = seats->numa_all,
                                       .all_placements = program->options.all_placements,
                                       .skip_beyond_peak = program->options.skip_beyond_peak,
                                       .seed = program->options.seed};
    int failure = crew_bind(program->topology, seats->receiving);
    if (failure != 0)
        return error_set(error, "cannot be bound to processor %u: %s", seats->receiving, strerror(failure));
    memory_data_make(program->topology, seats, STREAM_BYTES, STORES_CACHED, &program->data);
    memory_note(program);
    memory_plan_make(&asked, &program->plan);
    int result = memory_resume(program->options.resume_path, &program->plan, error);
    if (result == 0) {
        program->begin_s = clock_now_s() - program->options.spent_s;
        program->sample_s = sample_seconds(&program->options, &program->plan);
        puts(MEMORY_CSV_HEADER);
        result = memory_measure_all(program, error);
    }
    memory_plan_release(&program->plan);
    memory_data_release(&program->data);
    return result;
}

/* Finds out how messages come into the memory, if they are measured and that is not known: within one machine a
 * processor copies them. */
static void memory_look(struct program *program)
{
    if (program->seats.n_cores < ALLOWED_CORES_NEEDED ||
        (program->sender.same_machine && !program->options.allow_cpu_copy))
        return;
    void *buffer = xmalloc(STREAM_BYTES);
    transport_find(program->comm, buffer, &program->transport);
    free(buffer);
}

/* Refuses or measures, on rank 0; rank 1 serves meanwhile. */
static int memory_lead(struct program *program)
{
    const struct memory_seats *seats = &program->seats;
    struct error error;
    memory_look(program);
    if (seats->numa_all == seats->numa_nodes)
        fprintf(stderr,
                MEASURE_NOTE "left_out memory, remote: the machine has %u NUMA node%s, none of another socket\n",
                seats->numa_all, seats->numa_all == 1 ? "" : "s");
    if (refuse(program) > 0)
        return EXIT_DONE;
    return measure(program, &error) == 0 ? EXIT_DONE : fail("rank 0: %s", error.text);
}

/* Loads the topology and chooses the seats. */
static int find_seats(struct program *program)
{
    if (hwloc_topology_init(&program->topology) != 0 || hwloc_topology_load(program->topology) != 0)
        return -1;
    hwloc_bitmap_t allowed = or_no_memory(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(program->topology, allowed, HWLOC_CPUBIND_THREAD) != 0)
        hwloc_bitmap_copy(allowed, hwloc_topology_get_topology_cpuset(program->topology));
    memory_seats_find(program->topology, allowed, &program->sender, &program->seats);
    hwloc_bitmap_free(allowed);
    return 0;
}

static int lead_from_seats(struct program *program, const struct self *selves)
{
    int bound = -1;
    program->sender =
        (struct memory_sender){.same_machine = selves[STREAM_RECEIVER].machine == selves[STREAM_SENDER].machine,
                               .cpus = selves[STREAM_SENDER].cpus};
    if (find_seats(program) != 0)
        abort_all("hwloc cannot load the topology of this machine");
    if (program->seats.sender_is_bound)
        bound = (int)program->seats.sending;
    MPI_Bcast(&bound, 1, MPI_INT, STREAM_RECEIVER, program->comm);
    int code = memory_lead(program);
    stream_ask(program->comm, 0, 0);
    memory_seats_release(&program->seats);
    hwloc_topology_destroy(program->topology);
    return code;
}

/* Sends on rank 1 what rank 0 asks for, from a core of its own where there is one. */
static void follow(MPI_Comm comm)
{
    int bound;
    MPI_Bcast(&bound, 1, MPI_INT, STREAM_RECEIVER, comm);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (bound >= 0) {
        CPU_SET((unsigned)bound, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus); /* it was among those that it may use */
    }
    stream_serve(comm);
}

/* Runs the two processes; collective. Returns the exit code, the same on both. */
static int run(struct program *program, int rank)
{
    struct error error;
    struct placement placement;
    int *host;
    if (place_find(program->comm, stderr, &placement, &host, &error) != 0)
        return rank == STREAM_RECEIVER ? error_report(&error) : EXIT_WORK_FAILED;
    placement_release(&placement);
    free(host);
    struct self own, selves[2];
    memset(&own, 0, sizeof own);
    own.machine = sharing_machine();
    binding_processors(&own.cpus);
    MPI_Gather(&own, sizeof own, MPI_BYTE, selves, sizeof own, MPI_BYTE, STREAM_RECEIVER, program->comm);
    int code = EXIT_DONE;
    if (rank == STREAM_RECEIVER)
        code = lead_from_seats(program, selves);
    else
        follow(program->comm);
    MPI_Bcast(&code, 1, MPI_INT, STREAM_RECEIVER, program->comm);
    return code;
}

static int memory_main(int argc, char **argv)
{
    int rank, size, code = 0;
    struct program program = {.comm = MPI_COMM_WORLD};
    mpi_job_init(&argc, &argv, MPI_THREAD_FUNNELED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == STREAM_RECEIVER) {
        mpi_job_note(size);
        code = memory_arguments_parse(argc, argv, &program.options);
    }
    MPI_Bcast(&code, 1, MPI_INT, STREAM_RECEIVER, MPI_COMM_WORLD);
    if (code == 0 && size == 2)
        code = run(&program, rank);
    else if (code == 0 && rank == STREAM_RECEIVER)
        fprintf(stderr, REFUSED "the launcher started %d processes: expected two, one on each of two nodes\n", size);
    MPI_Barrier(MPI_COMM_WORLD); /* MPICH over TCP of UCX hangs in MPI_Finalize where a message has just come */
    MPI_Finalize();
    return code < 0 ? EXIT_DONE : code;
}

const struct benchmark_program memory_contention_program = {
    .name = "memory_contention",
    .summary = "What computing cores and a message that is received leave each other of the memory's bandwidth.",
    .run = memory_main,
};
