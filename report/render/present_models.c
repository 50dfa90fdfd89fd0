/* Writes the sections on rounds and their kinds; on models: how far each is from what was measured, beside how far the
 * run is from itself; on ranks, one by one, or of many those that are furthest off; on overlap, only where ranks
 * compute between post and wait; and on why: what the times of the worst ranks are made of, with whom, and who waits
 * for whom. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/render/sections.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

/* Adds the cell of a model's time of a rank, in s; returns true where it is marked: the rank was busy, and nothing of
 * that is in the model. */
static bool present_modelled_time(struct document *document, double measured, double modelled)
{
    bool unknown = measured > 0 && modelled <= 0;
    if (unknown)
        document_cell(document, "0.00 us ~");
    else
        document_cells(document, "s", modelled);
    return unknown;
}

/* Explains the mark. */
static void present_unknown(struct document *document)
{
    document_line(document,
                  "~ the model ignores what this rank does: max-rate counts receives only, node-aware sends only");
}

void present_rounds(struct document *document, const struct report *report)
{
    document_line(document,
                  "%" PRId64 " round%s of %" PRId64 " kind%s; %.1f %% of the time in kinds of three and more rounds",
                  report->rounds, words_plural(report->rounds), report->all_kinds, words_plural(report->all_kinds),
                  words_percent(report->repeated_share));
    if (report->families < report->all_kinds)
        document_line(document,
                      "%" PRId64
                      " famil%s of kinds that differ in sizes alone; %.1f %% of the time in those of three and "
                      "more rounds",
                      report->families, report->families == 1 ? "y" : "ies", words_percent(report->family_share));
    if (report->n_kinds == 0)
        return;
    document_line(document, "late senders: %.1f %% of the time a receive waited for its message to be sent",
                  words_percent(report->late_senders_share));
    document_line(document, "late receivers: %.1f %% of the time a send waited for its receive to be posted",
                  words_percent(report->late_receivers_share));
    if (!report->shards.by_sums)
        document_line(document,
                      "concurrent: in %.1f %% of the time another round was under way on the same socket or NIC",
                      words_percent(report->concurrent_share));
    if (report->all_kinds > (int64_t)report->n_kinds)
        document_line(document, "the heaviest %zu:", report->n_kinds);
    size_t best = report_best_of_rounds(report);
    document_table(document, best < report->n_models
                                 ? "kind>|rounds>|messages>|a rank>|volume>|on>|off>|node>|time>|error>"
                                 : "kind>|rounds>|messages>|a rank>|volume>|on>|off>|node>|time>");
    for (size_t i = 0; i < report->n_kinds; i++) {
        const struct report_kind *kind = &report->kinds[i];
        document_cells(document, "iiiibpppp", kind->kind, kind->rounds, kind->messages, kind->max_messages,
                       (double)kind->bytes, kind->intra_socket, kind->inter_socket, kind->inter_node, kind->time_share);
        if (best < report->n_models)
            document_cells(document, "p", words_claimed(&report->models[best], kind->error[best]));
    }
    document_line(
        document,
        "of one round: messages, most to a rank, volume, its share on-socket, off-socket, inter-node; of all rounds: "
        "share of the time%s%s%s%s",
        best == report->n_models ? "" : ", error of ", best == report->n_models ? "" : report->models[best].title,
        best == report->n_models ? "" : " on ", best == report->n_models ? "" : report->models[best].machine);
}

static void present_part_error(struct document *document, const struct report_part_error *part)
{
    char path[1024];
    if (part->path[0] != '\0')
        document_cell(document, "%s", words_shorten(path, sizeof path, part->path, sizeof path - 8));
    else
        document_cell(document, "from %.4g to %.4g s", part->begin_s, part->end_s);
    document_cells(document, "sspci", part->actual_s, part->model_s, part->error, part->bias, part->worst_rank);
}

/* Shows the window and the region in which the best law is furthest off. */
static void present_part_errors(struct document *document, const struct report *report)
{
    size_t window = report_worst_part(report->window_errors, report->n_window_errors);
    size_t region = report_worst_part(report->region_errors, report->n_region_errors);
    if (window == report->n_window_errors)
        return;
    document_line(document, "where %s is furthest off, of %ssixtieths of the run with %.0f %% of the time or more:",
                  report->models[report_best_model(report)].title,
                  region < report->n_region_errors ? "regions and " : "", 100 * REPORT_ERROR_SHARE);
    document_table(document, "part of the run|measured>|modelled>|error>|bias>|worst rank>");
    present_part_error(document, &report->window_errors[window]);
    if (region < report->n_region_errors)
        present_part_error(document, &report->region_errors[region]);
}

