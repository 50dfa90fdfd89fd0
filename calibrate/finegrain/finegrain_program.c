/* The benchmark that `mpistair finegrain` starts under the user's launcher. Run by hand it prints the times of its
 * iterations as CSV.
 *
 * If it cannot measure, a note says why, `refused CODE REASON`, since launchers change exit codes. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/finegrain/layout.h"
#include "calibrate/measure/measure.h"
#include "calibrate/measure/rank_place.h"
#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "calibrate/finegrain/thread_pool.h"
#include "calibrate/finegrain/part_exchange.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"
#include "share/base/random.h"

/* Measures the iterations of the benchmark: BSP and fine-grained ones in turn, in random order.
 *
 * An iteration is prepared, agreed on, run and only then looked at: whatever is not the exchange itself happens
 * before the common start or after the end. Its time is the slowest rank's, from that start until all is sent and
 * received. */

/* Header of what rank 0 prints, a row an iteration; share/man/mpistair.5 has the first six columns. delay_s is how far
 * the last thread was to arrive behind the one in the middle, median_oversleep_s the median of what the threads of a
 * rank overslept, of the rank where it is largest. */
#define FINEGRAIN_SAMPLES_HEADER "trial,iteration,way,seconds,last_arrival_s,oversleep_s,delay_s,median_oversleep_s"

struct finegrain_measure {
    const struct finegrain_config *config;
    const struct arrivals *arrivals;
    struct exchange whole, fine;
    struct pool *pool;
    MPI_Comm control;
    int rank, size;
    double offset_s; /* to rank 0's clock */
    double lead_s;   /* from agreeing on a start to the start */
    char *sent;      /* [peers][bytes] */
    char *cache;     /* [cache_bytes] is written over before an iteration; NULL: not asked for */
    size_t cache_bytes;
    double *arrival_s, *arrived_s, *sorted; /* [threads] */
};

/* What each rank reports of an iteration; the largest value of all ranks counts. */
enum told_time { TOLD_SECONDS, TOLD_LAST_ARRIVAL, TOLD_LAST_ARRIVED, TOLD_DELAY, TOLD_MEDIAN_OVERSLEEP, TOLD_COUNT };

struct iteration {
    struct finegrain_measure *measure;
    struct exchange *exchange;
    uint64_t number; /* of the arrivals */
    uint64_t stamp;  /* of the content */
    bool verifies;
};

static void fill_own(void *context, size_t thread)
{
    const struct iteration *iteration = context;
    const struct finegrain_config *config = iteration->measure->config;
    struct byte_range own = layout_user(config->bytes, config->threads, config->parts, thread);
    for (size_t i = 0; i < config->peers; i++)
        layout_fill(iteration->measure->sent + i * config->bytes, own, iteration->measure->rank, i, iteration->stamp);
}

static void part_ready(void *context, size_t part)
{
    const struct iteration *iteration = context;
    iteration->exchange->transport->ready(iteration->exchange, part);
}

static void part_complete(void *context, size_t part)
{
    const struct iteration *iteration = context;
    iteration->exchange->transport->complete(iteration->exchange, part);
}

/* Waits until all ranks are here, and returns when they start, on this rank's clock. */
static double agree(const struct finegrain_measure *measure)
{
    MPI_Request request;
    double start_s = 0;
    MPI_Ibarrier(measure->control, &request);
    wait_yielding(1, &request);
    if (measure->rank == 0)
        start_s = clock_now_s() + measure->lead_s;
    MPI_Ibcast(&start_s, 1, MPI_DOUBLE, 0, measure->control, &request);
    wait_yielding(1, &request);
    return start_s - measure->offset_s;
}

/* Reports on the threads of this rank. */
static void tell(const struct finegrain_measure *measure, double *told)
{
    size_t n = measure->config->threads;
    for (size_t i = 0; i < n; i++)
        measure->sorted[i] = measure->arrived_s[i] - measure->arrival_s[i];
    sort_doubles(measure->sorted, n);
    told[TOLD_MEDIAN_OVERSLEEP] = (measure->sorted[(n - 1) / 2] + measure->sorted[n / 2]) / 2;
    memcpy(measure->sorted, measure->arrived_s, n * sizeof *measure->sorted);
    sort_doubles(measure->sorted, n);
    told[TOLD_LAST_ARRIVED] = measure->sorted[n - 1];
    memcpy(measure->sorted, measure->arrival_s, n * sizeof *measure->sorted);
    sort_doubles(measure->sorted, n);
    told[TOLD_LAST_ARRIVAL] = measure->sorted[n - 1];
    told[TOLD_DELAY] = measure->sorted[n - 1] - measure->sorted[(n - 1) / 2];
}

