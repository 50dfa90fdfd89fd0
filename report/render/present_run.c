/* Writes the sections on the run itself, on its traffic by level, and on what the recording lacks, each loss in a
 * sentence with its cause and ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/render/sections.h"
#include "share/base/saturating.h"

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

/* Adds what went through the interfaces of the nodes, and how much of it the job's messages were. */
static void present_network(struct document *document, const struct report *report)
{
    char bytes[64], own[64], losses[96] = "";
    bool first = true;
    words_bytes(own, sizeof own, report->between_nodes_bytes);
    for (size_t i = 0; report->run.nodes > 1 && i < report->n_interfaces; i++) {
        const struct report_interface *interface = &report->interfaces[i];
        if (interface->errors > 0 || interface->retransmissions > 0)
            snprintf(losses, sizeof losses, "; errors %.0f, retransmissions %.0f", fmax(interface->errors, 0),
                     fmax(interface->retransmissions, 0));
        else
            losses[0] = '\0';
        if (isnan(interface->bytes) && losses[0] == '\0')
            continue;
        document_cell(document, "%s", first ? "network" : "");
        if (isnan(interface->bytes))
            document_cell(document, "%s%s", interface->name, losses);
        else if (first && report->between_nodes_bytes >= interface->bytes) /* it was counted from a bit later on */
            document_cell(document, "%s on %s, all of it this job's messages%s",
                          words_bytes(bytes, sizeof bytes, interface->bytes), interface->name, losses);
        else if (first)
            document_cell(document, "of %s on %s %s were this job's messages%s",
                          words_bytes(bytes, sizeof bytes, interface->bytes), interface->name, own, losses);
        else
            document_cell(document, "%s on %s%s", words_bytes(bytes, sizeof bytes, interface->bytes), interface->name,
                          losses);
        first = false;
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
    char date[64];
    document_cells(document, "tttst", "started", words_started(date, sizeof date, run),
                   report->part.is_part ? "part lasted" : "lasted", run->duration_s, "messages");
    document_cell(document, "%" PRId64 ", at most %" PRId64 " to one rank", report->messages, report->max_messages);
    document_cells(document, "tbt", "volume", (double)report->bytes, "eager limit");
    int64_t inside = run->eager_limit_bytes, between = run->eager_limit_network_bytes;
    if (inside < 0)
        document_cell(document, between < 0 ? "unknown" : "unknown inside a node, %" PRId64 " B between nodes",
                      between);
    else
        document_cell(document,
                      between < 0 ? "%" PRId64 " B inside a node"
                                  : "%" PRId64 " B inside a node, %" PRId64 " B between nodes",
                      inside, between);
    document_cell(document, "own cost");
    document_cell(document, isnan(run->own_cost_ns) ? "unknown" : "%.3g ns added to a nonblocking call",
                  run->own_cost_ns);
    document_cells(document, "tt", "recording", report->completeness.verdict);
    present_network(document, report);
}

void present_run(struct document *document, const struct report *report)
{
    const struct report_waited *waited = &report->waited;
    bool partial = document->partial;
    present_run_head(document, report);
    if (report->crowding.nodes > 0)
        document_warning(document,
                         "%" PRId64 " ranks share %" PRId64
                         " processors%s: times include waiting for one, which models of rounds "
                         "ignore",
                         report->crowding.ranks, report->crowding.processors,
                         report->crowding.nodes > 1 ? " on the fullest node" : "");
    document->partial = false; /* the kernel counted that, whatever was recorded */
    if (waited->ranks > 0)
        document_warning(document,
                         "%" PRId64 " of %" PRId64 " ranks waited for a processor that others had, most rank %" PRId64
                         ": %.1f %% of %.3g s (%" PRId64 " involuntary switches); times include that wait",
                         waited->ranks, report->run.world_size, waited->worst_rank, waited->wait_share * 100,
                         waited->observed_s, waited->switches);
    document->partial = partial;
}

/* How far messages between nodes go, and what the switches carry. */
static void present_switches(struct document *document, const struct report *report)
{
    if (report->n_distances == 0)
        return;
    document_line(document, "between nodes, by the lowest switch above both:");
    document_table(document, "distance|messages>|most a rank>|volume>|share>");
    for (size_t i = 0; i < report->n_distances; i++) {
        const struct report_distance *distance = &report->distances[i];
        document_cells(document, "tiibp", distance->distance, distance->messages, distance->max_messages,
                       (double)distance->bytes, distance->share);
    }
    document_line(document, "switches with most bytes; up and down: over their uplink, to nodes elsewhere and from "
                            "them:");
    document_table(document, "switch|level>|nodes>|ranks>|within>|up>|down>");
    for (size_t i = 0; i < report->n_switches; i++) {
        const struct report_switch *one = &report->switches[i];
        document_cells(document, "tiiibbb", one->name, one->level, one->nodes, one->ranks, (double)one->within_bytes,
                       (double)one->up_bytes, (double)one->down_bytes);
    }
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
    present_switches(document, report);
}

/* What the causes of the table loss, and the reasons of the table unmatched, mean. */
static const char *const loss_texts[][2] = {
    {"disk", "the file system had no room"},
    {"limit", "the limit of the spool was reached (MPISTAIR_SPOOL_LIMIT)"},
    {"memory", "no memory for the recorder's tables"},
    {"closed", "the program closed the descriptor of the spool"},
    {"file_size", "the limit of the size of files was reached (ulimit -f, RLIMIT_FSIZE)"},
    {"address_space", "the limit of the address space was reached (ulimit -v, RLIMIT_AS)"},
    {"cut_off", "the spool ends early, as after a copy that was cut off"},
    {"damaged", "records that cannot be read"},
    {"refused", "the system refused room for the spool (MPISTAIR_PREALLOCATE takes all in MPI_Init)"},
};
static const char *const reason_texts[][2] = {
    {"partner_lost", "the other process left no spool, or lost records"},
    {"failed", "their call returned an error, or was left by a jump"},
    {"pending", "never completed"},
    {"freed", "their request was freed"},
    {"unmatched", "the other side was not recorded, as of calls past the library (dlsym on the MPI's handle)"},
    {"proc_null", "MPI_PROC_NULL"},
    {"cancelled", "by the program"},
};
/* Causes of which each rank has one loss; what is said before the ranks and behind them. */
static const char *const rank_texts[][3] = {
    {"no_spool", "no spool", "; their calls are missing"},
    {"not_joined", "did not join the recording",
     ", as processes that are started without the library; what they did is not here, and messages from and to them "
     "have no partner"},
    {"at_once", "ended at once, in MPI_Init", ""},
};

static const char *text_of(const char *const texts[][2], size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(texts[i][0], name) == 0)
            return texts[i][1];
    return name;
}
#define TEXT_OF(texts, name) text_of(texts, sizeof texts / sizeof texts[0], name)

