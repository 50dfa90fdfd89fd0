/* The memory benchmark: what the cores of a socket and a message that is received leave each other of the memory's
 * bandwidth (A. Denis, E. Jeannot, P. Swartvagher, Modeling Memory Contention between Communications and Computations
 * in Distributed HPC Systems, RR-9451, 2022, section 4.1.1). Rank 0 computes and receives, rank 1 on another node
 * sends.
 *
 * Where the machine cannot show that, it says why (`mpistair-note: refused REASON`, a line a reason) before it measures
 * anything. What it measures is of this machine: no number is ever filled in. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/benchmark/memory/memory_crew.h"
#include "calibrate/benchmark/memory/memory_measure.h"
#include "calibrate/benchmark/memory/memory_arguments.h"
#include "calibrate/benchmark/memory/memory_stream.h"
#include "calibrate/benchmark/memory/memory_transport.h"
#include "calibrate/measure/binding.h"
#include "calibrate/measure/rank_place.h"
#include "calibrate/measure/mpi_job.h"
#include "calibrate/measure/sharing.h"
#include "share/base/monotonic.h"
#include "share/base/memory.h"

/* A sample takes so long where nothing is asked for, and is bounded by the others. */
#define MEMORY_SAMPLE_S 0.5
#define SAMPLE_LEAST_S  0.05
#define SAMPLE_MOST_S   1.0
/* Is the share of the time that is left to samples, beside starts of threads and messages to be dropped. */
#define SAMPLE_SHARE 0.8

/* A refusal is an answer, with exit code 0: Open MPI's launcher takes a second to end where a process failed. */
#define REFUSED MEASURE_NOTE "refused "

enum { ALLOWED_CORES_NEEDED = 2 };

/* Tells rank 0 where a rank is. */
struct self {
    uint64_t machine;
    cpu_set_t cpus;
};

/* Holds what rank 0 knows. */
struct program {
    MPI_Comm comm;
    struct memory_arguments options;
    hwloc_topology_t topology;
    struct memory_seats seats;
    struct memory_sender sender;
    struct transport transport;
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

/* Names all reasons against measuring on this machine; returns how many there are. */
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

/* Tells what samples mean. */
static void memory_note(const struct program *program, const struct memory_data *data)
{
    const struct memory_seats *seats = &program->seats;
    bool is_copy = program->sender.same_machine || program->transport.is_copy;
    fprintf(stderr, MEASURE_NOTE "memory cores %u\n", seats->n_cores);
    fprintf(stderr, MEASURE_NOTE "memory numa_nodes %u\n", seats->numa_nodes);
    fprintf(stderr, MEASURE_NOTE "memory numa_all %u\n", seats->numa_all);
    fprintf(stderr, MEASURE_NOTE "memory method %s\n", is_copy ? "cpu-copy" : "nic");
    fprintf(stderr, MEASURE_NOTE "memory stores %s\n", crew_stores);
    fprintf(stderr, MEASURE_NOTE "memory block_bytes %zu\n", data->block_bytes);
    fprintf(stderr, MEASURE_NOTE "memory cache_bytes %llu\n", (unsigned long long)memory_data_cache_bytes(data));
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

static int measure_plan(const struct program *program, struct memory_data *data, struct memory_plan *plan,
                        struct error *error)
{
    const struct memory_arguments *options = &program->options;
    if (memory_resume(options->resume_path, plan, error) != 0)
        return -1;
    struct memory_measure measure = {.comm = program->comm,
                                     .seats = &program->seats,
                                     .data = data,
                                     .plan = plan,
                                     .launch = options->launch,
                                     .begin_s = clock_now_s() - options->spent_s,
                                     .sample_s = sample_seconds(options, plan)};
    puts(MEMORY_CSV_HEADER);
    return memory_measure_all(&measure, error);
}

/* Binds the calling thread to one processor. */
static int bind_here(hwloc_topology_t topology, unsigned processor, struct error *error)
{
    hwloc_bitmap_t set = or_no_memory(hwloc_bitmap_alloc());
    hwloc_bitmap_only(set, processor);
    int result = hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD);
    if (result != 0)
        error_set(error, "cannot be bound to processor %u: %s", processor, strerror(errno));
    hwloc_bitmap_free(set);
    return result;
}

static int measure(const struct program *program, struct error *error)
{
    const struct memory_seats *seats = &program->seats;
    const struct memory_asked asked = {.n_computing = seats->n_computing,
                                       .numa_nodes = seats->numa_nodes,
                                       .numa_all = seats->numa_all,
                                       .all_placements = program->options.all_placements,
                                       .skip_beyond_peak = program->options.skip_beyond_peak,
                                       .seed = program->options.seed};
    struct memory_data data;
    struct memory_plan plan;
    if (bind_here(program->topology, seats->receiving, error) != 0)
        return -1;
    memory_data_make(program->topology, seats, STREAM_BYTES, crew_needs_large_blocks, &data);
    memory_note(program, &data);
    memory_plan_make(&asked, &plan);
    int result = measure_plan(program, &data, &plan, error);
    memory_plan_release(&plan);
    memory_data_release(&data);
    return result;
}

/* Tells what is not measured on this machine, though the rest is. */
static void note_left_out(const struct memory_seats *seats)
{
    if (seats->numa_all == seats->numa_nodes)
        fprintf(stderr,
                MEASURE_NOTE "left_out memory, remote: the machine has %u NUMA node%s, none of another socket\n",
                seats->numa_all, seats->numa_all == 1 ? "" : "s");
}

/* Looks how messages come into the memory, where they would be measured and that is not known: within one machine a
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

/* Refuses or measures; rank 1 serves meanwhile. */
static int memory_lead(struct program *program)
{
    struct error error;
    memory_look(program);
    note_left_out(&program->seats);
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
        abort_all("hwloc cannot tell the topology of this machine");
    if (program->seats.sender_is_bound)
        bound = (int)program->seats.sending;
    MPI_Bcast(&bound, 1, MPI_INT, STREAM_RECEIVER, program->comm);
    int code = memory_lead(program);
    stream_end(program->comm);
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
