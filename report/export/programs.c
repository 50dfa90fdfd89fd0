/* Writes the program of the run for the simulators LogGOPSim and SimGrid, as `mpistair replay` does. The program is
 * read with the same window; a rank that is not wanted is there and does nothing. */
#include "report/export/trace_export.h"

#include "interpose/database/cursor.h"
#include "predictor/run_export/run_export.h"

/* Counts by the rule of that window: the calls that post both ends lie inside as a whole. */
static int note_kept(struct export *export, const struct run_program *program)
{
    struct cursor rows;
    int64_t n = 0, kept = 0;
    if (export->selection.all)
        return 0;
    cursor_open(&rows, export->database, export->path, "SELECT count(*) FROM message_row", export->error);
    if (cursor_next(&rows))
        n = cursor_integer(&rows, 0);
    for (size_t i = 0; i < program->n_messages; i++)
        kept += (program->messages[i].flags & MESSAGE_ONE_SIDED) == 0;
    if (rows.result == 0)
        fprintf(stderr, "mpistair: note: left out, as outside of --ranks, --from, --to: %lld of %lld messages\n",
                (long long)(n - kept), (long long)n);
    return cursor_close(&rows);
}

static int export_program(struct export *export, bool goal)
{
    const char *output = export->output != NULL ? export->output : "-";
    struct run_window window = export->wish->window;
    struct run_program program = {0};
    if (export->selection.part_of_ranks)
        window.ranks = export->selection.wanted;
    if (run_program_read(export->database, export->path, &window, &program, export->error) != 0)
        return -1;
    int result = run_export(&program, goal ? output : NULL, goal ? NULL : output, export->error);
    if (result == 0)
        result = note_kept(export, &program);
    run_program_release(&program);
    return result;
}

int export_goal(struct export *export)
{
    return export_program(export, true);
}

int export_simgrid(struct export *export)
{
    return export_program(export, false);
}