static void present_lost(struct document *document, const struct report *report)
{
    for (size_t i = 0; i < report->n_losses; i++) {
        const struct report_count *loss = &report->losses[i];
        size_t at = 0;
        while (at < sizeof rank_texts / sizeof rank_texts[0] && strcmp(rank_texts[at][0], loss->name) != 0)
            at++;
        if (at < sizeof rank_texts / sizeof rank_texts[0])
            document_warning(document, "%s: %" PRId64 " of %" PRId64 " ranks (rank%s %s)%s", rank_texts[at][1],
                             loss->ranks, report->run.world_size, words_plural(loss->ranks), loss->where,
                             rank_texts[at][2]);
        else
            document_warning(document, "lost: %" PRId64 " record%s on rank%s %s (%s): %s", loss->n,
                             words_plural(loss->n), words_plural(loss->ranks), loss->where, loss->name,
                             TEXT_OF(loss_texts, strncmp(loss->name, "refused", 7) == 0 ? "refused" : loss->name));
    }
}

static void present_untracked(struct document *document, const struct report *report)
{
    int64_t calls = 0, functions = 0;
    for (size_t i = 0; i < report->n_untracked; i++) {
        const struct report_count *count = &report->untracked[i];
        if (!count->affects_messages) {
            functions++;
            calls = saturating_add(calls, count->n);
            continue;
        }
        document_warning(document, "not recorded: %s, %" PRId64 " call%s on rank%s %s; may carry messages", count->name,
                         count->n, words_plural(count->n), words_plural(count->ranks), count->where);
    }
    if (functions > 0)
        document_line(document,
                      "only counted: %" PRId64 " call%s of %" PRId64 " function%s; no message is missing for them",
                      calls, words_plural(calls), functions, words_plural(functions));
}

