/* Keeps a rank's values together: the parts, low and high, what +memory says; the sum is formed from the mean parts.
 * See replay_mean.h. */
#include "predictor/replay/replay_mean.h"

#include <stdlib.h>

#include "share/base/memory.h"

enum { MEMORY_VALUES = 3, VALUES = PART_COUNT + 2 + MEMORY_VALUES };

/* Lists the arrays of what +memory says. */
static void memory_values(const struct prediction_memory *memory, double *values[MEMORY_VALUES])
{
    values[0] = memory->arriving_s;
    values[1] = memory->computing_s;
    values[2] = memory->slowed_s;
}

size_t replay_mean_count(size_t n_rounds, size_t n_messages)
{
    size_t n = n_messages > 0 ? REPLAYED_MESSAGES / n_messages : REPLAYED_ROUNDS;
    n = n > REPLAYED_ROUNDS ? REPLAYED_ROUNDS : n;
    n = n < 1 ? 1 : n;
    return n < n_rounds ? n : n_rounds;
}

bool replay_mean_takes(size_t place, size_t n_rounds, size_t n_messages)
{
    size_t n = replay_mean_count(n_rounds, n_messages);
    /* Takes n of n_rounds: those at which place * n / n_rounds, rounded down, is about to grow. */
    return (place + 1) * n / n_rounds > place * n / n_rounds;
}

void replay_mean_init(struct replay_mean *mean, size_t n_world)
{
    *mean = (struct replay_mean){.sums = xcalloc(VALUES * n_world + 1, sizeof *mean->sums)};
}

void replay_mean_add(struct replay_mean *mean, const struct prediction *prediction, const uint32_t *world_rank)
{
    double *memory[MEMORY_VALUES];
    memory_values(&prediction->memory, memory);
    for (size_t i = 0; i < prediction->n_ranks; i++) {
        double *sums = mean->sums + VALUES * (size_t)world_rank[i];
        for (size_t part = 0; part < PART_COUNT; part++)
            sums[part] += prediction->part_s[part][i];
        sums[PART_COUNT] += prediction->low_s[i];
        sums[PART_COUNT + 1] += prediction->high_s[i];
        for (size_t value = 0; value < MEMORY_VALUES; value++)
            sums[PART_COUNT + 2 + value] += memory[value][i];
    }
    mean->n_rounds++;
    if (prediction->extrapolated > mean->extrapolated)
        mean->extrapolated = prediction->extrapolated;
    mean->counted = prediction->memory;
}

void replay_mean_take(struct replay_mean *mean, struct prediction *prediction, const uint32_t *world_rank)
{
    double n = (double)mean->n_rounds, *memory[MEMORY_VALUES];
    memory_values(&prediction->memory, memory);
    for (size_t i = 0; i < prediction->n_ranks; i++) {
        double *sums = mean->sums + VALUES * (size_t)world_rank[i];
        prediction->time_s[i] = 0;
        for (size_t part = 0; part < PART_COUNT; part++) {
            prediction->part_s[part][i] = sums[part] / n;
            prediction->time_s[i] += prediction->part_s[part][i];
        }
        prediction->low_s[i] = sums[PART_COUNT] / n;
        prediction->high_s[i] = sums[PART_COUNT + 1] / n;
        for (size_t value = 0; value < MEMORY_VALUES; value++)
            memory[value][i] = sums[PART_COUNT + 2 + value] / n;
        for (size_t value = 0; value < VALUES; value++)
            sums[value] = 0;
    }
    prediction->extrapolated = mean->extrapolated;
    prediction->memory.n_messages = mean->counted.n_messages;
    prediction->memory.n_small = mean->counted.n_small;
    prediction->memory.n_other = mean->counted.n_other;
    mean->n_rounds = mean->extrapolated = 0;
}

void replay_mean_release(struct replay_mean *mean)
{
    free(mean->sums);
    *mean = (struct replay_mean){0};
}
