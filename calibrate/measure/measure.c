/* Takes a series of samples: rank 0 sends the ranks of an item the task and its start, and collects what they
 * measured.
 *
 * All ranks that wait for a task look at their mailbox at the same moments, the multiples of MEASURE_IDLE_S on rank
 * 0's clock: a task is sent before such a moment, and its samples start shortly after it. Samples that are short
 * enough lie between two looks (plan_gap_s), so that ranks which have nothing to do take no time from those that are
 * measured.
 *
 * A launcher that hears of an abort ends at once, at times before it has read what the rank wrote last: hydra (MPICH
 * 4.0.2) lost the reason in one of some hundred aborts. So a rank waits before it aborts, for its message to be read.
 *
 * An MPI may allocate memory for each message: MPICH 4.0 does so for partitions. Where the C library returns it to the
 * system at once, or each thread has memory of its own to take it from, a message costs the first touch of all its
 * pages, which takes several times as long as to move it. Whether it does depends on how much was freed before and on
 * which thread waits, and ends after some hundred iterations. Here all threads allocate from one heap, which only
 * grows. */
#include "calibrate/measure/measure.h"

#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate/measure/processor.h"
#include "share/base/array.h"
#include "share/base/memory.h"

#define READ_NS 200000000

/* Without the C library of GNU it does nothing. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest that is taken */
#endif
}

/* Ends the other ranks where this one exits early: not every launcher does that. */
static void abort_unfinished(void)
{
    int finalized;
    MPI_Finalized(&finalized);
    if (finalized)
        return;
    nanosleep(&(struct timespec){.tv_nsec = READ_NS}, NULL);
    MPI_Abort(MPI_COMM_WORLD, EXIT_WORK_FAILED);
}

int mpi_job_init(int *argc, char ***argv, int threads)
{
    int provided = MPI_THREAD_SINGLE;
    if (threads == MPI_THREAD_MULTIPLE)
        keep_freed_memory();
    if (threads == MPI_THREAD_SINGLE)
        MPI_Init(argc, argv);
    else
        MPI_Init_thread(argc, argv, threads, &provided);
    atexit(abort_unfinished);
    return provided;
}

void mpi_job_note(int size)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = '\0';
    for (char *c = library; *c != '\0'; c++)
        *c = *c == '\t' ? ' ' : *c;
    fprintf(stderr, MEASURE_NOTE "ranks %d\n" MEASURE_NOTE "library %s\n", size, library);
}

void abort_all(const char *format, ...)
{
    int rank;
    va_list arguments;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "mpistair: rank %d: ", rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_WORK_FAILED);
}

enum { CACHE_LINE = 64 };
enum { TASK_TAG = 1, RESULT_TAG = 2, MEASURE_END_TAG = 3 }; /* of measure->control */
/* Tag of measure_meet(): the largest that every MPI has, which no benchmark uses. */
enum { MEET_TAG = 32767 };

/* Time between rank 0's polls for results that are due; from a poll to a start; lead of a start, least and most, s. */
#define LEADER_S   0.2e-3
#define SETTLE_S   0.5e-3
#define LEAD_MIN_S 0.2e-3
#define LEAD_MAX_S 0.05

/* Samples in succession that share a processor, from which on sharing is how the job is, and samples count. */
enum { SHARED_MAX = 100 };

/* A rank's answer: of each sample its seconds, -1 where it started late, and its processors; how late it got the task;
 * how long the longest and the shortest took in all; its use of the processors. */
struct result {
    double seconds[MEASURE_SAMPLES_MAX];
    struct sharing sharing[MEASURE_SAMPLES_MAX];
    double late_s;
    double longest_s;
    double shortest_s;
    struct processor_use use;
    double stolen_s, all_s; /* from processor_stolen(), in a probe */
};

/* Returns the first look at the mailbox after that time, on rank 0's clock. */
static double next_look_s(double after_s)
{
    return (floor(after_s / MEASURE_IDLE_S) + 1) * MEASURE_IDLE_S;
}

/* Returns whether a message has arrived. Open MPI's probe looks first and makes progress afterwards: a second one sees
 * what has come meanwhile. */
static bool has_arrived(const struct measure *measure, int source, int tag)
{
    int arrived = 0;
    for (int look = 0; look < 2 && !arrived; look++)
        MPI_Iprobe(source, tag, measure->control, &arrived, MPI_STATUS_IGNORE);
    return arrived;
}

