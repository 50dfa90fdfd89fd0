/* Collects which programs ran, on which ranks. */
#include <stdlib.h>
#include <string.h>

#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/ranges.h"
#include "share/base/saturating.h"

/* Traces of earlier versions lack the table: their column run.command is that of one process. */
static int has_table(const struct report *report, sqlite3 *database, bool *found, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path, "SELECT 1 FROM sqlite_master WHERE name = 'program'", error);
    *found = cursor_next(&rows);
    return cursor_close(&rows);
}

static void name_ranks(struct report *report, int64_t first, int64_t last, const char *command)
{
    for (int64_t rank = first > 0 ? first : 0; rank <= last && (size_t)rank < report->n_ranks; rank++)
        if (report->ranks[rank].rank == rank)
            report->ranks[rank].command = command;
}

static void end_program(struct report *report, struct ranges *ranges)
{
    if (report->n_programs == 0)
        return;
    const char *text = ranges_text(ranges), *where = pool_clean(&report->pool, text, strlen(text));
    report->programs[report->n_programs - 1].where = where != NULL ? where : "";
    *ranges = (struct ranges){0};
}

static int collect(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    struct ranges ranges = {0};
    cursor_open(&rows, database, report->path,
                "SELECT command, first_rank, last_rank FROM program "
                "ORDER BY min(first_rank) OVER (PARTITION BY command), first_rank",
                error);
    while (cursor_next(&rows)) {
        const char *command = cursor_text(&rows, 0, &report->pool);
        int64_t first = cursor_integer(&rows, 1), last = cursor_integer(&rows, 2);
        if (first < 0 || last < first)
            continue; /* in a damaged trace */
        if (report->n_programs == 0 || strcmp(report->programs[report->n_programs - 1].command, command) != 0) {
            end_program(report, &ranges);
            if (array_grow(&report->programs, report->n_programs, sizeof *report->programs) != 0) {
                cursor_no_memory(&rows);
                break;
            }
            report->programs[report->n_programs++] = (struct report_program){.command = command, .where = ""};
        }
        ranges_add_all(&ranges, first, last);
        int64_t *ranks = &report->programs[report->n_programs - 1].ranks;
        *ranks = saturating_add(*ranks, saturating_add(last - first, 1));
        name_ranks(report, first, last, command);
    }
    end_program(report, &ranges);
    return cursor_close(&rows);
}

int report_collect_programs(struct report *report, sqlite3 *database, struct error *error)
{
    bool found = false;
    for (size_t i = 0; i < report->n_ranks; i++)
        report->ranks[i].command = "";
    int result = has_table(report, database, &found, error);
    return result == 0 && found ? collect(report, database, error) : result;
}
