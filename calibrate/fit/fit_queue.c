/* Fits the cost of a step through the queues of an MPI, as a table over the depth.
 *
 * T in order and T reversed of n messages (calibrate/benchmark/queue.c), n steps against n(n + 1)/2, give
 *
 *     c(n) = (T_reversed - T_inorder) / (n(n + 1)/2 - n)
 *
 * (share/doc/MODELS.md, Queue search; B section 4.1, gamma = c/2), from the medians (or minima), from n = 64 on: below,
 * Blue Waters showed no signal. Posted and unexpected queue are apart.
 *
 * Not every MPI searches its queues linearly. One that does has at the largest depths
 *   - a step that takes 0.5 ns: in a list each load waits for the one before, 4 cycles of the nearest cache, 0.8 ns at
 *     5 GHz. A hash table of a thousand lists shows a thousandth of a step. The interval has to say so or, where so few
 *     samples make it wide, the gap between all that are reversed and all in order;
 *   - time that grows with n^2: where reversed costs the same more for each message, c falls as 1/n. The two are told
 *     apart in the middle, at 1/sqrt(n), between the smallest and the largest depth.
 * Otherwise all rows of that queue have the method no-linear-search; where the interval allows both, a note says so. A
 * value is never below 0, nor an end of its interval: a queue has no negative step. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/difference.h"
#include "share/base/array.h"

#define DEPTH_MIN  64
#define STEP_MIN_S 0.5e-9
/* Depths that differ less do not tell 1/n from a constant. */
#define DEPTHS_APART 4
/* The largest depth is judged by all depths down to that part of it. */
#define DEPTHS_ALIKE 4
/* If so many samples of both lie apart, chance has done that once in 20 times. */
#define SAMPLES_APART 3

struct queue {
    const char *name;
    const char *quantity;
    enum variant inorder;
    enum variant reversed;
};

static const struct queue queues[] = {
    {"posted", "queue_step", VARIANT_POSTED_INORDER, VARIANT_POSTED_REVERSED},
    {"unexpected", "queue_step_unexpected", VARIANT_UNEXPECTED_INORDER, VARIANT_UNEXPECTED_REVERSED},
};
enum { N_QUEUES = sizeof queues / sizeof queues[0] };

/* Holds c of one depth. */
struct step {
    uint64_t depth;
    struct difference time;
    struct line_value value; /* s */
    double gap_s;            /* gap_s of difference.h, for one step */
};

struct steps {
    struct step *steps; /* [n] by ascending depth */
    size_t n;
};

static double finite_or_nan(double value)
{
    return isfinite(value) ? value : NAN;
}

/* Appends a step; times too large to be added have no difference and are left out. */
static int steps_append(struct steps *steps, uint64_t depth, const struct difference *time)
{
    if (!isfinite(time->value_s))
        return 0;
    if (array_grow(&steps->steps, steps->n, sizeof *steps->steps) != 0)
        return -1;
    double n = (double)depth, more_steps = n * (n + 1) / 2 - n;
    steps->steps[steps->n++] = (struct step){
        .gap_s = time->gap_s / more_steps,
        .depth = depth,
        .time = *time,
        .value = {time->value_s / more_steps, finite_or_nan(time->low_s) / more_steps,
                  finite_or_nan(time->high_s) / more_steps},
    };
    return 0;
}

/* Returns where samples end that differ in seconds and launch only; they follow each other in sorted samples. */
static size_t run_end(const struct samples *samples, size_t first)
{
    const struct sample *sample = samples->samples, *begin = &sample[first];
    size_t end = first + 1;
    while (end < samples->n_samples && sample[end].level == begin->level && sample[end].n == begin->n &&
           sample[end].benchmark == begin->benchmark && sample[end].variant == begin->variant &&
           sample[end].bytes == begin->bytes && sample[end].count == begin->count)
        end++;
    return end;
}

/* Finds the depths that are measured: both orders are there, with the same size; if there are several sizes, the first
 * counts. Returns 0, or -1 without memory. */
static int find_steps(const struct samples *samples, enum samples_statistic statistic, enum level level,
                      const struct queue *queue, struct steps *steps)
{
    struct sample_set inorder = {.n = 0};
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        const struct sample *sample = &samples->samples[first], *before = &samples->samples[inorder.first];
        end = run_end(samples, first);
        if (sample->benchmark != BENCHMARK_QUEUE || sample->level != level || sample->n < DEPTH_MIN)
            continue;
        struct sample_set set = {.first = first, .n = end - first};
        bool other = inorder.n == 0 || before->n != sample->n;
        if (sample->variant == queue->inorder && other) {
            inorder = set;
        } else if (sample->variant == queue->reversed && !other && before->bytes == sample->bytes &&
                   (steps->n == 0 || steps->steps[steps->n - 1].depth != sample->n)) {
            struct difference time;
            if (difference_find(samples, statistic, inorder, set, &time) != 0 ||
                steps_append(steps, sample->n, &time) != 0)
                return -1;
        }
    }
    return 0;
}

