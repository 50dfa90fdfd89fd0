/* A probe must measure the machine and nothing of the job: its ranks have processors of their own, and it takes series
 * like any benchmark, so that it runs between them. */
#include "calibrate/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/samples/probing.h"
#include "calibrate/measure/plan.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

enum { SAMPLES = 3, SERIES_MAX = 4, SMALL_REPEATS = 2048, LARGE_REPEATS = 4 };

/* Time between probes, s; more where probes would take more than SHARE_MAX of the time. */
#define EVERY_S   1.0
#define LEVEL_S   0.05 /* of one of its sizes, but for the last series */
#define SHARE_MAX 0.05

/* Processors of a rank, reported to rank 0, which chooses. */
struct rank_place {
    uint64_t machine;
    cpu_set_t cpus;
};

/* State on rank 0. */
static struct probe {
    struct pair pairs[PROBE_RANKS_MAX]; /* [n_pairs] */
    size_t n_pairs;
    double last_s; /* its end */
    double took_s;
    double stolen_s; /* value at the last probe */
    double all_s;
    struct probings probings;
} probe_probe;

/* Takes a rank unless the ranks of its machine that are taken have all of its processors. */
static void probe_choose(const struct rank_place *places, int rank)
{
    cpu_set_t cpus = places[rank].cpus;
    int n_ranks = 1;
    for (size_t i = 0; i < probe_probe.n_pairs; i++)
        if (places[probe_probe.pairs[i].first].machine == places[rank].machine) {
            CPU_OR(&cpus, &cpus, &places[probe_probe.pairs[i].first].cpus);
            n_ranks++;
        }
    if (n_ranks == 1 || n_ranks <= CPU_COUNT(&cpus))
        probe_probe.pairs[probe_probe.n_pairs++] = (struct pair){rank, rank};
}

void probe_prepare(struct measure *measure)
{
    struct rank_place own = {.machine = measure->machine, .cpus = measure->cpus}, *places = NULL;
    if (measure->rank == 0)
        places = xcalloc((size_t)measure->size, sizeof *places);
    MPI_Gather(&own, sizeof own, MPI_BYTE, places, sizeof own, MPI_BYTE, 0, measure->control);
    int step = (measure->size + PROBE_RANKS_MAX - 1) / PROBE_RANKS_MAX;
    for (int rank = 0; rank < measure->size && places != NULL; rank += step)
        probe_choose(places, rank);
    free(places);
}

/* Returns the median time of a message, from a few samples of the slowest rank for which no rank waited; NaN where none
 * could be taken in a moment. */
static double level_s(struct measure *measure, uint64_t bytes, int repeats, int max_series)
{
    struct item item = {.level = LEVEL_SELF,
                        .part = MEASURE_PROBE,
                        .bytes = bytes,
                        .count = 1,
                        .n_pairs = probe_probe.n_pairs,
                        .pairs = probe_probe.pairs};
    double taken_s[SAMPLES * SERIES_MAX];
    size_t n = 0;
    double end_s = clock_now_s() + LEVEL_S;
    for (int series = 0; series < max_series && n < SAMPLES && (series == 0 || clock_now_s() < end_s); series++) {
        double seconds[SAMPLES];
        measure->gap_s = plan_gap_s(PLAN_SAMPLE_S, MEASURE_IDLE_S);
        measure->expected_s = PLAN_SAMPLE_S;
        measure_samples(measure, &item, repeats, SAMPLES, seconds);
        bool disturbed = measure->waited > PROBING_WAITED_MAX;
        for (int i = 0; i < SAMPLES && !disturbed; i++)
            if (seconds[i] > 0)
                taken_s[n++] = seconds[i];
    }
    sort_doubles(taken_s, n);
    return n > 0 ? sorted_median(taken_s, n) : NAN;
}

/* Returns the share that the hypervisor took of the processors since the last probe; NaN if it is not known. */
static double steal(const struct measure *measure)
{
    double stolen_s = measure->stolen_s - probe_probe.stolen_s, all_s = measure->all_s - probe_probe.all_s;
    probe_probe.stolen_s = measure->stolen_s;
    probe_probe.all_s = measure->all_s;
    return all_s > 0 ? fmin(fmax(stolen_s / all_s, 0), 1) : NAN;
}

/* Takes both levels of the machine, now. */
static void take_levels(struct measure *measure, struct probing *probing)
{
    probing->small_s = level_s(measure, PROBING_SMALL_BYTES, SMALL_REPEATS, SERIES_MAX);
    probing->large_s = level_s(measure, PROBING_LARGE_BYTES, LARGE_REPEATS, SERIES_MAX);
}

/* Judges the new epoch; takes its levels once more where they are not those of the others, as it may have been a
 * moment. */
static enum probing_verdict judge(struct measure *measure)
{
    struct probing *last = &probe_probe.probings.probings[probe_probe.probings.n - 1];
    enum probing_verdict verdict = probings_judge(&probe_probe.probings);
    if (verdict != PROBING_LEVEL)
        return verdict;
    take_levels(measure, last);
    return probings_judge(&probe_probe.probings);
}

enum probing_verdict probe_take(struct measure *measure)
{
    /* The probe's own series do not count as the program's. */
    size_t shared = measure->shared;
    bool drops_shared = measure->drop_shared, is_first = probe_probe.probings.n == 0;
    double begin_s = clock_now_s();
    struct probing probing = {.launch = measure->launch};
    snprintf(probing.program, sizeof probing.program, "%s", measure->program->name);
    measure->drop_shared = true;
    if (is_first) /* once for the buffers, and what a first message to oneself needs */
        (void)level_s(measure, PROBING_LARGE_BYTES, 1, 1);
    take_levels(measure, &probing);
    probing.waited = measure->wanted_s > 0 ? fmin(measure->lost_s / measure->wanted_s, 1) : NAN;
    probing.steal = steal(measure);
    if (is_first)
        probing.steal = NAN;
    probings_append(&probe_probe.probings, &probing);
    probing.verdict = judge(measure);
    probe_probe.probings.probings[probe_probe.probings.n - 1].verdict = probing.verdict;
    probing = probe_probe.probings.probings[probe_probe.probings.n - 1];
    measure->drop_shared = drops_shared;
    measure->shared = shared;
    measure->wanted_s = measure->lost_s = 0;
    measure->n_series = 0;
    probe_probe.last_s = clock_now_s();
    probe_probe.took_s = probe_probe.last_s - begin_s;
    if (is_first) /* before the program's time */
        measure->begin_s += probe_probe.took_s;
    probing.at_s = probe_probe.last_s - measure->begin_s;
    fputs("# ", stdout);
    probing_write(stdout, &probing);
    puts("");
    fflush(stdout);
    return probing.verdict;
}

bool probe_is_due(const struct measure *measure)
{
    return measure->n_series > 0 && clock_now_s() - probe_probe.last_s > fmax(EVERY_S, probe_probe.took_s / SHARE_MAX);
}
