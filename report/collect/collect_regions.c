/* Reads the regions of the program: their sums, and which occurrences were slow. Of a part of a run the sums are of the
 * occurrences that have a record, cut at its ends; what went wrong with their borders is known of the whole alone. */
#include <math.h>
#include <stdlib.h>

#include "report/collect/report.h"
#include "share/base/memory.h"

static const char regions_sql[] =
    "SELECT r.path, r.way, count(*), sum(s.occurrences), sum(s.inclusive_ns) * 1e-9, sum(s.exclusive_ns) * 1e-9, "
    "  sum(s.mpi_ns) * 1e-9, 1.0 * sum(s.exclusive_ns) / nullif((SELECT sum(end_ns - begin_ns) FROM process), 0), "
    "  max(s.longest_ns) * 1e-9, (SELECT o.rank FROM region_sum o WHERE o.region = r.id ORDER BY longest_ns DESC, rank "
    "  LIMIT 1), max(s.inclusive_ns - s.mpi_ns) * 1e-9, min(s.inclusive_ns - s.mpi_ns) * 1e-9, "
    "  (SELECT o.rank FROM region_sum o WHERE o.region = r.id ORDER BY inclusive_ns - mpi_ns DESC, rank LIMIT 1) "
    "FROM region r JOIN region_sum s ON s.region = r.id WHERE s.occurrences > 0 GROUP BY r.id "
    "ORDER BY sum(s.exclusive_ns) DESC, r.id";
const struct fields report_region_fields =
    FIELDS(report_region, FIELD(report_region, path), FIELD(report_region, way), FIELD(report_region, ranks),
           FIELD(report_region, occurrences), FIELD_AS("inclusive_s", report_region, time_s),
           FIELD_AS("exclusive_s", report_region, own_s), FIELD(report_region, mpi_s), FIELD(report_region, share),
           FIELD(report_region, longest_s), FIELD(report_region, longest_rank),
           FIELD_AS("most_outside_mpi_s", report_region, most_s),
           FIELD_AS("least_outside_mpi_s", report_region, least_s), FIELD_AS("busiest_rank", report_region, most_rank));

/* Those of the regions that have rows, each inclusive, then exclusive, between those of the run and of the rest. */
static const char efficiencies_sql[] =
    "SELECT e.path, e.scope, e.ranks, e.there_s, e.computed_s, e.longest_s, e.most_rank, e.most_s, e.parallel, "
    "  e.load_balance, e.communication, e.serialisation, e.transfer "
    "FROM region_efficiency e LEFT JOIN (SELECT region, sum(time_ns - inner_ns) AS own_ns FROM region_total "
    "  GROUP BY region) o ON o.region = e.region "
    "WHERE e.region IN (SELECT region FROM region_total WHERE occurrences > 0 GROUP BY region "
    "  ORDER BY sum(time_ns - inner_ns) DESC, region LIMIT ";
const struct fields report_region_efficiency_fields =
    FIELDS(report_region_efficiency, FIELD(report_region_efficiency, path), FIELD(report_region_efficiency, scope),
           FIELD(report_region_efficiency, ranks), FIELD(report_region_efficiency, there_s),
           FIELD(report_region_efficiency, computed_s), FIELD(report_region_efficiency, longest_s),
           FIELD_OR_NULL(report_region_efficiency, most_rank), FIELD(report_region_efficiency, most_s),
           FIELD(report_region_efficiency, parallel), FIELD(report_region_efficiency, load_balance),
           FIELD(report_region_efficiency, communication), FIELD(report_region_efficiency, serialisation),
           FIELD(report_region_efficiency, transfer));

static const char slow_sql[] =
    "o.begin_ns * 1e-9, o.time_ns * 1e-9, o.own_ns * 1e-9, o.median_ns * 1e-9 "
    "FROM slow_occurrence o JOIN region r ON r.id = o.region ORDER BY o.own_ns - o.median_ns DESC, r.depth DESC, "
    "o.begin_ns";
