/* Holds what a rank computes longer than the others (its excess) against what the kernel counted of it:
 *
 *   taken      it was ready to run while others had its processor, in its computation (share/doc/MODELS.md, Findings)
 *   blocked    neither it ran nor was it ready: sleep, files, locks
 *   page-faults, kernel   it was in the kernel, for so many more page faults than others, or for system calls
 *   frequency, cycles     its clock was lower; its instructions took more cycles (memory, vector width)
 *   threads    its threads of OpenMP had nothing to do, in barriers (interpose/preload/openmp.c)
 *   work       what is left: it ran, without any of these
 *
 * The largest is the cause if it is half of the excess. What others do inside MPI (polls, naps, calls of the kernel)
 * says nothing of their computation, so these parts are the rank's own, and others are asked only for what does not
 * depend on it. */
#include "report/diagnose/causes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "report/diagnose/instructions.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#define CAUSE_LEAST 0.5 /* of the excess */
/* The longest that the kernel may take for a page, s: a huge one that it has to clear. */
#define PAGE_MOST_S 200e-6
/* Least excess, of the time looked at. */
#define EXCESS_LEAST 0.02

/* Findings of a part of the run that are looked at, each by a pass over all counters. */
enum { CAUSE_PARTS = 8 };

static const char *const cause_names[] = {"",       "work",    "cycles", "frequency", "taken", "page-faults",
                                          "kernel", "blocked", "threads"};

const char *cause_name(enum finding_cause cause)
{
    return cause_names[cause];
}

/* Sums by rank from ?1 to ?2 ns. A counter is known where it is so in all windows. */
static const char causes_sql[] =
    "WITH part AS (SELECT *, 1e-9 * (min(end_ns, ?2) - max(begin_ns, ?1)) / (end_ns - begin_ns) AS share FROM counter "
    "WHERE end_ns > ?1 AND begin_ns < ?2 AND end_ns > begin_ns), "
    "span AS (SELECT rank, max(min(begin_ns), ?1) AS begin_ns, min(max(end_ns), ?2) AS end_ns FROM part GROUP BY "
    "rank), "
    "computed AS (SELECT c.rank, sum(1e-9 * max(c.end_ns - c.begin_ns - (point_to_point_ns + wait_ns + idle_ns + "
    "collective_ns + one_sided_ns + file_ns + other_ns), 0) * (min(c.end_ns, s.end_ns) - max(c.begin_ns, s.begin_ns)) "
    "/ "
    "(c.end_ns - c.begin_ns)) AS s FROM course c JOIN span s ON s.rank = c.rank WHERE c.end_ns > s.begin_ns AND "
    "c.begin_ns < s.end_ns AND c.end_ns > c.begin_ns GROUP BY c.rank) "
    "SELECT p.rank, 1e-9 * (s.end_ns - s.begin_ns), c.s, sum(share * user_ns), sum(share * system_ns), "
    "iif(count(p.wait_ns) = count(*), sum(share * p.wait_ns), NULL), "
    "1e9 * sum(share * (minor_faults + major_faults)), iif(count(cycles) = count(*), 1e9 * sum(share * cycles), NULL), "
    "iif(count(clock_cycles) = count(*), 1e9 * sum(share * clock_cycles), NULL), "
    "sum(share * openmp_region_ns), sum(share * openmp_thread_ns), sum(share * openmp_idle_ns) "
    "FROM part p JOIN span s USING (rank) JOIN computed c USING (rank) GROUP BY p.rank";

struct cause_rank {
    int64_t rank;
    struct finding_counts counts;
};

struct cause_ranks {
    struct cause_rank *rows; /* [n] */
    size_t n;
};

