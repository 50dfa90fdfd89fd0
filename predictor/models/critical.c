/* Several models split a transfer into bandwidth and contention, and must choose alike among completions that are equal
 * but for rounding. See critical.h. */
#include "predictor/models/critical.h"

static const double ROUNDING = 1e-9;

void critical_take(struct critical *critical, const struct critical *other)
{
    double at_s = other->at_s > critical->at_s ? other->at_s : critical->at_s;
    bool same = other->at_s >= critical->at_s * (1 - ROUNDING) && other->at_s * (1 - ROUNDING) <= critical->at_s;
    bool more =
        other->bytes > critical->bytes || (!(other->bytes < critical->bytes) && other->message < critical->message);
    if (same ? more : other->at_s > critical->at_s)
        *critical = *other;
    critical->at_s = at_s;
}

void prediction_add_transfer(struct prediction *prediction, size_t rank, double alone_s, double total_s)
{
    /* A difference by rounding alone is no contention. */
    if (alone_s >= total_s * (1 - ROUNDING / 1e3))
        alone_s = total_s;
    prediction->part_s[PART_BANDWIDTH][rank] += alone_s;
    prediction->part_s[PART_CONTENTION][rank] += total_s - alone_s;
}
