/* An iteration is prepared, agreed on, run and only then looked at: whatever is not the exchange itself happens
 * before the common start or after the end. Its time is the slowest rank's, from that start until all is sent and
 * received. */
#include "calibrate/finegrain/finegrain_measure.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/finegrain/layout.h"
#include "calibrate/measure/shared_clock.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"
#include "share/base/random.h"

/* Numbers what each rank tells of an iteration; the ranks' largest counts. */
enum told { TOLD_SECONDS, TOLD_LAST_ARRIVAL, TOLD_LAST_ARRIVED, TOLD_DELAY, TOLD_MEDIAN_OVERSLEEP, TOLD_COUNT };

struct iteration {
    struct finegrain_measure *measure;
    struct exchange *exchange;
    const struct transport *transport;
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
    iteration->transport->ready(iteration->exchange, part);
}

static void part_complete(void *context, size_t part)
{
    const struct iteration *iteration = context;
    iteration->transport->complete(iteration->exchange, part);
}

/* Waits until all ranks are here, and returns when they start, on this rank's clock. */
static double agree(const struct finegrain_measure *measure)
{
    MPI_Request request;
    double start_s = 0;
    MPI_Ibarrier(measure->control, &request);
    exchange_wait(1, &request);
    if (measure->rank == 0)
        start_s = clock_now_s() + measure->lead_s;
    MPI_Ibcast(&start_s, 1, MPI_DOUBLE, 0, measure->control, &request);
    exchange_wait(1, &request);
    return start_s - measure->offset_s;
}

/* Tells of the threads of this rank. */
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

int finegrain_agree(const struct finegrain_measure *measure, int result, struct error *error)
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
                      at, i, from, iteration->transport->ready != NULL ? " fine-grained" : " BSP");
    }
    return finegrain_agree(measure, differs ? -1 : 0, error);
}

/* Does one iteration; told[TOLD_COUNT]. Returns 0 on all ranks, or -1 on all ranks. */
static int run(struct iteration *iteration, double *told, struct error *error)
{
    struct finegrain_measure *measure = iteration->measure;
    const struct transport *transport = iteration->transport;
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
    transport->end(iteration->exchange);
    told[TOLD_SECONDS] = clock_now_s() - start_s;
    tell(measure, told);
    return iteration->verifies ? verify(iteration, error) : 0;
}

static struct iteration iteration_of(struct finegrain_measure *measure, uint64_t number, bool is_fine, bool verifies)
{
    return (struct iteration){.measure = measure,
                              .exchange = is_fine ? &measure->fine : &measure->whole,
                              .transport = is_fine ? measure->transport : &bsp_transport,
                              .number = number,
                              .stamp = 2 * number + is_fine + 1,
                              .verifies = verifies};
}

int finegrain_measure_check(struct finegrain_measure *measure, struct error *error)
{
    double told[TOLD_COUNT];
    for (int is_fine = 0; is_fine < 2; is_fine++) {
        struct iteration iteration = iteration_of(measure, 0, is_fine, true);
        if (run(&iteration, told, error) != 0)
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
        if (run(&iteration, told + i * TOLD_COUNT, error) != 0)
            return -1;
    }
    MPI_Request request;
    const void *own = measure->rank == 0 ? MPI_IN_PLACE : told;
    MPI_Ireduce(own, told, (int)(2 * iterations * TOLD_COUNT), MPI_DOUBLE, MPI_MAX, 0, measure->control, &request);
    exchange_wait(1, &request);
    return 0;
}

int finegrain_measure_trial(struct finegrain_measure *measure, uint64_t trial, struct error *error)
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
