/* A table grows as long as a process has new calls, up to a limit from which it names less, as the recorder's own does.
 *
 * Threads that go ahead take the next rank each. Of a rank that is done the slots and windows in use are kept, until
 * write_totals takes them; beyond a number of bytes the threads wait for that. Occurrences of regions become rows as
 * the records are read, so that ranks with regions are left to the caller. */
#include "interpose/trace/write/sums.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/trace/records/records.h"
#include "interpose/trace/site/region_names.h"
#include "share/base/memory.h"

enum { SLOTS_FIRST = 1 << 10, SLOTS_MOST = 1 << 20 };

static void sums_begin(struct sums *sums, uint64_t start_ticks, uint32_t n_slots)
{
    *sums = (struct sums){.totals = {.start_ticks = start_ticks, .n_slots = n_slots}};
    sums->totals.slots = xcalloc(n_slots, sizeof *sums->totals.slots);
    sums->totals.course = &sums->course;
}

/* Makes room for one entry more, as long as that is allowed: a table that is half full begins to name less. */
static void sums_reserve(struct sums *sums)
{
    struct totals *totals = &sums->totals;
    if (totals->n_used < totals->n_slots / 2 || totals->n_slots == SLOTS_MOST)
        return;
    struct totals larger = *totals;
    larger.n_slots *= 2;
    larger.n_used = 0;
    larger.slots = xcalloc(larger.n_slots, sizeof *larger.slots);
    for (uint32_t i = 0; i < totals->n_slots; i++)
        totals_add(&larger, &totals->slots[i]);
    free(totals->slots);
    *totals = larger;
}

/* True for a call that says what can be true; those of the other records are counted as damaged. */
static bool is_sound(const struct trace *trace, const struct trace_process *process, const uint8_t *record)
{
    const struct spool_operation *operation = (const void *)record;
    const struct spool_collective *collective = (const void *)record;
    const struct spool_access *access = (const void *)record;
    const struct spool_persistent *persistent = (const void *)record;
    switch (*record) {
    case SPOOL_OPERATION:
        return operation_known(trace, process, operation) || operation_rejected(operation);
    case SPOOL_COLLECTIVE:
        return process_communicator(trace, process, collective->communicator, -1) != TRACE_NONE;
    case SPOOL_ACCESS:
        return access->communicator == SPOOL_NO_COMMUNICATOR ||
               process_communicator(trace, process, access->communicator, access->target) != TRACE_NONE;
    case SPOOL_PERSISTENT:
        return process_communicator(trace, process, persistent->communicator, -1) != TRACE_NONE;
    case SPOOL_REGION:
        return region_find(process, ((const struct spool_region *)(const void *)record)->region) != TRACE_NONE;
    default:
        return true;
    }
}

/* Adds what the recorder has added up of records that it dropped. */
static void add_folded(struct sums *sums, const struct trace_process *process)
{
    struct spool_folded folded;
    spool_folded_read(process->spool, &folded);
    for (uint32_t i = 0; folded.totals.slots != NULL && i < folded.totals.n_slots; i++) {
        sums_reserve(sums);
        totals_add(&sums->totals, &folded.totals.slots[i]);
    }
    if (folded.totals.slots != NULL) {
        folded.totals.n_slots = 0;
        totals_join(&sums->totals, &folded.totals);
    }
    spool_folded_free(&folded);
}

/* Adds up all records of the process. */
static void add_records(struct sums *sums, const struct trace *trace, const struct trace_process *process,
                        struct region_writer *regions)
{
    struct spool_cursor cursor = {.spool = process->spool};
    for (const uint8_t *record; (record = spool_next(&cursor)) != NULL;) {
        if (!is_sound(trace, process, record))
            continue;
        struct spool_region region;
        const void *added = record;
        if (regions != NULL && region_writer_take(regions, &process->spool->spans[cursor.span], record, &region))
            added = &region;
        if (cursor.is_folded) {
            if (regions != NULL)
                region_writer_gap(regions);
            continue;
        }
        sums_reserve(sums);
        totals_add_record(&sums->totals, added);
        if (regions != NULL)
            region_writer_add_mpi(regions, sums->totals.added_ticks);
    }
    if (regions != NULL)
        region_writer_end_process(regions);
    uint64_t finish = process->spool->header.finish.ticks;
    if (finish != 0)
        totals_pass(&sums->totals, WINDOW_OTHER, finish, 0, 0, 0);
}

void sums_read(struct sums *sums, const struct trace *trace, const struct trace_process *process,
               struct region_writer *regions)
{
    sums_begin(sums, process->spool->header.start.ticks, SLOTS_FIRST);
    add_folded(sums, process);
    add_records(sums, trace, process, regions);
}

void sums_release(struct sums *sums)
{
    free(sums->totals.slots);
    sums->totals.slots = NULL;
}

enum { HELD_BYTES_MOST = 32 << 20, AHEAD_THREADS_MOST = 64 };