static void present_unmatched(struct document *document, const struct report *report)
{
    for (size_t i = 0; i < report->n_unmatched; i++) {
        const struct report_count *count = &report->unmatched[i];
        document_add(document, count->affects_messages ? DOCUMENT_WARNING : DOCUMENT_LINE,
                     "without a partner: %" PRId64 " operation%s on rank%s %s (%s): %s", count->n,
                     words_plural(count->n), words_plural(count->ranks), count->where, count->name,
                     TEXT_OF(reason_texts, count->name));
    }
}

enum { PLACES_TOLD = 10 };

static void present_rejected(struct document *document, const struct report *report)
{
    for (size_t i = 0; i < report->n_rejected && i < PLACES_TOLD; i++) {
        const struct report_count *count = &report->rejected[i];
        document_line(document, "rejected by MPI: %" PRId64 " operation%s on rank%s %s: %s", count->n,
                      words_plural(count->n), words_plural(count->ranks), count->where, count->name);
    }
    if (report->n_rejected > PLACES_TOLD)
        document_line(document, "rejected by MPI: more at %zu other places, see the view rejected_call",
                      report->n_rejected - PLACES_TOLD);
}

static void present_unnamed(struct document *document, const struct report *report)
{
    for (size_t i = 0; i < report->n_unnamed && i < PLACES_TOLD; i++)
        document_warning(document, "without lines: %" PRId64 " call site%s of %s", report->unnamed[i].n,
                         words_plural(report->unnamed[i].n), report->unnamed[i].name);
    if (report->n_unnamed > PLACES_TOLD)
        document_warning(document, "without lines: more of %zu other modules, see the table unnamed_module",
                         report->n_unnamed - PLACES_TOLD);
}

static void present_doubts(struct document *document, const struct report *report)
{
    const struct report_completeness *complete = &report->completeness;
    if (complete->uncertain > 0)
        document_warning(document, "the order of %" PRId64 " message%s was not certain:", complete->uncertain,
                         words_plural(complete->uncertain));
    for (size_t i = 0; i < report->n_doubts; i++)
        document_warning(document, "  of %" PRId64 ": %s", report->doubts[i].n, report->doubts[i].name);
    if (complete->unknown_communicators > 0)
        document_warning(document, "communicators whose creation was not seen: %" PRId64,
                         complete->unknown_communicators);
}

static void present_ends(struct document *document, const struct report *report)
{
    const struct report_rank *first = NULL;
    int64_t unfinished = 0;
    for (size_t i = report->n_ranks; i-- > 0;) {
        const char *ended = report->ranks[i].ended;
        if (strcmp(ended, "finalize") != 0 && strcmp(ended, "lost") != 0 && strcmp(ended, "at once") != 0) {
            first = &report->ranks[i];
            unfinished++;
        }
    }
    if (first != NULL)
        document_warning(document, "ended without MPI_Finalize: %" PRId64 " rank%s, first rank %" PRId64 " (%s)",
                         unfinished, words_plural(unfinished), first->rank, first->ended);
}

static void present_off(struct document *document, const struct report_off *off)
{
    if (off->times == 0)
        return;
    document_warning(document,
                     "recording was off (MPI_Pcontrol, MPISTAIR_WINDOW): %" PRId64
                     " time%s on rank%s %s, %.3g s in all; left out: %" PRId64 " operation%s posted then and %" PRId64
                     " partner%s of them",
                     off->times, words_plural(off->times), words_plural(off->ranks), off->where, off->time_s,
                     off->operations, words_plural(off->operations), off->partners, words_plural(off->partners));
}

void present_completeness(struct document *document, const struct report *report)
{
    const struct report_completeness *complete = &report->completeness;
    document_line(document, "%s; %" PRId64 " operation%s posted, %" PRId64 " matched", complete->verdict,
                  complete->posted, words_plural(complete->posted), complete->matched);
    if (report->run.launched > 0)
        document_warning(document,
                         "%" PRId64
                         " ranks were expected, each made a world and a trace of its own: start the job with the "
                         "mpiexec of its MPI",
                         report->run.launched);
    for (size_t i = 0; i < report->shards.n_faults; i++)
        document_warning(document, "%s", report->shards.faults[i]);
    present_lost(document, report);
    present_ends(document, report);
    present_untracked(document, report);
    present_unmatched(document, report);
    present_rejected(document, report);
    present_unnamed(document, report);
    present_doubts(document, report);
    present_off(document, &complete->off);
    if (complete->idle_calls > 0)
        document_line(document, "unsuccessful tests and probes: %" PRId64 ", of which only sums are kept",
                      complete->idle_calls);
}
