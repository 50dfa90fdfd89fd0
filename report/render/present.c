/* Puts the report in the order in which a reader asks: the run and whether it is all there, levels, rounds, models,
 * then the ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/render/render.h"

enum { RANKS_SHOWN_WHOLE = 64, RANKS_WORST = 16 };

#define TABLE(document, columns) document_table(document, columns, sizeof(columns) / sizeof(columns)[0])

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Returns ratio in percent, for a text in the middle of a line. */
static double percent(double ratio)
{
    return isnan(ratio) ? 0 : ratio * 100;
}

/* Returns an error of a model as the text shows it: NaN, thus not at all, where rounds overlap too much. */
static double claimed(const struct report *report, double error)
{
    return report->errors_withheld ? NAN : error;
}

/* Shows the limits of the transport in use inside a node and between nodes, as the MPI tells them. */
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

static void present_run(struct document *document, const struct report *report)
{
    static const struct document_column columns[] = {{NULL, false}, {NULL, false}};
    const struct report_run *run = &report->run;
    document_add(document, DOCUMENT_HEADING, "Run");
    TABLE(document, columns);
    document_cell(document, "command");
    document_cell(document, "%s", run->command);
    document_cell(document, "MPI");
    /* Open MPI tells its package and more behind a comma. */
    document_cell(document, "%.*s, %s%s%s", (int)strcspn(run->mpi_library, ","), run->mpi_library, run->thread_level,
                  run->started_by[0] != '\0' ? ", started by " : "", run->started_by);
    document_cell(document, "ranks");
    document_cell(document, "%" PRId64 " on %" PRId64 " node%s", run->world_size, report->nodes, plural(report->nodes));
    time_t started = (time_t)(run->started_unix_ns / 1000000000);
    struct tm utc;
    char date[64] = "at a time not known";
    if (gmtime_r(&started, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &utc);
    document_cell(document, "started");
    document_cell(document, "%s", date);
    document_cell(document, "lasted");
    document_seconds(document, run->duration_s);
    document_cell(document, "messages");
    document_cell(document, "%" PRId64 ", at most %" PRId64 " to one rank", report->messages, report->max_messages);
    document_cell(document, "volume");
    document_bytes(document, (double)report->bytes);
    document_cell(document, "eager limit");
    present_limits(document, run);
    document_cell(document, "own cost");
    if (isnan(run->own_cost_ns))
        document_cell(document, "unknown");
    else
        document_cell(document, "%.3g ns added to a nonblocking call", run->own_cost_ns);
    document_cell(document, "recording");
    document_cell(document, "%s", report->completeness.verdict);
}

static void present_crowding(struct document *document, const struct report *report)
{
    if (report->crowding.nodes > 0)
        document_add(document, DOCUMENT_WARNING,
                     "%" PRId64 " ranks share %" PRId64
                     " processors%s: times hold the wait for one, which models of rounds do not "
                     "know of",
                     report->crowding.ranks, report->crowding.processors,
                     report->crowding.nodes > 1 ? " on the fullest node" : "");
}

static void present_waited(struct document *document, const struct report *report)
{
    const struct report_waited *waited = &report->waited;
    if (waited->ranks > 0)
        document_add(document, DOCUMENT_WARNING,
                     "%" PRId64 " of %" PRId64 " ranks waited for a processor that others had, most rank %" PRId64
                     ": %.1f %% of %.3g s (%" PRId64 " involuntary switches); times hold that wait",
                     waited->ranks, report->run.world_size, waited->worst_rank, waited->wait_share * 100,
                     waited->observed_s, waited->switches);
}

static void present_levels(struct document *document, const struct report *report)
{
    static const struct document_column columns[] = {
        {"level", false}, {"messages", true}, {"most a rank", true}, {"volume", true}, {"share", true}};
    document_add(document, DOCUMENT_HEADING, "Levels");
    if (report->n_levels == 0) {
        document_add(document, DOCUMENT_LINE, "no messages were recorded");
        return;
    }
    TABLE(document, columns);
    for (size_t i = 0; i < report->n_levels; i++) {
        document_cell(document, "%s", report->levels[i].level);
        document_cell(document, "%" PRId64, report->levels[i].messages);
        document_cell(document, "%" PRId64, report->levels[i].max_messages);
        document_bytes(document, (double)report->levels[i].bytes);
        document_percent(document, report->levels[i].share, false);
    }
}

static void present_rounds(struct document *document, const struct report *report)
{
    static const struct document_column columns[] = {
        {"kind", true}, {"rounds", true}, {"messages", true}, {"a rank", true}, {"volume", true},
        {"on", true},   {"off", true},    {"node", true},     {"time", true},   {"error", true}};
    document_add(document, DOCUMENT_HEADING, "Rounds");
    document_add(document, DOCUMENT_LINE,
                 "%" PRId64 " round%s of %" PRId64 " kind%s; %.1f %% of the time in kinds of three and more rounds",
                 report->rounds, plural(report->rounds), report->all_kinds, plural(report->all_kinds),
                 percent(report->repeated_share));
    if (report->families < report->all_kinds)
        document_add(document, DOCUMENT_LINE,
                     "%" PRId64
                     " famil%s of kinds that differ in sizes alone; %.1f %% of the time in those of three and "
                     "more rounds",
                     report->families, report->families == 1 ? "y" : "ies", percent(report->family_share));
    if (report->n_kinds == 0)
        return;
    document_add(document, DOCUMENT_LINE,
                 "late senders: %.1f %% of the time a receive waited for its message to be sent",
                 percent(report->late_senders_share));
    document_add(document, DOCUMENT_LINE,
                 "late receivers: %.1f %% of the time a send waited for its receive to be posted",
                 percent(report->late_receivers_share));
    document_add(document, DOCUMENT_LINE,
                 "concurrent: in %.1f %% of the time another round was under way on the same socket or NIC",
                 percent(report->concurrent_share));
    if (report->all_kinds > (int64_t)report->n_kinds)
        document_add(document, DOCUMENT_LINE, "the heaviest %zu:", report->n_kinds);
    size_t best = report_best_model(report);
    document_table(document, columns, sizeof columns / sizeof columns[0] - (best == report->n_models ? 1 : 0));
    for (size_t i = 0; i < report->n_kinds; i++) {
        const struct report_kind *kind = &report->kinds[i];
        document_cell(document, "%" PRId64, kind->id);
        document_cell(document, "%" PRId64, kind->rounds);
        document_cell(document, "%" PRId64, kind->messages);
        document_cell(document, "%" PRId64, kind->max_messages);
        document_bytes(document, (double)kind->bytes);
        document_percent(document, kind->intra_socket, false);
        document_percent(document, kind->inter_socket, false);
        document_percent(document, kind->inter_node, false);
        document_percent(document, kind->time_share, false);
        if (best < report->n_models)
            document_percent(document, claimed(report, kind->error[best]), false);
    }
    document_add(document, DOCUMENT_LINE,
                 "of one round: messages, most to a rank, volume, its share on-socket, off-socket,");
    if (best == report->n_models)
        document_add(document, DOCUMENT_LINE, "inter-node; of all rounds: share of the time");
    else
        document_add(document, DOCUMENT_LINE, "inter-node; of all rounds: share of the time, error of %s on %s",
                     report->models[best].title, report->models[best].machine);
}

/* Shows a model's time of a rank; returns true where it is marked: the rank was busy, and nothing of that is in the
 * model. */
static bool present_modelled(struct document *document, double measured, double modelled)
{
    bool unknown = measured > 0 && modelled <= 0;
    if (unknown)
        document_cell(document, "0.00 us ~");
    else
        document_seconds(document, modelled);
    return unknown;
}

static void explain_unknown(struct document *document)
{
    document_add(
        document, DOCUMENT_LINE,
        "~ the model knows nothing of what this rank does: max-rate counts receives only, node-aware sends only");
}

static void present_models(struct document *document, const struct report *report)
{
    static const struct document_column columns[] = {{"machine", false}, {"model", false},  {"error", true},
                                                     {"MAPE", true},     {"bias", true},    {"worst rank", true},
                                                     {"measured", true}, {"modelled", true}};
    document_add(document, DOCUMENT_HEADING, "Models");
    if (report->n_models == 0) {
        document_add(document, DOCUMENT_LINE, "none yet. 'mpistair machine list' shows the machines known here, then:");
        document_add(document, DOCUMENT_LINE, "mpistair predict %s --machine NAME --model all", report->path);
    } else {
        TABLE(document, columns);
    }
    bool extrapolated = false, unknown = false;
    double coverage = 1;
    for (size_t i = 0; i < report->n_models; i++) {
        const struct report_model *model = &report->models[i];
        extrapolated = extrapolated || model->extrapolated;
        coverage = fmin(coverage, model->coverage);
        document_cell(document, "%s", model->machine);
        document_cell(document, "%s%s", model->title, model->extrapolated ? " *" : "");
        document_percent(document, claimed(report, model->error), false);
        document_percent(document, claimed(report, model->mape), false);
        document_percent(document, claimed(report, model->bias), true);
        document_cell(document, "%" PRId64, model->worst_rank);
        double measured = NAN, modelled = NAN;
        for (size_t k = 0; k < report->n_ranks; k++)
            if (report->ranks[k].rank == model->worst_rank) {
                measured = report->ranks[k].covered_s[i];
                modelled = report->ranks[k].model_s[i];
            }
        document_seconds(document, measured);
        unknown = present_modelled(document, measured, modelled) || unknown;
    }
    if (extrapolated)
        document_add(document, DOCUMENT_LINE, "* beyond the ends of a bandwidth table of the machine");
    if (unknown)
        explain_unknown(document);
    if (report->errors_withheld && report->n_models > 0)
        document_add(document, DOCUMENT_WARNING,
                     "no error is claimed: rounds overlap (see Rounds), and the models take them one by one");
    if (coverage < 0.999)
        document_add(document, DOCUMENT_WARNING, "a model covers only %.1f %% of the measured time: predict again",
                     percent(coverage));
    if (isnan(report->replicate_error))
        document_add(document, DOCUMENT_LINE, "replicate error: none, no kind has two rounds");
    else
        document_add(document, DOCUMENT_LINE,
                     "replicate error: %.1f %% (%s; %.1f %% of the time has two and more rounds)",
                     percent(report->replicate_error), report->replicate_basis, percent(report->replicate_share));
}

/* Returns by what the ranks are ordered: with a model how far it is off, else the time. */
static double weight(const struct report_rank *rank, size_t model, size_t n_models)
{
    double value = model < n_models ? rank->off_s[model] : rank->actual_s;
    return isnan(value) ? -1 : value;
}

struct ranking {
    const struct report_rank *rank;
    double weight;
};

static int heavier(const void *left, const void *right)
{
    const struct ranking *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return (a->rank->rank > b->rank->rank) - (a->rank->rank < b->rank->rank);
}

static int in_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Shows, for many ranks, the middle, the ninth decile and the largest of the ranks' own errors (or times). */
static void present_distribution(struct document *document, const struct report *report, size_t model)
{
    double *values = calloc(report->n_ranks, sizeof *values);
    size_t n = 0;
    if (values == NULL) {
        document->no_memory = true;
        return;
    }
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        double value = model < report->n_models ? rank->off_s[model] / rank->covered_s[model] * 100 : rank->actual_s;
        if (isfinite(value))
            values[n++] = value;
    }
    qsort(values, n, sizeof *values, in_order);
    if (n > 0)
        document_add(document, DOCUMENT_LINE,
                     model < report->n_models
                         ? "all %zu: median error %.1f %%, nine of ten below %.1f %%, largest %.1f %%"
                         : "all %zu: median %.3g s, nine of ten below %.3g s, longest %.3g s",
                     n, values[n / 2], values[n * 9 / 10 < n ? n * 9 / 10 : n - 1], values[n - 1]);
    free(values);
}

