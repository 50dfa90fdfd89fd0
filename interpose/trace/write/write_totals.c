/* Writes the sums of all calls process after process, so that few tables are in memory at a time (sums.h). */
#include "interpose/trace/write/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "interpose/spool/totals.h"
#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/gather/place.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/rows/sink.h"
#include "interpose/trace/site/callsite.h"
#include "interpose/trace/site/region_names.h"
#include "interpose/trace/write/sums.h"
#include "share/base/memory.h"

/* Returns the nanoseconds of a tick in the mean over a time. */
static double tick_ns(const struct trace *trace, const struct trace_process *process, uint64_t begin, uint64_t ticks)
{
    size_t hint = 0;
    if (begin + ticks <= begin)
        return 1;
    double end_ns = (double)ticks_run_ns(trace, process, begin + ticks, &hint);
    return (end_ns - (double)ticks_run_ns(trace, process, begin, &hint)) / (double)ticks;
}

/* Rounds to what SQL can hold. */
static int64_t whole(double value)
{
    return value >= 0x1p63 ? INT64_MAX : value > 0 ? (int64_t)(value + 0.5) : 0;
}

/* The clock of nanoseconds gives them as they are, however many. */
static int64_t ticks_ns(uint64_t ticks, double rate)
{
    return rate == 1 && ticks <= INT64_MAX ? (int64_t)ticks : whole((double)ticks * rate);
}