enum search { SEARCH_LINEAR, SEARCH_NOT_LINEAR, SEARCH_UNDECIDED };

static bool takes_a_step(const struct step *step)
{
    return step->value.low >= STEP_MIN_S || (step->gap_s >= STEP_MIN_S && step->time.n_smaller >= SAMPLES_APART);
}

static enum search find_search(const struct steps *steps)
{
    const struct step *first = &steps->steps[0], *last = &steps->steps[steps->n - 1];
    double apart = (double)last->depth / (double)first->depth;
    if (last->value.high < STEP_MIN_S)
        return SEARCH_NOT_LINEAR;
    if (apart >= DEPTHS_APART && first->value.low > 0 && last->value.value < first->value.value / sqrt(apart))
        return SEARCH_NOT_LINEAR;
    for (size_t i = steps->n; i-- > 0 && steps->steps[i].depth >= last->depth / DEPTHS_ALIKE;)
        if (takes_a_step(&steps->steps[i]))
            return SEARCH_LINEAR;
    return SEARCH_UNDECIDED;
}

/* Raises a value to 0; NaN stays NaN. */
static double not_below_zero(double value)
{
    return value < 0 ? 0 : value;
}

static int append_rows(const struct queue *queue, const struct steps *steps, enum search search,
                       struct machine *machine)
{
    const char *method = search == SEARCH_NOT_LINEAR ? QUEUE_NOT_LINEAR : "reversed-inorder";
    for (size_t i = 0; i < steps->n; i++) {
        const struct step *step = &steps->steps[i];
        struct line_value value = {not_below_zero(step->value.value), not_below_zero(step->value.low),
                                   not_below_zero(step->value.high)};
        if (benchmark_append(machine, LEVEL_COUNT, PROTOCOL_ANY, queue->quantity, step->depth, &value, "s",
                             step->time.n_samples, method) != 0)
            return -1;
    }
    return 0;
}

static void note_search(FILE *notes, const struct queue *queue, const struct steps *steps, enum search search)
{
    const struct step *last = &steps->steps[steps->n - 1];
    char known[80] = "";
    if (search == SEARCH_LINEAR)
        return;
    if (search == SEARCH_UNDECIDED && isnan(last->value.low))
        snprintf(known, sizeof known, ", from too few samples");
    else if (search == SEARCH_UNDECIDED)
        snprintf(known, sizeof known, ", a step is %.3g .. %.3g ns", last->value.low * 1e9, last->value.high * 1e9);
    benchmark_note(notes, "%sthe %s queue is %ssearched linearly%s (reversed takes %.3g times in order at %llu%s)",
                   search == SEARCH_UNDECIDED ? "whether " : "", queue->name, search == SEARCH_NOT_LINEAR ? "not " : "",
                   search == SEARCH_UNDECIDED ? " cannot be told" : "", last->time.second_s / last->time.first_s,
                   (unsigned long long)last->depth, known);
}

static int fit_one(const struct samples *samples, enum samples_statistic statistic, enum level level,
                   const struct queue *queue, struct machine *machine, FILE *notes)
{
    struct steps steps = {.n = 0};
    int result = find_steps(samples, statistic, level, queue, &steps);
    if (result == 0 && steps.n > 0) {
        enum search search = find_search(&steps);
        result = append_rows(queue, &steps, search, machine);
        note_search(notes, queue, &steps, search);
    } else if (result == 0) {
        benchmark_note(notes, "%s left out: no depth from %d on was measured in order and reversed", queue->quantity,
                       DEPTH_MIN);
    }
    free(steps.steps);
    return result;
}

int fit_queue(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
              struct error *error)
{
    enum level level = LEVEL_COUNT;
    bool others = false;
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        if (sample->benchmark != BENCHMARK_QUEUE)
            continue;
        if (level == LEVEL_COUNT)
            level = (enum level)sample->level;
        others = others || sample->level != level;
    }
    if (level == LEVEL_COUNT)
        return 0;
    if (others)
        benchmark_note(notes, "queue_step is taken from %s, the closest level that was measured", level_name[level]);
    for (int i = 0; i < N_QUEUES; i++)
        if (fit_one(samples, options->statistic, level, &queues[i], machine, notes) != 0)
            return error_set(error, "no memory");
    return 0;
}