/* Shows a rank; returns true where its modelled time is marked. */
static bool present_rank(struct document *document, const struct report *report, const struct report_rank *rank,
                         size_t model)
{
    bool unknown = false;
    document_cell(document, "%" PRId64, rank->rank);
    if (rank->node < 0)
        document_cell(document, "-");
    else if (rank->socket < 0)
        document_cell(document, "%" PRId64 "/-", rank->node);
    else
        document_cell(document, "%" PRId64 "/%" PRId64, rank->node, rank->socket);
    if (model < report->n_models) {
        document_seconds(document, rank->covered_s[model]);
        document_percent(document, rank->late_senders_s / rank->actual_s, false);
        document_percent(document, rank->late_receivers_s / rank->actual_s, false);
        unknown = present_modelled(document, rank->covered_s[model], rank->model_s[model]);
        document_percent(document, claimed(report, rank->off_s[model] / rank->covered_s[model]), false);
        document_percent(
            document, claimed(report, (rank->model_s[model] - rank->covered_s[model]) / rank->covered_s[model]), true);
        document_bar(document, rank->covered_s[model], rank->model_s[model]);
    } else {
        document_bytes(document, (double)rank->received_bytes);
        document_seconds(document, rank->in_mpi_s);
        document_seconds(document, rank->actual_s);
        document_percent(document, rank->late_senders_s / rank->actual_s, false);
        document_percent(document, rank->late_receivers_s / rank->actual_s, false);
        document_bar(document, rank->actual_s, NAN);
    }
    return unknown;
}

