#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

/* A visit of one item should not take longer. */
#define ITEM_S 0.1

/* xorshift64*: the order must be the same everywhere for a seed. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dULL;
}

static void shuffle(size_t *order, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)(next_random(state) % i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* Repetitions of an item whose message took that long: fewer where a slow network would spend all the time on it. */
static int affordable_repeats(int repeats, double seconds)
{
    double affordable = ITEM_S / seconds;
    return affordable < 1 ? 1 : affordable < repeats ? (int)affordable : repeats;
}

/* Passes over the items in random order: the first, with one message each and at most a fifth of the time, opens the
 * connections and is not written; then until the time is over. */
static void lead(struct measure *measure, const struct benchmark_program *program, struct item *items, size_t *order,
                 size_t n_items)
{
    double begin_s = clock_now_s(), warm_s = begin_s + measure->seconds / 5, end_s = begin_s + measure->seconds;
    uint64_t state = measure->seed * 2 + 1;
    size_t rows = 0, done = 0;
    for (size_t pass = 0; clock_now_s() < end_s; pass++) {
        shuffle(order, n_items, &state);
        done = 0;
        for (size_t i = 0; i < n_items && clock_now_s() < (pass == 0 ? warm_s : end_s); i++) {
            struct item *item = &items[order[i]];
            double seconds;
            measure_visit(measure, program, item, pass == 0 ? 1 : item->repeats, 1, &seconds);
            done++;
            if (pass == 0) {
                if (seconds > 0)
                    item->repeats = affordable_repeats(item->repeats, seconds);
                continue;
            }
            if (!(seconds > 0)) {
                measure->late++;
                continue;
            }
            rows++;
            measure_write(measure, program, item, item->repeats, seconds);
        }
        if (pass == 1 && done < n_items)
            fprintf(stderr, MEASURE_NOTE "incomplete %s: time for %zu of %zu measurements in %g s; give it more\n",
                    program->name, done, n_items, measure->seconds);
    }
    if (measure->late > 0)
        fprintf(stderr, MEASURE_NOTE "late %s: %zu of %zu measurements dropped, a rank was told too late to start\n",
                program->name, measure->late, rows + measure->late);
}

int schedule_lead(struct measure *measure, const struct benchmark_program *program)
{
    struct item *items = NULL;
    size_t n_items = 0;
    int result = program->list(measure, &items, &n_items);
    size_t *order = calloc(n_items + 1, sizeof *order);
    if (order == NULL)
        result = -1;
    for (size_t i = 0; i < n_items && result == 0; i++)
        order[i] = i;
    if (result == 0)
        lead(measure, program, items, order, n_items);
    free(order);
    free(items);
    return result;
}
