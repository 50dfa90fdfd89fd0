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

#include "calibrate/fit/bootstrap.h"
#include "calibrate/fit/fits.h"
#include "share/base/array.h"

#define DEPTH_MIN  64
#define STEP_MIN_S 0.5e-9
/* Least ratio of two depths that distinguishes 1/n from a constant. */
#define DEPTHS_APART 4
/* Ratio down to which the other depths are judged with the largest. */
#define DEPTHS_ALIKE 4
/* Samples of both that must lie apart: chance has done that once in 20 times. */
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

/* c of one depth. */
struct step {
    uint64_t depth;
    struct difference time;
    struct line_value value; /* s */
    double gap_s;            /* of time, for one step */
};

struct steps {
    struct step *steps; /* [n] by ascending depth */
    size_t n;
};

/* Appends a step; times too large to be added have no difference and are left out. */
static void steps_append(struct steps *steps, uint64_t depth, const struct difference *time)
{
    if (!isfinite(time->value_s))
        return;
    double n = (double)depth, more_steps = n * (n + 1) / 2 - n;
    ARRAY_ADD(steps->steps, steps->n,
              (struct step){
                  .gap_s = time->gap_s / more_steps,
                  .depth = depth,
                  .time = *time,
                  .value = {time->value_s / more_steps, fit_finite(time->low_s) / more_steps,
                            fit_finite(time->high_s) / more_steps},
              });
}

/* Finds the depths that are measured: both orders are there, with the same size; if there are several sizes, the first
 * counts. */
static void find_steps(const struct samples *samples, enum samples_statistic statistic, enum level level,
                       const struct queue *queue, struct steps *steps)
{
    struct sample_set inorder = {.n = 0};
    for (struct sample_set set = {0}; samples_next(samples, BENCHMARK_QUEUE, level, &set);) {
        const struct sample *sample = &samples->samples[set.first], *before = &samples->samples[inorder.first];
        if (sample->n < DEPTH_MIN)
            continue;
        bool other = inorder.n == 0 || before->n != sample->n;
        if (sample->variant == queue->inorder && other) {
            inorder = set;
        } else if (sample->variant == queue->reversed && !other && before->bytes == sample->bytes &&
                   (steps->n == 0 || steps->steps[steps->n - 1].depth != sample->n)) {
            struct difference time = difference_find(samples, statistic, inorder, set);
            steps_append(steps, sample->n, &time);
        }
    }
}

enum fit_queue_search { SEARCH_LINEAR, SEARCH_NOT_LINEAR, SEARCH_UNDECIDED };

static bool takes_a_step(const struct step *step)
{
    return step->value.low >= STEP_MIN_S || (step->gap_s >= STEP_MIN_S && step->time.n_smaller >= SAMPLES_APART);
}

static enum fit_queue_search find_search(const struct steps *steps)
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

static void note_search(FILE *notes, const struct queue *queue, const struct steps *steps, enum fit_queue_search search)
{
    const struct step *last = &steps->steps[steps->n - 1];
    char known[80] = "";
    if (search == SEARCH_LINEAR)
        return;
    if (search == SEARCH_UNDECIDED && isnan(last->value.low))
        snprintf(known, sizeof known, ", from too few samples");
    else if (search == SEARCH_UNDECIDED)
        snprintf(known, sizeof known, ", a step is %.3g .. %.3g ns", last->value.low * 1e9, last->value.high * 1e9);
    fit_note(notes, "%sthe %s queue is %ssearched linearly (reversed takes %.3g times in order at %llu%s)",
             search == SEARCH_UNDECIDED ? "it is unclear whether " : "", queue->name,
             search == SEARCH_NOT_LINEAR ? "not " : "", last->time.second_s / last->time.first_s,
             (unsigned long long)last->depth, known);
}

static void fit_one(const struct fit *fit, enum level level, const struct queue *queue)
{
    struct steps steps = {.n = 0};
    find_steps(fit->samples, fit->options->statistic, level, queue, &steps);
    if (steps.n > 0) {
        enum fit_queue_search search = find_search(&steps);
        for (size_t i = 0; i < steps.n; i++)
            fit_row(fit->machine, LEVEL_COUNT, PROTOCOL_ANY, queue->quantity, steps.steps[i].depth,
                    fit_not_negative(steps.steps[i].value), steps.steps[i].time.n_samples,
                    search == SEARCH_NOT_LINEAR ? QUEUE_NOT_LINEAR : "reversed-inorder");
        note_search(fit->notes, queue, &steps, search);
    } else {
        fit_note(fit->notes, "%s left out: no depth from %d on was measured in order and reversed", queue->quantity,
                 DEPTH_MIN);
    }
    free(steps.steps);
}

void fit_queue(const struct fit *fit)
{
    enum level level = LEVEL_COUNT;
    bool others = false;
    for (int at = LEVEL_COUNT - 1; at >= 0; at--)
        if (samples_next(fit->samples, BENCHMARK_QUEUE, (enum level)at, &(struct sample_set){0})) {
            others = level != LEVEL_COUNT;
            level = (enum level)at;
        }
    if (level == LEVEL_COUNT)
        return;
    if (others)
        fit_note(fit->notes, "queue_step is taken from %s, the closest level that was measured", level_name[level]);
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        fit_one(fit, level, &queues[i]);
}
