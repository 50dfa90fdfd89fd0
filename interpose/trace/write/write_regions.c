/* Regions with names: what they are, the sums of each rank, and single occurrences.
 *
 * The sums are of the totals, and so of all occurrences, however much of the run has records. A row of `occurrence`
 * stands for each record that is there; its time in MPI is that of the calls of its thread behind its record, as long
 * as no chunk between them is gone. */
#include "interpose/trace/write/write_regions.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/site/region_names.h"
#include "share/base/array.h"
#include "share/base/memory.h"

static const char *const way_names[SPOOL_WAYS] = {
    [SPOOL_WAY_OWN] = "mpistair", [SPOOL_WAY_PCONTROL] = "MPI_Pcontrol", [SPOOL_WAY_NVTX] = "NVTX",
    [SPOOL_WAY_ITT] = "ITT",      [SPOOL_WAY_KOKKOS] = "Kokkos",         [SPOOL_WAY_CALIPER] = "Caliper"};

/* Returns the names of a region and those around it, for free(). */
static char *path_of(const struct trace *trace, uint32_t region)
{
    const struct trace_region *own = &trace->regions[region];
    if (own->parent == TRACE_NONE)
        return xstrdup(own->name);
    char *outer = path_of(trace, own->parent), *path = xasprintf("%s/%s", outer, own->name);
    free(outer);
    return path;
}

static int64_t depth_of(const struct trace *trace, uint32_t region)
{
    int64_t depth = 0;
    while ((region = trace->regions[region].parent) != TRACE_NONE)
        depth++;
    return depth;
}

int write_regions(const struct trace *trace, sqlite3 *database)
{
    static const char *const faults[SPOOL_REGION_FAULTS] = {[SPOOL_REGION_NO_BEGIN] = "no begin",
                                                            [SPOOL_REGION_NO_END] = "no end",
                                                            [SPOOL_REGION_NO_NUMBER] = "other",
                                                            [SPOOL_REGION_NO_ROOM] = "ignored"};
    struct row row = row_prepare(database, "region", 6), site = row_prepare(database, "site_region", 2);
    struct row fault = row_prepare(database, "region_fault", 3);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        char *path = path_of(trace, i);
        row_insert(&row, "uuttit", i, trace->regions[i].parent, trace->regions[i].name, path, depth_of(trace, i),
                   way_names[trace->regions[i].way]);
        free(path);
    }
    for (uint32_t i = 0; i < trace->n_callsites; i++)
        if (trace->callsites[i].region != TRACE_NONE)
            row_insert(&site, "uu", i, trace->callsites[i].region);
    for (int64_t rank = 0; rank < trace->world_size; rank++) {
        const struct spool *spool = trace->processes[rank].spool;
        for (int i = 0; spool != NULL && i < SPOOL_REGION_FAULTS; i++)
            if (spool->header.regions[i] > 0)
                row_insert(&fault, "iti", rank, faults[i], (int64_t)(spool->header.regions[i] & INT64_MAX));
    }
    return row_finish(&row) | row_finish(&site) | row_finish(&fault);
}

void region_writer_begin(struct region_writer *writer, const struct trace *trace, sqlite3 *database)
{
    *writer = (struct region_writer){.trace = trace,
                                     .occurrences = row_prepare(database, "occurrence", 9),
                                     .totals = row_prepare(database, "region_total", 9)};
}

void region_writer_process(struct region_writer *writer, int64_t rank)
{
    writer->rank = rank;
    writer->hint = 0;
    writer->lane = UINT32_MAX;
    writer->n_open = 0;
    memset(writer->late_inner, 0, sizeof writer->late_inner);
}

static int64_t run_ns(struct region_writer *writer, uint64_t ticks)
{
    return ticks_run_ns(writer->trace, &writer->trace->processes[writer->rank], ticks, &writer->hint);
}

/* Returns how many of a time's nanoseconds so many of its ticks are; calls may last longer than that time. */
static int64_t share_ns(uint64_t part, uint64_t ticks, int64_t ns)
{
    return part >= ticks ? ns : (int64_t)((double)part / (double)ticks * (double)ns + 0.5);
}

