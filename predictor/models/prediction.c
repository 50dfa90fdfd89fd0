/* Keeps a model's result in one block: an array for each part and one for their sum, so that one free ends it. */
#include "predictor/models/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

const char *const prediction_part_name[PART_COUNT] = {
    [PART_LATENCY] = "latency_s", [PART_BANDWIDTH] = "bandwidth_s", [PART_CONTENTION] = "contention_s",
    [PART_QUEUE] = "queue_s",     [PART_LINK] = "link_s",           [PART_SKEW] = "skew_s",
    [PART_MEMORY] = "memory_s",
};

/* Counts the arrays that a model fills: time_s, the parts, what +memory says. */
enum { FILLED = 1 + PART_COUNT + 2 };

void prediction_init(struct prediction *prediction, size_t n_ranks)
{
    double *values = xcalloc((FILLED + 2) * n_ranks + 1, sizeof *values); /* one block, which time_s owns */
    *prediction = (struct prediction){.n_ranks = n_ranks, .time_s = values};
    for (size_t part = 0; part < PART_COUNT; part++)
        prediction->part_s[part] = values + (1 + part) * n_ranks;
    double **totals[] = {&prediction->memory.arriving_s, &prediction->memory.slowed_s};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++)
        *totals[i] = values + (1 + PART_COUNT + i) * n_ranks;
    prediction->low_s = values + FILLED * n_ranks;
    prediction->high_s = prediction->low_s + n_ranks;
    for (size_t i = 0; i < 2 * n_ranks; i++)
        prediction->low_s[i] = NAN;
}

void prediction_clear(struct prediction *prediction)
{
    memset(prediction->time_s, 0, FILLED * prediction->n_ranks * sizeof *prediction->time_s);
    prediction->extrapolated = 0;
    prediction->memory.n_messages = prediction->memory.n_small = prediction->memory.n_other = 0;
}

int prediction_sum(struct prediction *prediction, struct error *error)
{
    for (size_t i = 0; i < prediction->n_ranks; i++) {
        double sum_s = 0;
        for (size_t part = 0; part < PART_COUNT; part++)
            sum_s += prediction->part_s[part][i];
        prediction->time_s[i] = sum_s;
        if (!isfinite(sum_s))
            return error_set(error, "the modelled time of a rank is out of range: check the machine's tau and bw");
    }
    return 0;
}

double prediction_compute_slowdown(const struct prediction_memory *memory, size_t rank)
{
    return memory->arriving_s[rank] > 0 ? memory->slowed_s[rank] / memory->arriving_s[rank] : 1;
}

void prediction_add(struct prediction *prediction, const struct prediction *other)
{
    for (size_t part = 0; part < PART_COUNT; part++)
        for (size_t i = 0; i < prediction->n_ranks; i++)
            prediction->part_s[part][i] += other->part_s[part][i];
    prediction->extrapolated += other->extrapolated;
}

void prediction_release(struct prediction *prediction)
{
    free(prediction->time_s);
    *prediction = (struct prediction){0};
}

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

#define MOST_ERROR 0.5

const char *judgement_of(double error, int64_t messages)
{
    if (isnan(error))
        return "";
    if (messages < JUDGEMENT_LEAST_MESSAGES)
        return "too few messages";
    return error > MOST_ERROR ? "not explained" : "";
}