void present_models(struct document *document, const struct report *report)
{
    if (report->n_models == 0) {
        document_line(document, "none yet. 'mpistair machine list' shows the machines known here, then:");
        document_line(document, "mpistair predict %s --machine NAME --model all", report->path);
    } else {
        document_table(document, "machine|model|error>|MAPE>|bias>|worst rank>|measured>|modelled>");
    }
    bool extrapolated = false, unknown = false, withheld = false;
    double coverage = 1;
    for (size_t i = 0; i < report->n_models; i++) {
        const struct report_model *model = &report->models[i];
        extrapolated = extrapolated || model->extrapolated;
        coverage = fmin(coverage, model->coverage);
        document_cell(document, "%s", model->machine);
        document_cell(document, "%s%s", model->title, model->extrapolated ? " *" : "");
        document_cells(document, "ppci", words_claimed(model, model->error), words_claimed(model, model->mape),
                       words_claimed(model, model->bias), model->worst_rank);
        document_cells(document, "s", model->worst_actual_s);
        unknown = present_modelled_time(document, model->worst_actual_s, model->worst_model_s) || unknown;
        withheld = withheld || model->withheld;
    }
    if (extrapolated)
        document_line(document, "* beyond the ends of a bandwidth table of the machine");
    if (unknown)
        present_unknown(document);
    if (withheld)
        document_warning(document,
                         "of rounds no error is claimed: they overlap (see Rounds), and are taken one by one");
    if (words_judgement(report) != NULL)
        document_warning(document, "%s", words_judgement(report));
    if (coverage < 0.999)
        document_warning(document, "a model covers only %.1f %% of the measured time: predict again",
                         words_percent(coverage));
    if (isnan(report->replicate_error))
        document_line(document, "replicate error: none, nothing came twice");
    else
        document_line(document, "replicate error: %.1f %% (%s; of %.1f %% of the time)",
                      words_percent(report->replicate_error), report->replicate_basis,
                      words_percent(report->replicate_share));
    present_part_errors(document, report);
    if (report->n_site_errors == 0)
        return;
    document_line(document, "call sites where %s is furthest off, all ranks; off: sum of |measured - modelled|:",
                  report->models[report_best_model(report)].title);
    document_table(document, "measured>|modelled>|off>|call");
    for (size_t i = 0; i < report->n_site_errors; i++) {
        const struct report_site_error *site = &report->site_errors[i];
        document_cells(document, "sss", site->actual_s, site->model_s, site->off_s);
        document_cell(document, "%s %s", site->function, site->place);
    }
}

enum { RANKS_SHOWN_WHOLE = 64, RANKS_WORST = 16 };

/* Returns by what the ranks are ordered: with a model how far it is off, else the time. */
static double weight(const struct report_rank *rank, size_t model, size_t n_models)
{
    double value = model < n_models ? rank->models[model].off_s : rank->actual_s;
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
    return ORDER(a->rank->rank, b->rank->rank);
}

/* Shows, for many ranks, the middle, the ninth decile and the largest of the ranks' own errors (or times). */
static void present_distribution(struct document *document, const struct report *report, size_t model)
{
    double *values = xcalloc(report->n_ranks, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        double value =
            model < report->n_models ? rank->models[model].off_s / rank->models[model].actual_s * 100 : rank->actual_s;
        if (isfinite(value))
            values[n++] = value;
    }
    sort_doubles(values, n);
    if (n > 0)
        document_line(document,
                      model < report->n_models
                          ? "all %zu: median error %.1f %%, nine of ten below %.1f %%, largest %.1f %%"
                          : "all %zu: median %.3g s, nine of ten below %.3g s, longest %.3g s",
                      n, values[n / 2], values[n * 9 / 10 < n ? n * 9 / 10 : n - 1], values[n - 1]);
    free(values);
}

/* Shows a rank; returns true where its modelled time is marked. */
static bool present_rank(struct document *document, const struct report *report, const struct report_rank *rank,
                         size_t best)
{
    bool unknown = false;
    document_cells(document, "i", rank->rank);
    if (rank->node < 0)
        document_cell(document, "-");
    else if (rank->socket < 0)
        document_cell(document, "%" PRId64 "/-", rank->node);
    else
        document_cell(document, "%" PRId64 "/%" PRId64, rank->node, rank->socket);
    if (best < report->n_models) {
        const struct report_rank_model *model = &rank->models[best];
        document_cells(document, "spp", model->actual_s, rank->late_senders_s / rank->actual_s,
                       rank->late_receivers_s / rank->actual_s);
        unknown = present_modelled_time(document, model->actual_s, model->model_s);
        document_cells(document, "pc", words_claimed(&report->models[best], model->off_s / model->actual_s),
                       words_claimed(&report->models[best], (model->model_s - model->actual_s) / model->actual_s));
        document_bar(document, model->actual_s, model->model_s);
    } else {
        document_cells(document, "bsspp", (double)rank->received_bytes, rank->in_mpi_s, rank->actual_s,
                       rank->late_senders_s / rank->actual_s, rank->late_receivers_s / rank->actual_s);
        document_bar(document, rank->actual_s, NAN);
    }
    return unknown;
}

