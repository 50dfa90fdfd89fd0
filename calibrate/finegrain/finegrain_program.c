/* The benchmark that `mpistair finegrain` starts under the user's launcher. Run by hand it prints the times of its
 * iterations as CSV.
 *
 * Why it cannot measure it tells in a note, `refused CODE REASON`: what a launcher makes of an exit code says less. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/finegrain/finegrain_measure.h"
#include "calibrate/finegrain/layout.h"
#include "calibrate/measure/measure.h"
#include "calibrate/measure/binding.h"
#include "calibrate/measure/rank_place.h"
#include "calibrate/measure/mpi_job.h"
#include "calibrate/measure/shared_clock.h"

/* Lets a start be so long after it is agreed on, and longer where the threads of a host share few processors. */
#define LEAD_S        1e-3
#define LEAD_THREAD_S 20e-6
enum { CACHE_LEAST_BYTES = 1 << 25 };

/* Holds why there is nothing to measure. */
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
    measure->lead_s =
        LEAD_S + LEAD_THREAD_S * of_host * (double)measure->config->threads / (processors > 0 ? processors : 1);
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
    size_t cache_bytes = cache > CACHE_LEAST_BYTES / 2 ? 2 * (size_t)cache : CACHE_LEAST_BYTES;
    measure->sent = calloc(config->peers, config->bytes);
    measure->arrival_s = calloc(config->threads, sizeof *measure->arrival_s);
    measure->arrived_s = calloc(config->threads, sizeof *measure->arrived_s);
    measure->sorted = calloc(config->threads, sizeof *measure->sorted);
    if (config->clears_cache)
        measure->cache = malloc(cache_bytes);
    measure->cache_bytes = cache_bytes;
    if (measure->sent == NULL || measure->arrival_s == NULL || measure->arrived_s == NULL || measure->sorted == NULL ||
        (config->clears_cache && measure->cache == NULL))
        return error_set(error, "rank %d: no memory for %llu buffers of %llu bytes", measure->rank,
                         (unsigned long long)config->peers, (unsigned long long)config->bytes);
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
        result = exchange_open(&measure->fine, measure->config, measure->transport, measure->sent, error);
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
    exchange_close(&measure->whole, &bsp_transport);
    exchange_close(&measure->fine, measure->transport);
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
    struct finegrain_measure measure = {.config = config, .transport = transport_of(config)};
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
            result = error_set(&refusal->error, "this MPI gives no MPI_THREAD_MULTIPLE, in which threads send");
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