enum held_state { HELD_NOT_BEGUN = 0, HELD_BEGUN, HELD_DONE, HELD_TAKEN };

/* What is kept of a rank. */
struct held_sums {
    struct spool_total *slots;    /* [n_slots] all in use */
    struct spool_window *windows; /* [n_windows] */
    uint64_t start_ticks;
    uint32_t n_slots, n_windows, shift;
    enum held_state state;
};

struct sums_ahead {
    const struct trace *trace;
    struct held_sums *held; /* [world_size] */
    pthread_t threads[AHEAD_THREADS_MOST];
    size_t n_threads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock guards what follows, and the states. */
    int32_t next; /* rank to begin with next */
    size_t held_bytes;
    bool ended;
};

static size_t bytes_of(const struct held_sums *held)
{
    return held->n_slots * sizeof *held->slots + held->n_windows * sizeof *held->windows;
}

/* Keeps what is in use of the sums, and releases them. */
static void keep(struct held_sums *held, struct sums *sums)
{
    const struct totals *totals = &sums->totals;
    held->start_ticks = totals->start_ticks;
    held->shift = sums->course.shift;
    held->n_windows = sums->course.n;
    held->windows = xcalloc((size_t)held->n_windows + 1, sizeof *held->windows);
    memcpy(held->windows, sums->course.windows, held->n_windows * sizeof *held->windows);
    for (uint32_t i = 0; i < totals->n_slots; i++)
        held->n_slots += totals->slots[i].calls > 0;
    held->slots = xcalloc((size_t)held->n_slots + 1, sizeof *held->slots);
    for (uint32_t i = 0, n = 0; i < totals->n_slots; i++)
        if (totals->slots[i].calls > 0)
            held->slots[n++] = totals->slots[i];
    sums_release(sums);
}

static void *go_ahead(void *argument)
{
    struct sums_ahead *ahead = argument;
    const struct trace *trace = ahead->trace;
    pthread_mutex_lock(&ahead->lock);
    for (;;) {
        while (!ahead->ended && ahead->held_bytes > HELD_BYTES_MOST)
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        if (ahead->ended || ahead->next == trace->world_size)
            break;
        int32_t rank = ahead->next++;
        const struct trace_process *process = &trace->processes[rank];
        struct held_sums *held = &ahead->held[rank];
        if (process->spool == NULL || process->regions != NULL)
            continue;
        held->state = HELD_BEGUN;
        pthread_mutex_unlock(&ahead->lock);
        struct sums sums;
        sums_read(&sums, trace, process, NULL);
        keep(held, &sums);
        pthread_mutex_lock(&ahead->lock);
        held->state = HELD_DONE;
        ahead->held_bytes += bytes_of(held);
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

struct sums_ahead *sums_ahead_begin(const struct trace *trace, size_t n)
{
    struct sums_ahead *ahead = xcalloc(1, sizeof *ahead);
    ahead->trace = trace;
    ahead->held = xcalloc((size_t)trace->world_size, sizeof *ahead->held);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    while (ahead->n_threads < n && ahead->n_threads < AHEAD_THREADS_MOST &&
           ahead->n_threads < (size_t)trace->world_size &&
           pthread_create(&ahead->threads[ahead->n_threads], NULL, go_ahead, ahead) == 0)
        ahead->n_threads++;
    if (ahead->n_threads > 0)
        return ahead;
    sums_ahead_end(ahead);
    return NULL;
}

bool sums_ahead_take(struct sums_ahead *ahead, int32_t rank, struct sums *sums)
{
    struct held_sums *held = &ahead->held[rank];
    pthread_mutex_lock(&ahead->lock);
    if (ahead->next <= rank) /* the threads go on behind what the caller makes */
        ahead->next = rank + 1;
    while (held->state == HELD_BEGUN)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool is_there = held->state == HELD_DONE;
    if (is_there) {
        held->state = HELD_TAKEN;
        ahead->held_bytes -= bytes_of(held);
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    if (!is_there)
        return false;
    *sums = (struct sums){.totals = {.slots = held->slots, .n_slots = held->n_slots, .start_ticks = held->start_ticks},
                          .course = {.shift = held->shift, .n = held->n_windows}};
    memcpy(sums->course.windows, held->windows, held->n_windows * sizeof *held->windows);
    free(held->windows);
    held->windows = NULL;
    held->slots = NULL;
    return true;
}

void sums_ahead_end(struct sums_ahead *ahead)
{
    if (ahead == NULL)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->ended = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    for (size_t i = 0; i < ahead->n_threads; i++)
        pthread_join(ahead->threads[i], NULL);
    for (int32_t rank = 0; rank < ahead->trace->world_size; rank++) {
        free(ahead->held[rank].slots);
        free(ahead->held[rank].windows);
    }
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->changed);
    free(ahead->held);
    free(ahead);
}