static void present_ranks(struct document *document, const struct report *report, bool all_ranks)
{
    static const struct document_column modelled[] = {{"rank", true},      {"node/socket", false}, {"measured", true},
                                                      {"late send", true}, {"late recv", true},    {"modelled", true},
                                                      {"error", true},     {"bias", true}};
    static const struct document_column measured[] = {{"rank", true},     {"node/socket", false}, {"received", true},
                                                      {"in MPI", true},   {"measured", true},     {"late send", true},
                                                      {"late recv", true}};
    size_t model = report_best_model(report), n = report->n_ranks;
    document_add(document, DOCUMENT_HEADING, "Ranks");
    struct ranking *ranking = calloc(n + 1, sizeof *ranking);
    if (ranking == NULL) {
        document->no_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        ranking[i] = (struct ranking){&report->ranks[i], weight(&report->ranks[i], model, report->n_models)};
    if (model < report->n_models)
        document_add(document, DOCUMENT_LINE, "time in all rounds, # measured, | modelled by %s on %s",
                     report->models[model].title, report->models[model].machine);
    else
        document_add(document, DOCUMENT_LINE, "time in all rounds from first post to last completion, # measured");
    if (n > RANKS_SHOWN_WHOLE && !all_ranks) {
        qsort(ranking, n, sizeof *ranking, heavier);
        n = RANKS_WORST;
        present_distribution(document, report, report->errors_withheld ? report->n_models : model);
        document_add(document, DOCUMENT_LINE, "the %zu %s (--all-ranks shows all):", n,
                     model < report->n_models ? "furthest off" : "with the longest time");
    }
    if (model < report->n_models)
        TABLE(document, modelled);
    else
        TABLE(document, measured);
    bool unknown = false;
    for (size_t i = 0; i < n; i++)
        unknown = present_rank(document, report, ranking[i].rank, model) || unknown;
    if (unknown)
        explain_unknown(document);
    free(ranking);
}

int present(struct document *document, const struct report *report, bool all_ranks, struct error *error)
{
    *document = (struct document){0};
    present_run(document, report);
    present_crowding(document, report);
    present_waited(document, report);
    present_replay(document, report);
    present_completeness(document, report);
    present_levels(document, report);
    present_rounds(document, report);
    present_models(document, report);
    present_ranks(document, report, all_ranks);
    present_overlap(document, report);
    present_why(document, report);
    return document->no_memory ? error_set(error, "%s: no memory for the report", report->path) : 0;
}