/* Makes a failure of any rank one of all, with the reason of the first of them. Collective. Returns 0, or -1. */
static int finegrain_agree(const struct finegrain_measure *measure, int result, struct error *error)
{
    int first = result != 0 ? measure->rank : measure->size;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, measure->control);
    if (first == measure->size)
        return 0;
    MPI_Bcast(error->text, (int)sizeof error->text, MPI_CHAR, first, measure->control);
    return -1;
}

/* Compares what arrived. Returns 0 on all ranks, or -1. */
static int verify(const struct iteration *iteration, struct error *error)
{
    const struct finegrain_measure *measure = iteration->measure;
    const struct finegrain_config *config = measure->config;
    struct byte_range all = {.bytes = config->bytes};
    int differs = 0;
    for (size_t i = 0; i < config->peers && !differs; i++) {
        int from = iteration->exchange->from[i];
        size_t at = layout_differs(iteration->exchange->received + i * config->bytes, all, from, i, iteration->stamp);
        differs = at < config->bytes;
        if (differs)
            error_set(error, "rank %d: byte %zu of buffer %zu from rank %d is wrong after a%s iteration", measure->rank,
                      at, i, from, iteration->exchange->transport->ready != NULL ? " fine-grained" : " BSP");
    }
    return finegrain_agree(measure, differs ? -1 : 0, error);
}

/* Does one iteration; told[TOLD_COUNT]. Returns 0 on all ranks, or -1 on all ranks. */
static int run_iteration(struct iteration *iteration, double *told, struct error *error)
{
    struct finegrain_measure *measure = iteration->measure;
    const struct part_transport *transport = iteration->exchange->transport;
    const struct pool_work work = {.arrived = iteration->verifies ? fill_own : NULL,
                                   .ready = transport->ready != NULL ? part_ready : NULL,
                                   .complete = transport->complete != NULL ? part_complete : NULL,
                                   .context = iteration};
    (void)arrivals_draw(measure->arrivals, measure->config->seed, iteration->number, (uint32_t)measure->rank,
                        measure->config->threads, measure->arrival_s); /* arrivals_check() has found them all */
    if (measure->cache != NULL)
        memset(measure->cache, (int)iteration->stamp, measure->cache_bytes);
    transport->begin(iteration->exchange);
    double start_s = agree(measure);
    pool_run(measure->pool, &work, start_s, measure->arrival_s, measure->arrived_s);
    if (transport->end != NULL)
        transport->end(iteration->exchange);
    told[TOLD_SECONDS] = clock_now_s() - start_s;
    tell(measure, told);
    return iteration->verifies ? verify(iteration, error) : 0;
}

static struct iteration iteration_of(struct finegrain_measure *measure, uint64_t number, bool is_fine, bool verifies)
{
    return (struct iteration){.measure = measure,
                              .exchange = is_fine ? &measure->fine : &measure->whole,
                              .number = number,
                              .stamp = 2 * number + is_fine + 1,
                              .verifies = verifies};
}

/* Does an iteration of either way with a comparison of all content. Collective. Returns 0 on all ranks, or -1 on all
 * ranks with the same reason. */
static int finegrain_measure_check(struct finegrain_measure *measure, struct error *error)
{
    double told[TOLD_COUNT];
    for (int is_fine = 0; is_fine < 2; is_fine++) {
        struct iteration iteration = iteration_of(measure, 0, is_fine, true);
        if (run_iteration(&iteration, told, error) != 0)
            return -1;
    }
    return 0;
}

static void print(const double *told, uint64_t trial, uint64_t iteration, bool is_fine)
{
    double oversleep_s = told[TOLD_LAST_ARRIVED] - told[TOLD_LAST_ARRIVAL];
    printf("%llu,%llu,%s,%.9g,%.9g,%.9g,%.9g,%.9g\n", (unsigned long long)trial + 1, (unsigned long long)iteration + 1,
           is_fine ? "fine" : "bsp", told[TOLD_SECONDS], told[TOLD_LAST_ARRIVAL], oversleep_s, told[TOLD_DELAY],
           told[TOLD_MEDIAN_OVERSLEEP]);
}

