/* Says in one way what several sections say. */
#include "report/render/words.h"

#include <math.h>

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

bool words_modelled(struct document *document, double measured, double modelled)
{
    bool unknown = measured > 0 && modelled <= 0;
    if (unknown)
        document_cell(document, "0.00 us ~");
    else
        document_seconds(document, modelled);
    return unknown;
}

void words_unknown(struct document *document)
{
    document_add(
        document, DOCUMENT_LINE,
        "~ the model knows nothing of what this rank does: max-rate counts receives only, node-aware sends only");
}