/* Sleeps instead of spinning, so as not to disturb the measured rank. */
static void receive_task(const struct measure *measure, struct task *task)
{
    while (!has_arrived(measure, 0, TASK_TAG)) {
        double now_s = clock_now_s() + measure->offset_s;
        clock_sleep_s(next_look_s(now_s) - now_s);
    }
    MPI_Recv(task, sizeof *task, MPI_BYTE, 0, TASK_TAG, measure->control, MPI_STATUS_IGNORE);
}

/* Receives a result. Rank 0 polls as seldom as idle ranks until the result is due, then more often, when that disturbs
 * no measurement. */
static void receive_result(const struct measure *measure, struct result *result, int rank, double expected_s)
{
    while (!has_arrived(measure, rank, RESULT_TAG)) {
        double now_s = clock_now_s();
        clock_sleep_s(now_s < expected_s ? fmin(expected_s, next_look_s(now_s)) - now_s : LEADER_S);
    }
    MPI_Recv(result, sizeof *result, MPI_BYTE, rank, RESULT_TAG, measure->control, MPI_STATUS_IGNORE);
}

/* Makes the long buffers and touches them once, so that no sample pays for a page; ranks that are never asked need
 * none. */
static void make_buffers(struct measure *measure)
{
    if (measure->send_buffer != NULL)
        return;
    measure->send_buffer = malloc(measure->buffer_bytes);
    measure->recv_buffer = malloc(measure->buffer_bytes);
    if (measure->send_buffer == NULL || measure->recv_buffer == NULL)
        abort_all("no memory for two buffers of %zu bytes; use --buffer", measure->buffer_bytes);
    memset(measure->send_buffer, 1, measure->buffer_bytes);
    memset(measure->recv_buffer, 0, measure->buffer_bytes);
}

static void add_time(struct processor_time *sum, const struct processor_time *begin)
{
    struct processor_time end = processor_now();
    sum->run_s += end.run_s - begin->run_s;
    sum->wait_s += end.wait_s - begin->wait_s;
}

void item_add(struct item_list *list, struct item item)
{
    item.variant = item.variant != NULL ? item.variant : "";
    item.n = item.n > 0 ? item.n : 1;
    item.count = item.count > 0 ? item.count : 1;
    ARRAY_ADD(list->items, list->n, item);
}

void item_add_sizes(struct item_list *list, struct item item, uint64_t least, uint64_t most, uint64_t step)
{
    for (item.bytes = least; item.bytes <= most; item.bytes *= step)
        item_add(list, item);
}

static const struct pair *pair_of(const struct item *item, size_t i)
{
    return item->pairs != NULL ? &item->pairs[i] : &item->pair;
}

/* Returns the ranks of an item, which text may hold. */
static const char *item_ranks(const struct item *item, char text[32])
{
    const struct pair *pair = pair_of(item, 0);
    if (item->ranks != NULL)
        return item->ranks;
    if (pair->first == pair->second)
        snprintf(text, 32, "%d", pair->first);
    else
        snprintf(text, 32, "%d-%d", pair->first, pair->second);
    return text;
}

void measure_meet(const struct measure *measure, const struct task *task)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, task->partner, MEET_TAG, NULL, 0, MPI_BYTE, task->partner, MEET_TAG, measure->comm,
                 MPI_STATUS_IGNORE);
}

/* Waits for the partner. A send may be complete for its sender while the MPI still holds some of it. So no rank sleeps
 * before the other side of its messages is at the end of the sample, too, or the rest would move at the next poll only.
 */
static void wait_for_partner(const struct measure *measure, int partner)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, MEASURE_END_TAG, NULL, 0, MPI_BYTE, partner, MEASURE_END_TAG,
                 measure->control, MPI_STATUS_IGNORE);
}

static struct result perform(struct measure *measure, const struct task *task)
{
    struct result result = {.late_s = fmax(clock_now_s() + measure->offset_s - task->start_s, 0),
                            .use = {.machine = measure->machine, .cpus = measure->cpus}};
    make_buffers(measure);
    for (int i = 0; i < task->samples; i++) {
        double late_s = 0;
        if (i == 0 || task->gap_s > 0)
            late_s = clock_wait_until(task->start_s + i * task->gap_s - measure->offset_s);
        struct sharing *sharing = &result.sharing[i];
        *sharing = (struct sharing){.machine = measure->machine, .n_processors = measure->n_processors};
        struct processor_time before = processor_now();
        sharing->begin = sched_getcpu();
        double begin_s = clock_now_s(), seconds = benchmark_of(measure, task->part)->exchange(measure, task);
        double duration_s = clock_now_s() - begin_s;
        sharing->end = sched_getcpu();
        add_time(&result.use.time, &before);
        result.longest_s = fmax(result.longest_s, duration_s);
        result.shortest_s = i == 0 ? duration_s : fmin(result.shortest_s, duration_s);
        result.seconds[i] = late_s > 0 ? -1 : seconds;
        wait_for_partner(measure, task->partner);
    }
    if (task->part == MEASURE_PROBE && !processor_stolen(&result.stolen_s, &result.all_s))
        result.all_s = result.stolen_s = 0;
    return result;
}