/* Adds the instructions of the ranks' computation, where they were counted. */
static int add_instructions(struct cause_ranks *ranks, sqlite3 *database, const char *path, double begin_s,
                            double end_s, struct error *error)
{
    struct rank_instructions *rows = NULL;
    size_t n = 0, at = 0;
    int result = instructions_read(&rows, &n, database, path, (int64_t)(begin_s * 1e9), (int64_t)(end_s * 1e9), error);
    for (size_t i = 0; result == 0 && i < ranks->n; i++) {
        while (at < n && rows[at].rank < ranks->rows[i].rank)
            at++;
        if (at == n || rows[at].rank != ranks->rows[i].rank)
            continue;
        ranks->rows[i].counts.instructions = rows[at].instructions;
        ranks->rows[i].counts.per_cycle = rows[at].instructions / rows[at].cycles;
    }
    free(rows);
    return result;
}

static int ranks_read(struct cause_ranks *ranks, sqlite3 *database, const char *path, double begin_s, double end_s,
                      struct error *error)
{
    struct cursor rows;
    *ranks = (struct cause_ranks){0};
    cursor_open(&rows, database, path, causes_sql, error);
    if (rows.result == 0)
        cursor_bind(&rows, "ii", (int64_t)(begin_s * 1e9), (int64_t)(end_s * 1e9));
    while (cursor_next(&rows)) {
        double value[12];
        for (int i = 1; i < 12; i++)
            value[i] = cursor_real(&rows, i);
        double run_s = value[3] + value[4];
        /* A rank that ran waits for its processor in its computation as in MPI, but not while it slept. */
        double slept_s = fmax(value[1] - run_s - value[5], 0);
        double awake = fmin(fmax(value[2] - slept_s, 0) / fmax(value[1] - slept_s, 1e-9), 1);
        ARRAY_ADD(ranks->rows, ranks->n,
                  (struct cause_rank){
                      cursor_integer(&rows, 0),
                      {.time_s = value[1],
                       .computed_s = value[2],
                       .run_s = run_s,
                       .kernel_s = value[4],
                       .taken_s = value[5] * awake,
                       .slept_s = slept_s,
                       .faults = value[6],
                       .instructions = NAN,
                       .per_cycle = NAN,
                       .regions_s = value[9],
                       .threads = value[10] / value[9],
                       .idle = value[11] / value[10],
                       .hertz = value[3] > 0 && !isnan(value[7]) ? value[7] / value[3] : value[8] / value[1]}});
    }
    int result = cursor_close(&rows);
    return result == 0 ? add_instructions(ranks, database, path, begin_s, end_s, error) : result;
}

/* Returns the median of a number over all ranks but one, NaN where it is not known of all. */
static double others_median(const struct cause_ranks *ranks, size_t own, size_t offset)
{
    double *values = xcalloc(ranks->n, sizeof *values), median = NAN;
    size_t n = 0;
    bool known = true;
    for (size_t i = 0; i < ranks->n; i++) {
        const double *value = (const void *)((const char *)&ranks->rows[i].counts + offset);
        known = known && !isnan(*value);
        if (i != own)
            values[n++] = *value;
    }
    if (known && n > 0)
        median = unsorted_median(values, n);
    free(values);
    return median;
}

static struct finding_counts others_counts(const struct cause_ranks *ranks, size_t own)
{
#define MEDIAN_OF(member) .member = others_median(ranks, own, offsetof(struct finding_counts, member))
    return (struct finding_counts){
        MEDIAN_OF(time_s),    MEDIAN_OF(computed_s), MEDIAN_OF(run_s),     MEDIAN_OF(kernel_s),     MEDIAN_OF(taken_s),
        MEDIAN_OF(slept_s),   MEDIAN_OF(faults),     MEDIAN_OF(per_cycle), MEDIAN_OF(instructions), MEDIAN_OF(hertz),
        MEDIAN_OF(regions_s), MEDIAN_OF(threads),    MEDIAN_OF(idle)};
#undef MEDIAN_OF
}

/* Takes a part of the excess if it is larger than the largest so far. */
static void take_cause(struct finding *finding, enum finding_cause cause, double part_s, double *largest_s)
{
    if (!(part_s > *largest_s))
        return;
    *largest_s = part_s;
    finding->cause = cause;
}

