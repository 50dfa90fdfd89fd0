/* Times the replay of a halo exchange on a three-dimensional grid with an allreduce a step, and what memory it
 * takes.
 *
 * usage: bench_run [--modelled] [RANKS MESSAGES]    (ranks: a power of two; default: 1,024 ranks from 1e5 to 1e7
 * messages, then 65,536 ranks, one step; --modelled: the allreduce goes by messages as well) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/run/engine/simulate.h"
#include "predictor/terms/topology.h"
#include "share/base/monotonic.h"

enum { RANKS_A_NODE = 32, RANKS_A_SOCKET = 16, NEIGHBOURS = 6, ALLREDUCE_NS = 20000, FACE_BYTES = 60000 };

static void die(const char *what)
{
    fprintf(stderr, "bench_run: %s\n", what);
    exit(1);
}

struct grid {
    uint32_t side[3], n_ranks;
};

/* Returns a grid of that many ranks. */
static struct grid grid_of(uint32_t n_ranks)
{
    struct grid grid = {{1, 1, 1}, n_ranks};
    for (uint32_t n = n_ranks, i = 0; n > 1; n /= 2, i = (i + 1) % 3)
        grid.side[i] *= 2;
    return grid;
}

/* Returns the rank next to this one: direction 0 .. 5, around the edges. */
static uint32_t neighbour(const struct grid *grid, uint32_t rank, int direction)
{
    uint32_t stride = 1;
    for (int i = 0; i < direction / 2; i++)
        stride *= grid->side[i];
    uint32_t side = grid->side[direction / 2], at = rank / stride % side;
    uint32_t to = (at + (direction % 2 == 0 ? 1 : side - 1)) % side;
    return rank + (to - at) * stride;
}

static void add(struct run_program *program, struct run_step step)
{
    if (run_program_step(program, &step) != 0)
        die("no memory");
}

/* Adds one step of a rank: six receives, six sends, their wait, the allreduce. */
static void add_exchange(struct run_program *program, uint32_t rank, const struct grid *grid, uint32_t first,
                         uint32_t member, double compute_s)
{
    const uint8_t whole = STEP_ENTERS | STEP_LEAVES;
    uint32_t list = (uint32_t)program->n_waits;
    for (int d = 0; d < NEIGHBOURS; d++) { /* what comes from there was sent in the other direction */
        uint32_t message = first + neighbour(grid, rank, d) * NEIGHBOURS + (uint32_t)(d ^ 1);
        add(program, (struct run_step){.object = message, .kind = STEP_RECEIVE, .place = rank, .flags = whole});
        run_program_wait(program, run_operation(message, OPERATION_RECEIVE));
    }
    for (int d = 0; d < NEIGHBOURS; d++) {
        uint32_t message = first + rank * NEIGHBOURS + (uint32_t)d;
        add(program, (struct run_step){.object = message,
                                       .kind = STEP_SEND,
                                       .place = rank,
                                       .flags = whole,
                                       .compute_s = d == 0 ? compute_s : 0});
        run_program_wait(program, run_operation(message, OPERATION_SEND));
    }
    add(program,
        (struct run_step){.object = list, .count = 2 * NEIGHBOURS, .kind = STEP_WAIT, .place = rank, .flags = whole});
    add(program, (struct run_step){.object = member, .kind = STEP_COLLECTIVE, .place = rank, .flags = whole});
}

static void make(struct run_program *program, const struct grid *grid, uint32_t n_steps)
{
    uint32_t n_ranks = grid->n_ranks;
    run_program_ranks(program, n_ranks);
    run_program_site(program, "MPI_Waitall", -1);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        run_program_place(program, rank, 0);
    for (uint32_t step = 0; step < n_steps; step++) {
        struct run_collective all = {.first_member = step * n_ranks,
                                     .n_members = n_ranks,
                                     .root = UINT32_MAX,
                                     .dependence = DEPENDS_ON_ALL,
                                     .kind = COLLECTIVE_ALLREDUCE};
        run_program_collective(program, &all);
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            struct run_member member = {.after_s = ALLREDUCE_NS * 1e-9, .bytes = 8, .rank = rank, .collective = step};
            if (run_program_member(program, &member) != 0)
                die("no memory");
            for (int d = 0; d < NEIGHBOURS; d++) {
                struct run_message message = {
                    .bytes = FACE_BYTES + rank % 7, .src = rank, .dst = neighbour(grid, rank, d)};
                if (run_program_message(program, &message) != 0)
                    die("no memory");
            }
        }
    }
    uint64_t chance = 88172645463325252U;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        run_program_strand(program, rank, 0);
        for (uint32_t step = 0; step < n_steps; step++) {
            chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
            double compute_s = 1e-3 + 1e-4 * (double)(chance >> 40) / (double)(1 << 24);
            add_exchange(program, rank, grid, step * n_ranks * NEIGHBOURS, step * n_ranks + rank, compute_s);
        }
        program->strands[rank].tail_place = rank;
    }
}