void measure_follow(struct measure *measure)
{
    for (;;) {
        struct task task;
        receive_task(measure, &task);
        if (task.partner < 0)
            return;
        struct result result = perform(measure, &task);
        MPI_Send(&result, sizeof result, MPI_BYTE, 0, RESULT_TAG, measure->control);
    }
}

void measure_end(struct measure *measure)
{
    struct task end = {.partner = -1};
    for (int rank = 1; rank < measure->size; rank++)
        MPI_Send(&end, sizeof end, MPI_BYTE, rank, TASK_TAG, measure->control);
}

/* Returns side i % 2 of pair i / 2; -1 for the second side of a pair of a rank with itself. */
static int rank_of(const struct item *item, size_t i)
{
    const struct pair *pair = pair_of(item, i / 2);
    if (i % 2 == 0)
        return pair->first;
    return pair->first == pair->second ? -1 : pair->second;
}

static void combine(struct result *slowest, const struct result *result, int n_samples)
{
    for (int i = 0; i < n_samples; i++)
        if (result->seconds[i] < 0 || slowest->seconds[i] < 0)
            slowest->seconds[i] = -1;
        else
            slowest->seconds[i] = fmax(slowest->seconds[i], result->seconds[i]);
    slowest->late_s = fmax(slowest->late_s, result->late_s);
    slowest->longest_s = fmax(slowest->longest_s, result->longest_s);
    slowest->shortest_s = fmax(slowest->shortest_s, result->shortest_s);
}

/* Drops the samples that processor.h reports; ranks holds all n of them. */
static void drop_shared(struct measure *measure, const struct result *ranks, size_t n, int n_samples,
                        struct result *slowest)
{
    struct sharing *sharing = xcalloc(n, sizeof *sharing);
    for (int sample = 0; sample < n_samples; sample++) {
        for (size_t i = 0; i < n; i++)
            sharing[i] = ranks[i].sharing[sample];
        if (!sharing_found(sharing, n)) {
            measure->shared_on_end = 0;
        } else if (++measure->shared_on_end <= SHARED_MAX && slowest->seconds[sample] >= 0) {
            slowest->seconds[sample] = -1;
            measure->shared++;
        }
    }
    free(sharing);
}

/* Adds up what the ranks of a series lost of their processors to others, and of a probe, to the hypervisor. */
static void account(struct measure *measure, const struct result *ranks, size_t n)
{
    struct processor_use *uses = xcalloc(n, sizeof *uses);
    double wanted_s = 0, lost_s = 0;
    measure->stolen_s = measure->all_s = 0;
    for (size_t i = 0; i < n; i++) {
        uses[i] = ranks[i].use;
        measure->stolen_s += ranks[i].stolen_s;
        measure->all_s += ranks[i].all_s;
    }
    processor_lost(uses, n, &wanted_s, &lost_s);
    measure->waited = wanted_s > 0 ? fmin(lost_s / wanted_s, 1) : NAN;
    measure->wanted_s += wanted_s;
    measure->lost_s += lost_s;
    measure->n_series++;
    free(uses);
}

/* Starts further ahead after a rank got its task too late, slowly nearer otherwise: one series in ten may be late. A
 * rank that got its task in time and still started late was held up by something else, which more time does not
 * prevent. */
static void adapt_lead(struct measure *measure, bool late)
{
    measure->lead_s *= late ? 1.3 : 0.97;
    measure->lead_s = fmin(fmax(measure->lead_s, LEAD_MIN_S), LEAD_MAX_S);
}