/* Runs the items of a trial in an order; told[n_items][TOLD_COUNT] of this rank. */
static int run_items(struct finegrain_measure *measure, uint64_t trial, const size_t *order, double *told,
                     struct error *error)
{
    uint64_t iterations = measure->config->iterations;
    for (size_t i = 0; i < 2 * iterations; i++) {
        uint64_t number = trial * iterations + order[i] / 2;
        struct iteration iteration = iteration_of(measure, number, order[i] % 2, measure->config->verify);
        if (run_iteration(&iteration, told + i * TOLD_COUNT, error) != 0)
            return -1;
    }
    MPI_Request request;
    const void *own = measure->rank == 0 ? MPI_IN_PLACE : told;
    MPI_Ireduce(own, told, (int)(2 * iterations * TOLD_COUNT), MPI_DOUBLE, MPI_MAX, 0, measure->control, &request);
    wait_yielding(1, &request);
    return 0;
}

/* Measures a trial, from 0 on. Rank 0 prints its rows. Returns as finegrain_measure_check(). */
static int finegrain_measure_trial(struct finegrain_measure *measure, uint64_t trial, struct error *error)
{
    size_t n = 2 * measure->config->iterations;
    size_t *order = xcalloc(n, sizeof *order);
    double *told = xcalloc(n, TOLD_COUNT * sizeof *told);
    random_order(&(uint64_t){measure->config->seed + trial * UINT64_C(0xd6e8feb86659fd93)}, order, n);
    int result = run_items(measure, trial, order, told, error);
    for (size_t i = 0; i < n && result == 0 && measure->rank == 0; i++)
        print(told + i * TOLD_COUNT, trial, order[i] / 2, order[i] % 2);
    fflush(stdout);
    free(order);
    free(told);
    return result;
}

/* Time from agreeing on a start to the start, s, and what each thread adds where the threads of a host share few
 * processors. */
#define ITERATION_LEAD_S 1e-3
#define LEAD_THREAD_S    20e-6
enum { CACHE_LEAST_BYTES = 1 << 25 };

/* Why nothing can be measured. */
struct refusal {
    int code;
    struct error error;
};

static const char usage[] =
    "usage: mpiexec -n RANKS mpistair-benchmark-MPI finegrain [options]\n\n"
    "Prints the time of each iteration as CSV. `mpistair finegrain` runs it and says what the times mean.\n";

static int read_options(int argc, char **argv, struct finegrain_config *config)
{
    struct option_row rows[FINEGRAIN_ROWS];
    finegrain_config_init(config);
    const struct option_table table = {
        .command = "finegrain", .usage = usage, .rows = rows, .n_rows = finegrain_config_rows(config, rows)};
    int code = options_read(&table, &argc, &argv);
    if (code == OPTIONS_READ && argc > 0)
        return wrong_usage("finegrain", "%s: not an option", argv[0]);
    return code;
}

/* Sets what threads and clock need. Collective. Returns 0, or -1 with the reason. */
static int prepare_clock(struct finegrain_measure *measure, struct error *error)
{
    struct placement placement = {0};
    int *host = NULL, of_host = 0;
    cpu_set_t cpus;
    if (place_find(measure->control, NULL, &placement, &host, error) != 0)
        return -1;
    measure->offset_s = clock_offset_s(measure->control, host);
    for (int i = 0; i < measure->size; i++)
        of_host += host[i] == host[measure->rank];
    int processors = binding_processors(&cpus);
    measure->lead_s = ITERATION_LEAD_S +
                      LEAD_THREAD_S * of_host * (double)measure->config->threads / (processors > 0 ? processors : 1);
    MPI_Allreduce(MPI_IN_PLACE, &measure->lead_s, 1, MPI_DOUBLE, MPI_MAX, measure->control);
    placement_release(&placement);
    free(host);
    return 0;
}