void present_ranks(struct document *document, const struct report *report)
{
    size_t model = report_best_model(report), n = report->n_ranks;
    struct ranking *ranking = xcalloc(n, sizeof *ranking);
    for (size_t i = 0; i < n; i++)
        ranking[i] = (struct ranking){&report->ranks[i], weight(&report->ranks[i], model, report->n_models)};
    if (model < report->n_models)
        document_line(document, "time %s, # measured, | modelled by %s on %s",
                      report->models[model].rounds ? "in all rounds" : "inside messages", report->models[model].title,
                      report->models[model].machine);
    else
        document_line(document, "time in all rounds from first post to last completion, # measured");
    if (n > RANKS_SHOWN_WHOLE && !document->all_ranks) {
        qsort(ranking, n, sizeof *ranking, heavier);
        n = RANKS_WORST;
        present_distribution(document, report,
                             model < report->n_models && report->models[model].withheld ? report->n_models : model);
        document_line(document, "the %zu %s (--all-ranks shows all):", n,
                      model < report->n_models ? "furthest off" : "with the longest time");
    }
    if (model < report->n_models)
        document_table(document, "rank>|place|measured>|late send>|late recv>|modelled>|error>|bias>");
    else
        document_table(document, "rank>|place|received>|in MPI>|measured>|late send>|late recv>");
    bool unknown = false;
    for (size_t i = 0; i < n; i++)
        unknown = present_rank(document, report, ranking[i].rank, model) || unknown;
    if (unknown)
        present_unknown(document);
    free(ranking);
}

void present_overlap(struct document *document, const struct report *report)
{
    const struct report_overlap *overlap = &report->overlap;
    size_t best = report_best_of_rounds(report);
    const struct report_model *model = best < report->n_models ? &report->models[best] : NULL;
    if (!overlap->matters)
        return;
    document_line(document, "%.1f %% of the time in rounds passed outside MPI, between post and wait",
                  100 * overlap->share);
    if (model == NULL) {
        document_line(document, "the longest time outside:");
        document_table(document, "rank>|measured>|in MPI>|outside>|share>");
        for (size_t i = 0; i < overlap->n_ranks; i++) {
            const struct report_rank *rank = overlap->ranks[i];
            document_cells(document, "isssp", rank->rank, rank->actual_s, rank->in_mpi_s, report_outside_s(rank),
                           report_outside_s(rank) / rank->actual_s);
        }
        return;
    }
    document_line(document,
                  "visible: what stays of the time by %s on %s if messages move meanwhile; in MPI: "
                  "measured, to compare with it; the longest time outside:",
                  model->title, model->machine);
    document_table(document, "rank>|outside>|share>|modelled>|visible>|in MPI>|error>|bias>");
    for (size_t i = 0; i < overlap->n_ranks; i++) {
        const struct report_rank_model *rank = &overlap->ranks[i]->models[best];
        double inside_s = model->withheld || !(rank->in_mpi_s > 0) ? NAN : rank->in_mpi_s;
        document_cells(document, "ispssspc", overlap->ranks[i]->rank, rank->outside_s, rank->outside_s / rank->actual_s,
                       rank->model_s, rank->visible_s, rank->in_mpi_s, rank->visible_off_s / inside_s,
                       (rank->visible_s - inside_s) / inside_s);
    }
    if (!isnan(model->visible_error) && !model->withheld)
        document_line(document, "error of visible over all ranks: %.1f %%, bias %+.1f %%", 100 * model->visible_error,
                      100 * model->visible_bias);
    document_line(document, "an MPI that moves data inside its calls only shows more, up to the modelled time");
}

