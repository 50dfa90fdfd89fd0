/* Writes the sections on the run itself and on its traffic by level. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "report/render/sections.h"

/* Shows the limits of the transport in use inside a node and between nodes, as the MPI reports them. */
static void present_limits(struct document *document, const struct report_run *run)
{
    int64_t inside = run->eager_limit_bytes, between = run->eager_limit_network_bytes;
    if (inside < 0 && between < 0)
        document_cell(document, "unknown");
    else if (between < 0)
        document_cell(document, "%" PRId64 " B inside a node", inside);
    else if (inside < 0)
        document_cell(document, "unknown inside a node, %" PRId64 " B between nodes", between);
    else
        document_cell(document, "%" PRId64 " B inside a node, %" PRId64 " B between nodes", inside, between);
}

/* Shows the command, or, of several programs, each with its ranks. */
static void present_all_programs(struct document *document, const struct report *report)
{
    if (report->n_programs < 2) {
        document_cells(document, "tt", "command", report->run.command);
        return;
    }
    for (size_t i = 0; i < report->n_programs; i++) {
        const struct report_program *program = &report->programs[i];
        document_cell(document, "%s", i == 0 ? "commands" : "");
        document_cell(document, "%s (rank%s %s)", program->command, words_plural(program->ranks), program->where);
    }
}

static void present_run_head(struct document *document, const struct report *report)
{
    const struct report_run *run = &report->run;
    document_table(document, "|");
    present_all_programs(document, report);
    document_cell(document, "MPI");
    /* Open MPI adds its package and more behind a comma. */
    document_cell(document, "%.*s, %s%s%s", (int)strcspn(run->mpi_library, ","), run->mpi_library, run->thread_level,
                  run->started_by[0] != '\0' ? ", started by " : "", run->started_by);
    document_cell(document, "ranks");
    document_cell(document, "%" PRId64 " on %" PRId64 " node%s", run->world_size, report->run.nodes,
                  words_plural(report->run.nodes));
    time_t started = (time_t)(run->started_unix_ns / 1000000000);
    struct tm utc;
    char date[64] = "at a time not known";
    if (gmtime_r(&started, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &utc);
    document_cells(document, "tttst", "started", date, "lasted", run->duration_s, "messages");
    document_cell(document, "%" PRId64 ", at most %" PRId64 " to one rank", report->messages, report->max_messages);
    document_cells(document, "tbt", "volume", (double)report->bytes, "eager limit");
    present_limits(document, run);
    document_cell(document, "own cost");
    if (isnan(run->own_cost_ns))
        document_cell(document, "unknown");
    else
        document_cell(document, "%.3g ns added to a nonblocking call", run->own_cost_ns);
    document_cells(document, "tt", "recording", report->completeness.verdict);
}

static void present_crowding(struct document *document, const struct report *report)
{
    if (report->crowding.nodes > 0)
        document_warning(document,
                         "%" PRId64 " ranks share %" PRId64
                         " processors%s: times include waiting for one, which models of rounds "
                         "ignore",
                         report->crowding.ranks, report->crowding.processors,
                         report->crowding.nodes > 1 ? " on the fullest node" : "");
}

static void present_waited(struct document *document, const struct report *report)
{
    const struct report_waited *waited = &report->waited;
    bool partial = document->partial;
    document->partial = false; /* the kernel counted that, whatever was recorded */
    if (waited->ranks > 0)
        document_warning(document,
                         "%" PRId64 " of %" PRId64 " ranks waited for a processor that others had, most rank %" PRId64
                         ": %.1f %% of %.3g s (%" PRId64 " involuntary switches); times include that wait",
                         waited->ranks, report->run.world_size, waited->worst_rank, waited->wait_share * 100,
                         waited->observed_s, waited->switches);
    document->partial = partial;
}

void present_run(struct document *document, const struct report *report)
{
    present_run_head(document, report);
    present_crowding(document, report);
    present_waited(document, report);
}

void present_levels(struct document *document, const struct report *report)
{
    if (report->n_levels == 0) {
        document_line(document, "no messages were recorded");
        return;
    }
    document_table(document, "level|messages>|most a rank>|volume>|share>");
    for (size_t i = 0; i < report->n_levels; i++) {
        document_cells(document, "tiibp", report->levels[i].level, report->levels[i].messages,
                       report->levels[i].max_messages, (double)report->levels[i].bytes, report->levels[i].share);
    }
}