/* Of a part an occurrence keeps the number that it has in the run. */
static const char number_in_run[] =
    "(SELECT count(*) FROM main.occurrence m WHERE m.rank = o.rank AND m.region = o.region AND m.begin_ns <= o.begin_ns"
    " AND m.mpi_ns IS NOT NULL AND m.end_ns > m.begin_ns AND NOT m.unended)";
const struct fields report_slow_fields =
    FIELDS(report_slow, FIELD(report_slow, path), FIELD(report_slow, rank), FIELD(report_slow, number),
           FIELD(report_slow, begin_s), FIELD(report_slow, time_s), FIELD_AS("outside_mpi_s", report_slow, own_s),
           FIELD(report_slow, median_s));

static const char faults_sql[] =
    "SELECT (SELECT count(*) FROM region), (SELECT coalesce(sum(n), 0) FROM region_fault WHERE fault = 'no begin'), "
    "(SELECT coalesce(sum(n), 0) FROM region_fault WHERE fault = 'no end'), "
    "(SELECT coalesce(sum(n), 0) FROM region_fault WHERE fault = 'other'), "
    "(SELECT coalesce(sum(n), 0) FROM region_fault WHERE fault = 'ignored'), (SELECT count(*) FROM occurrence)";

/* Appends the first rows of a query. Returns how many there are. */
static int64_t read_first(struct report *report, const char *sql, const struct fields *fields, void *array, size_t *n,
                          size_t most)
{
    size_t all = 0;
    report_read_rows(report, sql, fields, array, &all);
    *n = all < most ? all : most;
    return (int64_t)all;
}

void report_collect_regions(struct report *report, const struct report_choice *choice)
{
    struct report_regions *regions = &report->regions;
    struct {
        int64_t regions, no_begin, no_end, no_number, no_room, occurrences;
    } counts = {0};
    const struct field members[] = {{"regions", 0, FIELD_INTEGER},  {"no_begin", 8, FIELD_INTEGER},
                                    {"no_end", 16, FIELD_INTEGER},  {"no_number", 24, FIELD_INTEGER},
                                    {"no_room", 32, FIELD_INTEGER}, {"occurrences", 40, FIELD_INTEGER}};
    const struct fields fields = {members, sizeof members / sizeof *members, sizeof counts};
    const bool is_part = choice->part.is_part;
    report_read_row(report, faults_sql, &fields, &counts);
    if (counts.regions == 0)
        return;
    regions->marked = true;
    if (!is_part) {
        regions->no_begin = counts.no_begin;
        regions->no_end = counts.no_end;
        regions->no_number = counts.no_number;
        regions->no_room = counts.no_room;
    }
    regions->all = read_first(report, regions_sql, &report_region_fields, &regions->rows, &regions->n, REPORT_REGIONS);
    for (size_t i = 0; is_part && !report->whole.times_known && i < regions->n; i++)
        regions->rows[i].mpi_s = regions->rows[i].most_s = regions->rows[i].least_s = NAN;
    if (report->whole.times_known && choice->details) {
        /* Those of the run, and of what is outside of regions, come from windows, which a part cuts. */
        char *sql =
            xasprintf("%s%d)%s ORDER BY e.scope = 'outside', e.scope <> 'run', o.own_ns DESC, e.region, e.scope DESC",
                      efficiencies_sql, REPORT_REGIONS, is_part ? "" : " OR e.region IS NULL");
        report_read_rows(report, sql, &report_region_efficiency_fields, &regions->efficiencies,
                         &regions->n_efficiencies);
        free(sql);
    }
    /* They are sorted for it, which takes a second for a million. */
    regions->all_slow = -1;
    if (choice->details || counts.occurrences <= REPORT_OCCURRENCES) {
        char *sql = xasprintf("SELECT r.path, o.rank, %s, %s", is_part ? number_in_run : "o.number", slow_sql);
        regions->all_slow = read_first(report, sql, &report_slow_fields, &regions->slow, &regions->n_slow, REPORT_SLOW);
        free(sql);
    }
}
