/* Writes the section on why: what the times of the worst ranks are made of, with whom, and who waits for whom. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/render/sections.h"

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