static int64_t bounded(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_bounded(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

/* What was measured of idle calls stands for all of them. */
struct estimate {
    int64_t time_ns;
    int64_t error_ns; /* TRACE_NO_TIME: all were timed */
};

static struct estimate idle_time(const struct spool_total *total, double rate)
{
    double n = (double)total->calls, timed = (double)total->bytes, ticks = (double)total->ticks;
    if (total->bytes >= total->calls)
        return (struct estimate){ticks_ns(total->ticks, rate), TRACE_NO_TIME};
    if (total->bytes == 0)
        return (struct estimate){0, 0};
    double mean = ticks / timed, time = mean * n;
    /* The variance of the calls that were not timed, from those that were; of a single one nothing is known. */
    double variance = timed > 1 ? (total->square - timed * mean * mean) / (timed - 1) : mean * mean;
    double error = n * sqrt(fmax(variance, 0) / timed * (1 - timed / n));
    return (struct estimate){whole(time * rate), whole(error * rate)};
}

static void write_total(struct row *row, const struct trace *trace, int64_t rank, const struct spool_total *total,
                        double rate)
{
    const struct trace_process *process = &trace->processes[rank];
    bool idle = (total->flags & TOTAL_IDLE) != 0;
    uint32_t communicator = process_communicator(trace, process, total->communicator, -1);
    bool known = communicator != TRACE_NONE;
    int32_t peer = known && total->peer >= 0 ? communicator_world_rank(trace, communicator, total->peer) : -1;
    struct estimate time = {ticks_ns(total->ticks, rate), TRACE_NO_TIME};
    if (idle)
        time = idle_time(total, rate);
    /* Other calls of a rank to a peer are one-sided. */
    bool posts = total->peer != TOTAL_NO_PEER && !function_is_one_sided(total->function);
    row_insert(row, "iiuunbntbiiiibbo", rank, function_id(total->function),
               callsite_find_any(&process->callsites, total->site),
               known && posts ? communicator_context(trace, communicator) : communicator, peer,
               total->peer == TOTAL_SEVERAL, peer >= 0 ? rank_level(trace, (uint32_t)rank, (uint32_t)peer) : -1,
               !posts                         ? NULL
               : total->flags & TOTAL_RECEIVE ? "receive"
                                              : "send",
               idle ? 0 : total->bin, bounded(total->calls), idle ? (int64_t)0 : bounded(total->bytes), time.time_ns,
               ticks_ns(total->longest_ticks, rate), (total->flags & TOTAL_OFF) != 0, idle, time.error_ns);
}

static void write_course(struct row *row, const struct trace *trace, int64_t rank, const struct sums *sums)
{
    const struct trace_process *process = &trace->processes[rank];
    const struct spool_course *course = &sums->course;
    size_t hint = 0;
    for (uint32_t i = 0; i < course->n; i++) {
        const struct spool_window *window = &course->windows[i];
        uint64_t begin = sums->totals.start_ticks + ((uint64_t)i << course->shift);
        int64_t begin_ns = ticks_run_ns(trace, process, begin, &hint);
        int64_t end_ns = ticks_run_ns(trace, process, begin + (UINT64_C(1) << course->shift), &hint);
        double rate = (double)(end_ns - begin_ns) / (double)(UINT64_C(1) << course->shift);
        if (i + 1 == course->n && begin_ns <= process->end_ns && process->end_ns < end_ns)
            end_ns = process->end_ns;
        const uint64_t *ticks = window->ticks;
        row_insert(row, "iiiiiiiiiiii", rank, begin_ns, end_ns, ticks_ns(ticks[WINDOW_POINT_TO_POINT], rate),
                   ticks_ns(ticks[WINDOW_WAIT], rate), ticks_ns(ticks[WINDOW_IDLE], rate),
                   ticks_ns(ticks[WINDOW_COLLECTIVE], rate), ticks_ns(ticks[WINDOW_ONE_SIDED], rate),
                   ticks_ns(ticks[WINDOW_FILE], rate), ticks_ns(ticks[WINDOW_OTHER], rate), bounded(window->calls),
                   bounded(window->sent_bytes));
    }
}

/* Adds up the regions of the process by the run's numbers, and writes them. Several numbers of a process may be one
 * region of the run. */
static void write_regions_of(struct region_writer *writer, const struct trace *trace,
                             const struct trace_process *process, const struct sums *sums, double rate)
{
    struct region_total *totals = xcalloc(trace->n_regions + 1, sizeof *totals);
    for (uint32_t i = 0; i < sums->totals.n_slots; i++) {
        const struct spool_total *slot = &sums->totals.slots[i];
        uint32_t region = region_find(process, spool_site_region(slot->site));
        if (slot->calls == 0 || region == TRACE_NONE)
            continue;
        struct region_total *total = &totals[region];
        if (!(slot->flags & TOTAL_REGION)) {
            add_bounded(&total->mpi_ns,
                        slot->flags & TOTAL_IDLE ? idle_time(slot, rate).time_ns : ticks_ns(slot->ticks, rate));
            continue;
        }
        int64_t longest_ns = ticks_ns(slot->longest_ticks, rate);
        add_bounded(&total->occurrences, bounded(slot->calls));
        add_bounded(&total->time_ns, ticks_ns(slot->ticks, rate));
        add_bounded(&total->inner_ns, ticks_ns(slot->bytes, rate));
        total->longest_ns = longest_ns > total->longest_ns ? longest_ns : total->longest_ns;
        total->square_s2 += slot->square * rate * rate * 1e-18;
    }
    for (uint32_t number = 0; number < SPOOL_REGIONS; number++)
        if (writer->late_inner[number] > 0 && region_find(process, number) != TRACE_NONE)
            add_bounded(&totals[region_find(process, number)].inner_ns, ticks_ns(writer->late_inner[number], rate));
    for (uint32_t region = (uint32_t)trace->n_regions; region-- > 0;) { /* each one comes behind the one around it */
        struct region_total *outer =
            &totals[trace->regions[region].parent == TRACE_NONE ? trace->n_regions : trace->regions[region].parent];
        add_bounded(&outer->inner_mpi_ns, totals[region].mpi_ns);
        add_bounded(&outer->inner_mpi_ns, totals[region].inner_mpi_ns);
    }
    for (uint32_t region = 0; region < trace->n_regions; region++)
        if (totals[region].occurrences > 0 || totals[region].mpi_ns > 0)
            region_writer_total(writer, &totals[region], region);
    free(totals);
}

int write_totals(const struct trace *trace, sqlite3 *database, struct sums_ahead *ahead)
{
    struct region_writer regions;
    region_writer_begin(&regions, trace, database);
    struct row totals = row_prepare(database, "total", 16), courses = row_prepare(database, "course", 12);
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        if (process->spool == NULL)
            continue;
        struct sums sums;
        region_writer_process(&regions, rank);
        if (ahead == NULL || !sums_ahead_take(ahead, rank, &sums))
            sums_read(&sums, trace, process, process->regions != NULL ? &regions : NULL);
        double rate = tick_ns(trace, process, sums.totals.start_ticks, (uint64_t)sums.course.n << sums.course.shift);
        for (uint32_t i = 0; i < sums.totals.n_slots; i++)
            if (sums.totals.slots[i].calls > 0 && !(sums.totals.slots[i].flags & TOTAL_REGION))
                write_total(&totals, trace, rank, &sums.totals.slots[i], rate);
        write_course(&courses, trace, rank, &sums);
        write_regions_of(&regions, trace, process, &sums, rate);
        sums_release(&sums);
    }
    return row_finish(&totals) | row_finish(&courses) | region_writer_finish(&regions);
}
