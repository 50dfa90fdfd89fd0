/* Collects a report part by part; later parts look up the ranks and models that earlier ones have found. */
#include <math.h>

#include "interpose/sums/working_tables.h"
#include "report/collect/report.h"
#include "share/base/progress.h"

int report_collect(struct report *report, sqlite3 *database, const char *path, const struct report_choice *choice,
                   struct error *error)
{
    *report = (struct report){.path = path,
                              .database = database,
                              .error = error,
                              .replicate_error = NAN,
                              .replicate_basis = "",
                              .fine_grained = {.machine = ""},
                              .gpu = {.machine = ""}};
    progress_show("report: sums of rounds and messages");
    report->result = working_tables_make(database, path, error);
    report_collect_run(report);
    progress_show("report: models and ranks");
    report_collect_rounds(report, choice);
    report_collect_programs(report);
    if (choice->details)
        report_collect_sites(report);
    if (choice->fine_grained && report->result == 0) {
        progress_show("report: what parts would give");
        report_collect_fine_grained(report, choice);
    }
    if (choice->gpu && report->result == 0)
        report_collect_gpu(report, choice);
    progress_show("report: the stored replay");
    report_collect_replay(report, choice->machine);
    if (report->result == 0) {
        progress_show("report: the time of ranks");
        report_collect_activity(report);
    }
    progress_show(NULL);
    return report->result;
}