static void add_row(struct machine *machine, enum level level, enum machine_protocol protocol, const char *quantity,
                    uint64_t n, double value, const char *unit)
{
    struct machine_parameter row = {.level = level, .protocol = protocol, .n = n, .value = value};
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    machine_append(machine, &row);
}

/* Says what of a run differs from a plain one: collectives as messages, network cards with a backlog, searched queues,
 * loaded links. */
enum way { RECORDED, MODELLED, BACKLOG, QUEUES, LINKS };

static void run(struct grid grid, uint32_t n_steps, enum run_law law, enum way way)
{
    static const char *const way_name[] = {"recorded", "modelled", "backlog", "queues", "links"};
    struct run_program program = {0};
    struct placement placement;
    struct machine machine = {.name = "bench"};
    struct simulation_result result;
    struct error error;
    make(&program, &grid, n_steps);
    placement_init(&placement, program.n_ranks);
    for (uint32_t rank = 0; rank < program.n_ranks; rank++) {
        placement.node[rank] = rank / RANKS_A_NODE;
        placement.socket[rank] = rank % RANKS_A_NODE / RANKS_A_SOCKET;
    }
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        add_row(&machine, level, PROTOCOL_EAGER, "tau", MACHINE_NO_N, 1e-6, "s");
        add_row(&machine, level, PROTOCOL_EAGER, "bw", 1, 5e9, "B/s");
        add_row(&machine, level, PROTOCOL_RENDEZVOUS, "tau", MACHINE_NO_N, 2e-6, "s");
        add_row(&machine, level, PROTOCOL_RENDEZVOUS, "bw", 1, 1e10, "B/s");
        add_row(&machine, level, PROTOCOL_RENDEZVOUS, "bw", 16, 6e10, "B/s");
        add_row(&machine, level, PROTOCOL_RENDEZVOUS, "threshold", MACHINE_NO_N, 8192, "B");
    }
    if (way == BACKLOG) {
        add_row(&machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog", MACHINE_NO_N, 1e5, "B");
        add_row(&machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog_pair", MACHINE_NO_N, 1e6, "B");
        add_row(&machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "progress", MACHINE_NO_N, 3, "1");
    }
    add_row(&machine, LEVEL_COUNT, PROTOCOL_ANY, "gamma", MACHINE_NO_N, 1e-8, "s");
    add_row(&machine, LEVEL_COUNT, PROTOCOL_ANY, "delta", MACHINE_NO_N, 1e-11, "s/B");
    struct topology torus = {.kind = TOPOLOGY_TORUS, .n_levels = 3, .size = {16, 16, 8}, .nodes_per_router = 1};
    if (topology_measure(&torus, &error) != 0)
        die(error.text);
    const struct simulation_options options = {.law = law,
                                               .terms = way == QUEUES  ? RUN_TERM_QUEUE
                                                        : way == LINKS ? RUN_TERM_CONTENTION
                                                                       : 0,
                                               .topology = &torus,
                                               .model_collectives = way == MODELLED};
    double begin_s = clock_now_s();
    if (run_program_check(&program, &error) != 0 ||
        simulate(&program, &machine, &placement, &options, &result, &error) != 0)
        die(error.text);
    double seconds = clock_now_s() - begin_s;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-11s %-8s %6zu ranks %9zu messages  %8.3f s  %6.0f ns a message  %6.0f MB  run of %.6f s\n",
           run_law_table[law].name, way_name[way], program.n_ranks, program.n_messages, seconds,
           seconds * 1e9 / (double)program.n_messages, (double)usage.ru_maxrss / 1024, result.end_s);
    fflush(stdout);
}

/* Runs it in a process of its own, so that the memory is that of one run. */
static void run_apart(uint32_t n_ranks, double messages, enum run_law law, enum way way)
{
    double n_steps = fmax(messages / NEIGHBOURS / n_ranks + 0.5, 1);
    pid_t child = fork();
    if (child == 0) {
        run(grid_of(n_ranks), (uint32_t)n_steps, law, way);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        die("a run failed");
}

int main(int argc, char **argv)
{
    bool modelled = argc > 1 && strcmp(argv[1], "--modelled") == 0;
    enum way way = modelled ? MODELLED : RECORDED;
    if (argc == 3 + modelled) {
        run_apart((uint32_t)strtoul(argv[1 + modelled], NULL, 10), strtod(argv[2 + modelled], NULL), LAW_STAIRCASE,
                  way);
        return 0;
    }
    for (double messages = 1e5; messages < 2e7; messages *= 10)
        run_apart(1024, messages, LAW_STAIRCASE, way);
    for (enum run_law law = LAW_POSTAL; law < LAW_COUNT; law++)
        if (law != LAW_STAIRCASE)
            run_apart(1024, 1e6, law, way);
    if (!modelled) {
        run_apart(1024, 1e6, LAW_FLOW, BACKLOG);
        run_apart(1024, 1e6, LAW_STAIRCASE, MODELLED);
        run_apart(1024, 1e6, LAW_STAIRCASE, QUEUES);
        run_apart(1024, 1e6, LAW_STAIRCASE, LINKS);
    }
    run_apart(65536, 1, LAW_STAIRCASE, way);
    return 0;
}