/* Finds the cause; counts of the rank and of the others are in the finding. */
static void find_cause(struct finding *finding)
{
    const struct finding_counts *own = &finding->own, *others = &finding->others;
    double excess_s = own->computed_s - others->computed_s, rest_s = excess_s;
    double more_faults = fmax(own->faults - others->faults, 0);
    double faults_s = own->faults > 0 ? own->kernel_s * more_faults / own->faults : 0;
    double blocked_s =
        fmin(own->slept_s, own->computed_s) - fmax(others->slept_s - others->time_s + others->computed_s, 0);
    double largest_s = CAUSE_LEAST * excess_s;
    finding->cause = CAUSE_UNKNOWN;
    finding->excess_s = excess_s;
    if (!(excess_s >= EXCESS_LEAST * own->time_s))
        return;
    faults_s = fmin(faults_s, more_faults * PAGE_MOST_S);
    const double part_s[] = {[CAUSE_TAKEN] = own->taken_s - others->taken_s,
                             [CAUSE_FAULTS] = faults_s,
                             [CAUSE_KERNEL] = own->kernel_s - faults_s,
                             [CAUSE_BLOCKED] = blocked_s,
                             [CAUSE_THREADS] = own->idle * own->regions_s - others->idle * others->regions_s};
    for (enum finding_cause cause = CAUSE_TAKEN; cause <= CAUSE_THREADS; cause++) {
        take_cause(finding, cause, part_s[cause], &largest_s);
        rest_s -= part_s[cause] > 0 ? part_s[cause] : 0;
    }
    if (finding->cause != CAUSE_UNKNOWN || !(rest_s >= CAUSE_LEAST * excess_s))
        return;
    /* Time is instructions by instructions per cycle by the clock, so each has its part of the logarithm. */
    double busy = log(fmin(own->run_s, own->computed_s) / fmin(others->run_s, others->computed_s));
    double slower = log(others->hertz / own->hertz), fewer = log(others->per_cycle / own->per_cycle);
    double largest = 0;
    take_cause(finding, CAUSE_WORK, log(own->instructions / others->instructions), &largest);
    take_cause(finding, CAUSE_CYCLES, fewer, &largest);
    take_cause(finding, CAUSE_FREQUENCY, isnan(fewer) && slower < CAUSE_LEAST * busy ? NAN : slower, &largest);
    if (finding->cause == CAUSE_UNKNOWN && finding->kind != FINDING_SLOW_CORE && !isnan(own->taken_s))
        finding->cause = CAUSE_WORK;
}

/* Adds the cause to the sentence. */
static void tell_cause(struct finding *finding, struct pool *pool)
{
    const struct finding_counts *own = &finding->own, *others = &finding->others;
    char text[1280], time[DIAGNOSIS_TEXT];
    int used = snprintf(text, sizeof text, "%s; why: ", finding->sentence);
    size_t room = used > 0 && (size_t)used < sizeof text ? sizeof text - (size_t)used : 0;
    char *end = text + sizeof text - room;
    switch (finding->cause) {
    case CAUSE_TAKEN:
        snprintf(end, room, "others had its processor for %s", diagnosis_seconds(time, own->taken_s));
        break;
    case CAUSE_FAULTS:
        snprintf(end, room, "page faults, %.0f, others %.0f; %s in the kernel", own->faults, others->faults,
                 diagnosis_seconds(time, own->kernel_s));
        break;
    case CAUSE_KERNEL:
        snprintf(end, room, "system calls, %s in the kernel", diagnosis_seconds(time, own->kernel_s));
        break;
    case CAUSE_BLOCKED:
        snprintf(end, room, "it does not run for %s (sleep, files, locks)", diagnosis_seconds(time, own->slept_s));
        break;
    case CAUSE_THREADS:
        snprintf(end, room, "its threads idle %.0f %% of the parallel regions' time, others %.0f %%", 100 * own->idle,
                 100 * others->idle);
        break;
    case CAUSE_FREQUENCY:
        snprintf(end, room, "a clock of %.2f GHz, others %.2f", own->hertz * 1e-9, others->hertz * 1e-9);
        break;
    case CAUSE_CYCLES:
        snprintf(end, room, "%.2f instructions per cycle, others %.2f (memory, vector width)", own->per_cycle,
                 others->per_cycle);
        break;
    case CAUSE_WORK:
        if (own->instructions > others->instructions)
            snprintf(end, room, "more work, %.2f times the instructions", own->instructions / others->instructions);
        else
            snprintf(end, room, "more work, on its processor all the time");
        break;
    case CAUSE_UNKNOWN:
        return;
    }
    finding->sentence = pool_clean(pool, text, strlen(text));
}