/* Allocates and starts what this rank needs. Returns 0, or -1 with the reason. */
static int prepare_own(struct finegrain_measure *measure, struct error *error)
{
    const struct finegrain_config *config = measure->config;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    measure->cache_bytes = cache > CACHE_LEAST_BYTES / 2 ? 2 * (size_t)cache : CACHE_LEAST_BYTES;
    measure->sent = xcalloc(config->peers, config->bytes);
    measure->arrival_s = xcalloc(config->threads, sizeof *measure->arrival_s);
    measure->arrived_s = xcalloc(config->threads, sizeof *measure->arrived_s);
    measure->sorted = xcalloc(config->threads, sizeof *measure->sorted);
    measure->cache = config->clears_cache ? xmalloc(measure->cache_bytes) : NULL;
    return pool_open(&measure->pool, config->threads, config->parts, error);
}

/* Measures all trials. Returns 0, or -1 with the reason. */
static int measure_all(struct finegrain_measure *measure, struct error *error)
{
    int result = finegrain_agree(measure, prepare_own(measure, error), error);
    if (result == 0)
        result = prepare_clock(measure, error);
    if (result == 0)
        result = exchange_open(&measure->whole, measure->config, &bsp_transport, measure->sent, error);
    if (result == 0)
        result = exchange_open(&measure->fine, measure->config, transport_of(measure->config), measure->sent, error);
    if (result == 0)
        result = finegrain_measure_check(measure, error);
    if (result == 0 && measure->rank == 0)
        puts(FINEGRAIN_SAMPLES_HEADER);
    for (uint64_t trial = 0; trial < measure->config->trials && result == 0; trial++)
        result = finegrain_measure_trial(measure, trial, error);
    return result;
}

static void release(struct finegrain_measure *measure)
{
    exchange_close(&measure->whole);
    exchange_close(&measure->fine);
    pool_close(measure->pool);
    free(measure->sent);
    free(measure->cache);
    free(measure->arrival_s);
    free(measure->arrived_s);
    free(measure->sorted);
}

/* Returns 0, or -1 with the reason. All ranks refuse alike. */
static int measure_with(const struct finegrain_config *config, int provided, struct refusal *refusal)
{
    struct finegrain_measure measure = {.config = config};
    struct arrivals *arrivals = NULL;
    struct arrivals_request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &measure.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &measure.size);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.control);
    if (measure.rank == 0) {
        mpi_job_note(measure.size);
        fprintf(stderr, MEASURE_NOTE "buffers_per_rank %zu\n",
                measure.size > 1 ? layout_buffers_per_rank(config->peers, measure.size) : 0);
    }
    refusal->code = EXIT_WRONG_USAGE;
    int result = finegrain_config_check(config, &refusal->error);
    if (result == 0)
        result = layout_check(config->peers, measure.size, config->fold, &refusal->error);
    if (result == 0) {
        result = arrivals_parse(config->arrivals, &request, &refusal->error);
        request.width_s = config->width_s;
        if (result == 0)
            result = arrivals_open(&request, config->compute_s, &arrivals, &refusal->error);
        if (result == 0)
            result = arrivals_check(arrivals, (uint32_t)measure.size, config->threads, &refusal->error);
        result = finegrain_agree(&measure, result, &refusal->error);
    }
    if (result == 0) {
        refusal->code = EXIT_WORK_FAILED;
        if (provided < MPI_THREAD_MULTIPLE)
            result = error_set(&refusal->error,
                               "this MPI does not provide MPI_THREAD_MULTIPLE, which threads that send need");
    }
    measure.arrivals = arrivals;
    if (result == 0)
        result = measure_all(&measure, &refusal->error);
    release(&measure);
    if (arrivals != NULL)
        arrivals_close(arrivals);
    if (result != 0 && measure.rank == 0)
        fprintf(stderr, MEASURE_NOTE "refused %d %s\n", refusal->code, refusal->error.text);
    MPI_Comm_free(&measure.control);
    return result;
}

static int finegrain_main(int argc, char **argv)
{
    struct finegrain_config config;
    struct refusal refusal = {0};
    int code = read_options(argc, argv, &config);
    if (code != OPTIONS_READ)
        return code;
    int provided = mpi_job_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    int result = measure_with(&config, provided, &refusal);
    MPI_Finalize();
    return result == 0 ? EXIT_DONE : refusal.code;
}

const struct benchmark_program finegrain_program = {
    .name = "finegrain",
    .summary = "Threads that send parts of buffers, for mpistair finegrain.",
    .run = finegrain_main,
};