/* Writes the innermost of the open occurrences, and adds to the one around it. */
static void close_innermost(struct region_writer *writer)
{
    const struct open_region *done = &writer->open[--writer->n_open];
    const struct spool_region *region = &done->region;
    int64_t begin_ns = run_ns(writer, region->begin_ticks), end_ns = run_ns(writer, region->end_ticks);
    uint64_t ticks = region->end_ticks - region->begin_ticks;
    row_insert(&writer->occurrences, "ziuiiiiob", (int64_t)0, writer->rank,
               region_find(&writer->trace->processes[writer->rank], region->region), (int64_t)writer->lane, begin_ns,
               end_ns, share_ns(region->inner_ticks, ticks, end_ns - begin_ns),
               done->has_gap ? TRACE_NO_TIME : share_ns(done->mpi_ticks, ticks, end_ns - begin_ns),
               (region->flags & SPOOL_UNENDED) != 0);
    if (writer->n_open > 0) {
        writer->open[writer->n_open - 1].mpi_ticks += done->mpi_ticks;
        writer->open[writer->n_open - 1].has_gap |= done->has_gap;
    }
}

static void close_before(struct region_writer *writer, uint64_t ticks)
{
    while (writer->n_open > 0 && writer->open[writer->n_open - 1].region.end_ticks <= ticks)
        close_innermost(writer);
}

void region_writer_gap(struct region_writer *writer)
{
    for (size_t i = 0; i < writer->n_open; i++)
        writer->open[i].has_gap = true;
}

/* Goes to the chunk of the next record. */
static void pass_span(struct region_writer *writer, const struct spool_span *span)
{
    if (writer->lane == span->lane && writer->sequence == span->sequence)
        return;
    if (writer->lane != span->lane)
        close_before(writer, UINT64_MAX);
    else if (writer->sequence + 1 != span->sequence)
        region_writer_gap(writer);
    writer->lane = span->lane;
    writer->sequence = span->sequence;
}

/* A region that nobody has ended lasts to the end of its process. Those of one thread lie within each other. */
static struct spool_region ended(const struct region_writer *writer, const struct spool_region *record)
{
    struct spool_region region = *record;
    if (region.end_ticks == 0) {
        region.end_ticks = writer->trace->processes[writer->rank].last_ticks;
        region.flags |= SPOOL_UNENDED;
    }
    if (region.end_ticks < region.begin_ticks)
        region.end_ticks = region.begin_ticks;
    uint64_t ticks = region.end_ticks - region.begin_ticks;
    region.inner_ticks = region.inner_ticks < ticks ? region.inner_ticks : ticks;
    return region;
}

bool region_writer_take(struct region_writer *writer, const struct spool_span *span, const uint8_t *record,
                        struct spool_region *region)
{
    pass_span(writer, span);
    if (*record != SPOOL_REGION) {
        uint64_t begin = writer->n_open > 0 ? record_begin_ticks(record) : 0;
        if (begin != 0)
            close_before(writer, begin);
        return false;
    }
    *region = ended(writer, (const void *)record);
    close_before(writer, region->begin_ticks);
    /* What was open at the end has told the one around it nothing. */
    if (((const struct spool_region *)(const void *)record)->end_ticks == 0 && writer->n_open > 0) {
        struct spool_region *outer = &writer->open[writer->n_open - 1].region;
        uint64_t ticks = region->end_ticks - region->begin_ticks;
        outer->inner_ticks += ticks;
        if (outer->region < SPOOL_REGIONS)
            writer->late_inner[outer->region] += ticks;
    }
    array_reserve(&writer->open, &writer->open_room, writer->n_open + 1, sizeof *writer->open);
    writer->open[writer->n_open++] = (struct open_region){.region = *region};
    return true;
}

void region_writer_add_mpi(struct region_writer *writer, uint64_t ticks)
{
    if (writer->n_open > 0)
        writer->open[writer->n_open - 1].mpi_ticks += ticks;
}

void region_writer_end_process(struct region_writer *writer)
{
    close_before(writer, UINT64_MAX);
}

void region_writer_total(struct region_writer *writer, const struct region_total *total, uint32_t region)
{
    row_insert(&writer->totals, "iuiiiiiid", writer->rank, region, total->occurrences, total->time_ns, total->inner_ns,
               total->longest_ns, total->mpi_ns, total->inner_mpi_ns, total->square_s2);
}

int region_writer_finish(struct region_writer *writer)
{
    free(writer->open);
    return row_finish(&writer->occurrences) | row_finish(&writer->totals);
}
