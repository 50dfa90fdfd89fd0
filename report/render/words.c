/* Says in one way what several sections say. */
#include "report/render/words.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/judgement.h"
#include "report/render/quantity.h"

const char *words_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

double words_percent(double ratio)
{
    return isnan(ratio) ? 0 : ratio * 100;
}

double words_claimed(const struct report *report, double error)
{
    return report->errors_withheld ? NAN : error;
}

const char *words_judgement(const struct report *report)
{
    size_t best = report_best_model(report);
    if (report->errors_withheld || best == report->n_models)
        return NULL;
    const char *found = judgement_of(report->models[best].error, report->round_messages);
    if (found[0] == '\0')
        return NULL;
    return strcmp(found, "not explained") == 0 ? "no model explains even half of the time in messages"
                                               : "too few messages to judge a model by";
}

bool words_modelled(struct document *document, double measured, double modelled)
{
    bool unknown = measured > 0 && modelled <= 0;
    if (unknown)
        document_cell(document, "0.00 us ~");
    else
        document_cells(document, "s", modelled);
    return unknown;
}

void words_unknown(struct document *document)
{
    document_line(
        document,
        "~ the model knows nothing of what this rank does: max-rate counts receives only, node-aware sends only");
}

enum { SITE_WIDTH = 35 };

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

void words_site(struct document *document, const struct report_site *site)
{
    const char *function = site->function, *mark = site->nonblocking ? "*" : "";
    const char *comma = site->communicator[0] != '\0' ? ", " : "";
    char file[NAME_MAX + 32] = "";
    if (strncmp(function, "MPI_", 4) == 0)
        function += strncmp(function, "MPI_File_", 9) == 0 ? 9 : 4;
    if (site->file[0] != '\0')
        snprintf(file, sizeof file, " %.*s:%" PRId64, NAME_MAX, last_part(site->file), site->line);
    size_t width = strlen(function) + strlen(mark) + strlen(" at ") + strlen(site->caller) + strlen(file) +
                   strlen(comma) + strlen(site->communicator);
    bool named = site->caller[0] != '\0' && (file[0] == '\0' || width <= SITE_WIDTH);
    char caller[4 * SITE_WIDTH + 4];
    words_shorten(caller, sizeof caller, site->caller, SITE_WIDTH);
    document_cell(document, "%s%s%s%s%s%s%s", function, mark, named ? " at " : "", named ? caller : "", file, comma,
                  site->communicator);
}