void measure_samples(struct measure *measure, const struct item *item, int repeats, int n_samples, double *seconds)
{
    struct task task = {.start_s = next_look_s(clock_now_s() + measure->lead_s) + SETTLE_S,
                        .gap_s = measure->gap_s,
                        .bytes = item->bytes,
                        .part = item->part,
                        .mode = item->mode,
                        .count = item->count,
                        .repeats = repeats,
                        .batch = item->batch < 1         ? 1
                                 : item->batch < repeats ? item->batch
                                                         : repeats,
                        .samples = n_samples};
    struct task own = {.partner = -1};
    size_t n_sides = item->pairs != NULL ? 2 * item->n_pairs : 2;
    for (size_t i = 0; i < n_sides; i++) {
        int rank = rank_of(item, i);
        task.partner = i % 2 == 0 ? pair_of(item, i / 2)->second : pair_of(item, i / 2)->first;
        task.is_first = i % 2 == 0;
        if (rank == 0)
            own = task;
        else if (rank > 0)
            MPI_Send(&task, sizeof task, MPI_BYTE, rank, TASK_TAG, measure->control);
    }
    struct result slowest = {.late_s = 0}, *ranks = xcalloc(n_sides, sizeof *ranks);
    size_t n_ranks = 0;
    if (own.partner >= 0)
        slowest = ranks[n_ranks++] = perform(measure, &own);
    double expected_s = task.start_s + (n_samples - 1) * task.gap_s + measure->expected_s;
    for (size_t i = 0; i < n_sides; i++) {
        if (rank_of(item, i) <= 0)
            continue;
        receive_result(measure, &ranks[n_ranks], rank_of(item, i), expected_s);
        combine(&slowest, &ranks[n_ranks++], n_samples);
    }
    if (measure->drop_shared)
        drop_shared(measure, ranks, n_ranks, n_samples, &slowest);
    account(measure, ranks, n_ranks);
    free(ranks);
    adapt_lead(measure, slowest.late_s > 0);
    measure->longest_s = slowest.longest_s;
    measure->shortest_s = slowest.shortest_s;
    for (int i = 0; i < n_samples; i++)
        seconds[i] = slowest.seconds[i];
}

double measure_once(struct measure *measure, const struct item *item)
{
    double seconds;
    measure_samples(measure, item, 1, 1, &seconds);
    return seconds;
}

void measure_write(const struct measure *measure, const struct item *item, int repeats, double seconds)
{
    char waited[16] = "", ranks[32];
    if (!isnan(measure->waited))
        snprintf(waited, sizeof waited, "%.3f", measure->waited);
    printf("%s,%s,%s,%llu,%llu,%d,%.9g,%u,%s,%s,%d,%s,%.3f\n", benchmark_of(measure, item->part)->name, item->variant,
           level_name[item->level], (unsigned long long)item->bytes, (unsigned long long)item->n, item->count, seconds,
           measure->launch, item_ranks(item, ranks), item->domain != NULL ? item->domain : "", repeats, waited,
           clock_now_s() - measure->begin_s);
}

size_t measure_resumed(const struct measure *measure, const struct item *item, double *seconds, size_t max)
{
    char text[32];
    const char *name = benchmark_of(measure, item->part)->name, *ranks = item_ranks(item, text);
    size_t found = 0;
    for (size_t i = 0; i < measure->resume.n_rows; i++) {
        const struct resume_row *row = &measure->resume.rows[i];
        if (row->bytes != item->bytes || row->n != item->n || row->level != item->level ||
            row->count != (uint64_t)item->count || strcmp(row->benchmark, name) != 0 ||
            strcmp(row->ranks, ranks) != 0 || strcmp(row->variant, item->variant) != 0 ||
            strcmp(row->domain, item->domain != NULL ? item->domain : "") != 0)
            continue;
        if (found < max)
            seconds[found] = row->seconds;
        found++;
    }
    return found;
}

size_t measure_places(struct measure *measure, uint64_t bytes, int n, size_t *place)
{
    size_t stride = ((size_t)bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (bytes > measure->buffer_bytes)
        abort_all("a message of %llu bytes, buffers of %zu; use --buffer", (unsigned long long)bytes,
                  measure->buffer_bytes);
    if (n > 1 && stride * (size_t)n > measure->buffer_bytes)
        stride = (measure->buffer_bytes - (size_t)bytes) / (size_t)(n - 1);
    size_t used = stride * (size_t)(n - 1) + (size_t)bytes;
    if (measure->cached || measure->cursor + used > measure->buffer_bytes)
        measure->cursor = 0;
    *place = measure->cursor;
    measure->cursor += stride * (size_t)n;
    return stride;
}

size_t measure_place(struct measure *measure, uint64_t bytes)
{
    size_t place;
    measure_places(measure, bytes, 1, &place);
    return place;
}

char *measure_data(struct measure *measure, const struct task *task, uint64_t bytes)
{
    size_t place = measure_place(measure, bytes);
    return (task->is_first ? measure->send_buffer : measure->recv_buffer) + place;
}

void wait_yielding(int n, MPI_Request *requests)
{
    int done = 0;
    for (;;) {
        if (n == 1)
            MPI_Test(requests, &done, MPI_STATUS_IGNORE);
        else
            MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done)
            return;
        sched_yield();
    }
}