/* Prints the parts of a rank's modelled time into text, the largest first: "contention 86 %, bandwidth 14 %". */
static void name_parts(char *text, size_t size, const double part_s[STORED_PARTS], double model_s)
{
    bool told[STORED_PARTS] = {false};
    text[0] = '\0';
    for (size_t n = 0, used = 0; n < STORED_PARTS && used < size; n++) {
        size_t most = STORED_PARTS;
        for (size_t i = 0; i < STORED_PARTS; i++)
            if (!told[i] && part_s[i] > 0 && (most == STORED_PARTS || part_s[i] > part_s[most]))
                most = i;
        if (most == STORED_PARTS)
            break;
        told[most] = true;
        used += (size_t)snprintf(text + used, size - used, "%s%.*s %.0f %%", n > 0 ? ", " : "",
                                 (int)strcspn(prediction_part_name[most], "_"), prediction_part_name[most],
                                 100 * part_s[most] / model_s);
    }
}

static bool interval_known(const struct report *report, size_t model)
{
    for (size_t i = 0; i < report->n_worst; i++)
        if (!isnan(report->worst[i].rank->models[model].low_s))
            return true;
    return false;
}

static void present_why_parts(struct document *document, const struct report *report, size_t model)
{
    bool interval = interval_known(report, model), extrapolated = false;
    document_table(document,
                   interval ? "rank>|measured>|modelled>|from>|to>|made of" : "rank>|measured>|modelled>|made of");
    for (size_t i = 0; i < report->n_worst; i++) {
        const struct report_rank_model *rank = &report->worst[i].rank->models[model];
        document_cells(document, "iss", report->worst[i].rank->rank, rank->actual_s, rank->model_s);
        if (interval)
            document_cells(document, "ss", rank->low_s, rank->high_s);
        char parts[256];
        name_parts(parts, sizeof parts, rank->part_s, rank->model_s);
        document_cell(document, "%s%s", parts[0] != '\0' ? parts : "-", rank->extrapolated ? " *" : "");
        extrapolated = extrapolated || rank->extrapolated;
    }
    if (extrapolated)
        document_line(document, "* with values beyond the ends of a bandwidth table of the machine");
}

static void present_partners(struct document *document, const struct report *report)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_worst; i++)
        n += report->worst[i].n_partners;
    if (n == 0)
        return;
    document_line(document,
                  "partners that cost them most, in all rounds; alone: at BW(1); share: of all from, or to, others:");
    document_table(document, "rank>|partner|level|messages>|volume>|alone>|share>");
    for (size_t i = 0; i < report->n_worst; i++)
        for (size_t k = 0; k < report->worst[i].n_partners; k++) {
            const struct report_partner *partner = &report->worst[i].partners[k];
            document_cell(document, "%" PRId64, report->worst[i].rank->rank);
            document_cell(document, "%s %" PRId64, partner->direction, partner->rank);
            document_cells(document, "tibsp", partner->level, partner->messages, (double)partner->bytes,
                           partner->alone_s, partner->share);
        }
}

static void present_waits(struct document *document, const struct report *report)
{
    document_line(document, "waits: until the last rank of a round is done, those that are wait %.1f %% of the time",
                  report->wait_s > 0 ? report->wait_s / (report->actual_s + report->wait_s) * 100 : 0);
    document_table(document, "kind>|rounds>|ranks>|mean wait>|longest>|share>|last rank>|in>");
    for (size_t i = 0; i < report->n_waits; i++) {
        const struct report_wait *wait = &report->waits[i];
        document_cells(document, "iiisspip", wait->kind, wait->rounds, wait->ranks, wait->mean_s, wait->longest_s,
                       wait->share, wait->last_rank, (double)wait->last_rounds / (double)wait->rounds);
    }
    document_line(
        document,
        "mean wait: of a rank in a round; longest: of the first that is done; last rank: the one that is last "
        "most often, "
        "in what share of the rounds");
}

/* Shows who waited for whom. */
static void present_late(struct document *document, const struct report *report)
{
    if (report->n_late == 0)
        return;
    document_line(document, "late: receives that waited for their sender, sends that waited for their receiver:");
    document_table(document, "rank>|waits for|late|messages>|waited>|longest>|in");
    for (size_t i = 0; i < report->n_late; i++) {
        const struct report_late *late = &report->late[i];
        document_cells(document, "iitiss", late->rank, late->partner, late->cause, late->messages, late->late_s,
                       late->longest_s);
        document_cell(document, "%s %s", late->function, late->place);
    }
}

void present_why(struct document *document, const struct report *report)
{
    size_t model = report_best_model(report);
    if (report->n_worst == 0)
        return;
    if (model < report->n_models) {
        document_line(document, "the %zu rank%s with the longest time, parts of it by %s on %s:", report->n_worst,
                      report->n_worst == 1 ? "" : "s", report->models[model].title, report->models[model].machine);
        present_why_parts(document, report, model);
        present_partners(document, report);
    }
    present_waits(document, report);
    present_late(document, report);
}