/* Finds the row of the finding's rank, and what the others have. */
static void cause_of(struct finding *finding, const struct cause_ranks *ranks, struct pool *pool)
{
    bool is_taken = finding->kind == FINDING_BUSY_PROCESSORS || finding->kind == FINDING_CROWDED ||
                    finding->kind == FINDING_BINDING;
    for (size_t i = 0; i < ranks->n; i++) {
        if (ranks->rows[i].rank != finding->rank)
            continue;
        finding->own = ranks->rows[i].counts;
        finding->others = others_counts(ranks, i);
        find_cause(finding);
        if (is_taken) /* the sentence says it already */
            finding->cause = CAUSE_TAKEN;
        else
            tell_cause(finding, pool);
    }
}

static bool has_cause(const struct finding *finding)
{
    switch (finding->kind) {
    case FINDING_LATE_RANK:
    case FINDING_LATE_STRETCH:
    case FINDING_LATE_TREND:
    case FINDING_OUTLIERS:
    case FINDING_ROOT_PART:
    case FINDING_IMBALANCE:
    case FINDING_SLOW_CORE:
    case FINDING_BUSY_PROCESSORS:
    case FINDING_CROWDED:
    case FINDING_BINDING:
        return finding->rank >= 0;
    default:
        return false;
    }
}

/* Says why instructions are not known of all ranks. */
static int find_uncounted(struct findings *findings, sqlite3 *database, const char *path, struct error *error)
{
    int64_t ranks[3];
    int result = cursor_numbers(database, path,
                                "SELECT count(*), total(perf = 'forbidden'), total(perf = 'none') FROM counter_source",
                                ranks, 3, error);
    if (result == 0 && ranks[1] > 0)
        findings->uncounted = "instructions and cycles are not counted, as that is forbidden: sysctl "
                              "kernel.perf_event_paranoid=2 allows it, and the filter of a container may have to";
    else if (result == 0 && ranks[2] > 0)
        findings->uncounted = "instructions and cycles are not counted: this machine, perhaps a virtual one, has no "
                              "counters of them";
    return result;
}

int causes_collect(struct findings *findings, struct pool *pool, sqlite3 *database, const char *path,
                   struct error *error)
{
    struct cause_ranks all = {0};
    bool is_read = false;
    int parts = 0, result = find_uncounted(findings, database, path, error);
    for (size_t i = 0; result == 0 && i < findings->n; i++) {
        struct finding *finding = &findings->rows[i];
        bool of_part = !isnan(finding->begin_s) && finding->end_s > finding->begin_s;
        if (!has_cause(finding) || (of_part && parts++ == CAUSE_PARTS))
            continue;
        if (of_part) {
            struct cause_ranks part;
            result = ranks_read(&part, database, path, finding->begin_s, finding->end_s, error);
            cause_of(finding, &part, pool);
            free(part.rows);
            continue;
        }
        if (!is_read)
            result = ranks_read(&all, database, path, 0, 9e9, error);
        is_read = true;
        cause_of(finding, &all, pool);
    }
    free(all.rows);
    return result;
}
