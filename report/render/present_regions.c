/* Writes the section on regions, and what the first screen shows of them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/render/sections.h"

enum { FIRST_REGIONS = 3, FIRST_PATH = 20, SLOW_PATH = 16 };

/* Prints a path of names into text[size], of a long one its end: ".../step/exchange". */
static void shorten_path(char *text, size_t size, const char *path, size_t columns)
{
    const char *end = path, *slash;
    while (render_width(end) + (end != path ? 4 : 0) > columns && (slash = strchr(end, '/')) != NULL)
        end = slash + 1;
    char inner[1024];
    words_shorten(inner, sizeof inner, end, columns - (end != path ? 4 : 0));
    snprintf(text, size, "%s%s", end != path ? ".../" : "", inner);
}

static void present_table(struct document *document, const struct report_regions *regions, size_t most, size_t columns)
{
    document_table(document, "region|times>|inclusive>|own>|share>|in MPI>|longest>|rank>");
    for (size_t i = 0; i < regions->n && i < most; i++) {
        const struct report_region *region = &regions->rows[i];
        char path[1024];
        if (columns > 0)
            shorten_path(path, sizeof path, region->path, columns);
        else
            words_shorten(path, sizeof path, region->path, sizeof path - 8);
        document_cells(document, "tisswwsi", path, region->occurrences, region->time_s, region->own_s, region->share,
                       region->time_s > 0 ? fmin(region->mpi_s / region->time_s, 1) : NAN, region->longest_s,
                       region->longest_rank);
    }
}

/* Says which occurrence took its rank longest, in a line of the first screen. */
static void present_slowest(struct document *document, const struct report_slow *slow)
{
    char path[64], own[32], median[32];
    shorten_path(path, sizeof path, slow->path, SLOW_PATH);
    document_line(document, "slow: %s no. %" PRId64 ", rank %" PRId64 ": %s outside MPI, median %s", path, slow->number,
                  slow->rank, words_seconds(own, sizeof own, slow->own_s),
                  words_seconds(median, sizeof median, slow->median_s));
}

void present_first_regions(struct document *document, const struct report *report)
{
    const struct report_regions *regions = &report->regions;
    if (regions->n == 0)
        return;
    document_heading(document, "Regions with most time of their own");
    present_table(document, regions, FIRST_REGIONS, FIRST_PATH);
    if (regions->n_slow > 0)
        present_slowest(document, &regions->slow[0]);
    else if (regions->all > FIRST_REGIONS)
        document_line(document, "and %" PRId64 " more: --section regions", regions->all - FIRST_REGIONS);
}

/* Writes a row a region: inclusive, with how much of the time in it alone is computation. */
static void present_region_efficiencies(struct document *document, const struct report_regions *regions)
{
    if (regions->n_efficiencies == 0)
        return;
    document_table(document, "efficiency of|parallel>|balance>|comm.>|serialis.>|transfer>|own>");
    for (size_t i = 0; i < regions->n_efficiencies; i++) {
        const struct report_region_efficiency *row = &regions->efficiencies[i];
        bool has_own = i + 1 < regions->n_efficiencies && strcmp(row[1].scope, "exclusive") == 0;
        char path[1024];
        if (strcmp(row->scope, "exclusive") == 0)
            continue;
        words_shorten(path, sizeof path, row->path, sizeof path - 8);
        document_cells(document, "twwwwww", path, row->parallel, row->load_balance, row->communication,
                       row->serialisation, row->transfer, has_own ? row[1].parallel : NAN);
    }
    document_line(
        document,
        "parallel: computation, of the ranks' time there; its mean over outermost regions and outside, weighted "
        "by time, is the run's; balance: mean of longest computation; comm.: longest computation "
        "of the longest time there; own: parallel, outside of regions within");
}

static void present_faults(struct document *document, const struct report_regions *regions)
{
    if (regions->no_begin > 0)
        document_warning(document, "%" PRId64 " end%s of a region without a begin", regions->no_begin,
                         words_plural(regions->no_begin));
    if (regions->no_end > 0)
        document_warning(document, "%" PRId64 " region%s ended only with the one around or with the thread",
                         regions->no_end, words_plural(regions->no_end));
    if (regions->no_number > 0)
        document_warning(document,
                         "%" PRId64
                         " occurrence%s of regions beyond the 2046 that a process has room for: their region "
                         "is (other regions)",
                         regions->no_number, words_plural(regions->no_number));
    if (regions->no_room > 0)
        document_warning(document,
                         "%" PRId64 " begin%s of a region left out: nested deeper than 64, or of a thread without sums",
                         regions->no_room, words_plural(regions->no_room));
}

void present_regions(struct document *document, const struct report *report)
{
    const struct report_regions *regions = &report->regions;
    if (regions->n == 0) {
        if (regions->marked && report->part.is_part)
            document_line(document, "no occurrence of a region that has a record lies in this part of the run");
        return;
    }
    present_table(document, regions, REPORT_REGIONS, 0);
    if (report->part.is_part)
        document_line(document, "of the occurrences that lie in this part of the run, cut at its ends%s%s",
                      report->whole.of_bursts[0] != '\0' ? "; of those that have a record: of " : "",
                      report->whole.of_bursts);
    document_line(document,
                  "times: occurrences on all ranks; inclusive: from begin to end; own: outside of regions within; "
                  "share: own, of all ranks' time; in MPI: of inclusive; longest: one occurrence, and its rank");
    if (regions->all > (int64_t)regions->n)
        document_line(document, "%" PRId64 " more regions take less; 'mpistair query TRACE regions' has all",
                      regions->all - (int64_t)regions->n);
    present_region_efficiencies(document, regions);
    present_faults(document, regions);
    if (regions->n_slow == 0)
        return;
    document_table(document, "slow occurrence of|rank>|number>|at>|outside MPI>|median>|in all>");
    for (size_t i = 0; i < regions->n_slow; i++) {
        const struct report_slow *slow = &regions->slow[i];
        document_cells(document, "tiissss", slow->path, slow->rank, slow->number, slow->begin_s, slow->own_s,
                       slow->median_s, slow->time_s);
    }
    if (regions->all_slow > (int64_t)regions->n_slow)
        document_line(document, "and %" PRId64 " more; 'mpistair query TRACE slow_occurrences' has all",
                      regions->all_slow - (int64_t)regions->n_slow);
}
