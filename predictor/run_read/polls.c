/* Finds the ranks that sleep between polls: they wait there, and compute nothing.
 *
 * A trace has sums of polls without result (MPI_Test..., MPI_Iprobe ...), so how much time lies between them, G, but
 * not what the program did there. The operating system says how long a rank neither ran nor wanted a processor: it
 * slept for S of the time T. Some of that may have been elsewhere: at most as large a share u of the rest as ranks that
 * hardly poll sleep; all of it, where there is no such rank. What is left, S - u (T - G), was slept between polls.
 * Processor time is that of all threads, so that S is rather too small. What a rank waited for a processor is no part
 * of T, and is taken out of G by the same share. */
#include <math.h>

#include "predictor/run_read/reading.h"

/* Is the share of the time between polls that must have been slept. */
#define MOSTLY_SLEPT 0.8
/* A rank that spends no more of its time between polls hardly polls. */
#define HARDLY_POLLS 0.05

struct polling {
    double time_s, slept_s, between_s; /* T, S, G */
};

/* Returns the time between polls in bursts that a loop may be; shorter gaps are those of a loop without any sleep. */
static double between_polls_s(const struct reading *reading, const struct read_item *items,
                              const struct read_span *span)
{
    int64_t between_ns = 0;
    for (size_t i = 0; i < span->n_items;) {
        int64_t begin_ns = items[i].begin_ns, inside_ns = 0, polls = 0;
        for (; i < span->n_items && items[i].kind == ITEM_IDLE; i++) {
            inside_ns += read_item_end_ns(reading, &items[i]) - items[i].begin_ns;
            polls += items[i].object;
        }
        int64_t end_ns = i < span->n_items ? items[i].begin_ns : span->to_ns;
        int64_t gap_ns = end_ns - begin_ns - inside_ns;
        between_ns += polls > 1 && gap_ns > polls * POLL_SHORT_GAP_NS ? gap_ns : 0;
        i += polls == 0;
    }
    return reading_seconds(between_ns);
}

/* Returns NaN times where the operating system's were not recorded. */
static struct polling polling_of(const struct reading *reading, size_t number)
{
    const struct read_rank *rank = &reading->ranks[number];
    const struct run_rank *told = &reading->program->ranks[number];
    double whole_s = reading_seconds(rank->end_ns - rank->begin_ns), share = 1, there_s = 0, between_s = 0;
    struct polling polling = {.time_s = NAN, .slept_s = NAN};
    if (!(rank->observed_ns > 0))
        return polling;
    for (size_t b = 0; b < reading->n_bursts; b++) {
        there_s += reading_seconds(rank->spans[b].to_ns - rank->spans[b].from_ns);
        if (rank->items)
            between_s += between_polls_s(reading, rank->items + rank->spans[b].first_item, &rank->spans[b]);
    }
    if ((reading->want.window != NULL || !reading->is_whole) && whole_s > 0)
        share = fmin(there_s / whole_s, 1);
    double observed_s = reading_seconds(rank->observed_ns) * share;
    polling.time_s = observed_s - told->wait_s;
    polling.slept_s = polling.time_s - told->run_s;
    polling.between_s = between_s * fmax(polling.time_s, 0) / observed_s;
    return polling;
}

void polls_judge(const struct reading *reading)
{
    double elsewhere = -1;
    for (size_t i = 0; i < reading->program->n_ranks; i++) {
        const struct polling polling = polling_of(reading, i);
        if (polling.slept_s <= polling.time_s && polling.between_s <= HARDLY_POLLS * polling.time_s)
            elsewhere = fmax(elsewhere, fmax(polling.slept_s, 0) / polling.time_s);
    }
    elsewhere = elsewhere < 0 ? 1 : fmin(elsewhere, 1);
    for (size_t i = 0; i < reading->program->n_ranks; i++) {
        const struct polling polling = polling_of(reading, i);
        double slept_s = polling.slept_s - elsewhere * (polling.time_s - polling.between_s);
        reading->ranks[i].sleeps = polling.between_s > 0 && slept_s >= MOSTLY_SLEPT * polling.between_s;
    }
}
