/* Decides what is measured, and when it is enough. It uses neither MPI nor threads, so tests can feed it made-up
 * curves. */
#include "calibrate/benchmark/memory/memory_plan.h"

#include <stdlib.h>

#include "calibrate/measure/plan.h"
#include "share/base/array.h"
#include "share/base/statistics.h"
#include "share/base/random.h"

/* Further n that must confirm a peak. */
enum { BEYOND_PEAK = 2 };

/* Adds a variant for each number of computing cores. */
static void append_numbers(struct memory_plan *plan, enum memory_variant variant, uint32_t computing_numa,
                           uint32_t message_numa)
{
    for (uint32_t n = 1; n <= plan->n_computing; n++)
        ARRAY_ADD(plan->tasks, plan->n_tasks,
                  (struct memory_task){.place = {variant, computing_numa, message_numa, n}});
}

/* Returns whether the two placements of a model have data on that node; all placements have it on every one. */
static bool has_data(const struct memory_asked *asked, uint32_t numa)
{
    return asked->all_placements || numa == 0 || numa == asked->numa_nodes;
}

void memory_plan_make(const struct memory_asked *asked, struct memory_plan *plan)
{
    *plan = (struct memory_plan){.n_computing = asked->n_computing,
                                 .numa_all = asked->numa_all,
                                 .skips_beyond_peak = asked->skip_beyond_peak,
                                 .random = asked->seed};
    for (uint32_t numa = 0; numa < asked->numa_all; numa++) {
        if (!has_data(asked, numa))
            continue;
        ARRAY_ADD(plan->tasks, plan->n_tasks,
                  (struct memory_task){.place = {MEMORY_MESSAGE_ALONE, MEMORY_NO_DATA, numa, 0}});
        append_numbers(plan, MEMORY_COMPUTATION_ALONE, numa, MEMORY_NO_DATA);
        for (uint32_t other = 0; other < asked->numa_all; other++)
            if (asked->all_placements || other == numa)
                append_numbers(plan, MEMORY_COMPUTATION, numa, other);
    }
}

void memory_plan_release(struct memory_plan *plan)
{
    for (size_t i = 0; i < plan->n_tasks; i++)
        point_release(&plan->tasks[i].samples);
    free(plan->tasks);
    *plan = (struct memory_plan){0};
}

struct memory_task *memory_plan_find(const struct memory_plan *plan, const struct memory_place *place)
{
    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct memory_place *own = &plan->tasks[i].place;
        if (own->variant == place->variant && own->n == place->n && own->computing_numa == place->computing_numa &&
            own->message_numa == place->message_numa)
            return &plan->tasks[i];
    }
    return NULL;
}

static struct memory_task *alone(const struct memory_plan *plan, uint32_t computing_numa, uint32_t n)
{
    const struct memory_place place = {MEMORY_COMPUTATION_ALONE, computing_numa, MEMORY_NO_DATA, n};
    return memory_plan_find(plan, &place);
}

/* Returns whether the bandwidth of a task is above the interval of another: whether its byte takes less time. */
static bool is_above(const struct memory_task *task, const struct memory_task *other)
{
    double low_s, high_s;
    return sorted_median_interval(other->samples.seconds, other->samples.n, &low_s, &high_s) &&
           sorted_median(task->samples.seconds, task->samples.n) < low_s;
}

uint32_t memory_plan_peak(const struct memory_plan *plan, uint32_t computing_numa)
{
    const struct memory_task *best = NULL;
    uint32_t beyond = 0;
    for (uint32_t n = 1; n <= plan->n_computing && beyond < BEYOND_PEAK; n++) {
        const struct memory_task *task = alone(plan, computing_numa, n);
        if (task == NULL || task->samples.n < MEMORY_SAMPLES)
            return 0;
        bool is_higher = best == NULL || is_above(task, best);
        beyond = is_higher ? 0 : beyond + 1;
        best = is_higher ? task : best;
    }
    return best != NULL ? best->place.n : 0;
}

/* Returns the task that is needed next to find the peak of a node; NULL if its peak is known or nothing computes there.
 */
static struct memory_task *towards_peak(const struct memory_plan *plan, uint32_t computing_numa)
{
    if (alone(plan, computing_numa, 1) == NULL || memory_plan_peak(plan, computing_numa) > 0)
        return NULL;
    uint32_t n = 1;
    while (alone(plan, computing_numa, n)->samples.n >= MEMORY_SAMPLES)
        n++;
    return alone(plan, computing_numa, n);
}

/* Leaves out, for one node, what is between the peak and all cores and was not measured on the way to the peak. */
static void leave_out_beyond_peak(struct memory_plan *plan, uint32_t computing_numa)
{
    uint32_t peak = memory_plan_peak(plan, computing_numa);
    for (size_t i = 0; i < plan->n_tasks; i++) {
        struct memory_task *task = &plan->tasks[i];
        if (task->place.computing_numa == computing_numa && task->place.n > peak && task->place.n < plan->n_computing)
            task->is_left_out = task->samples.n == 0;
    }
}

static bool is_open(const struct memory_task *task)
{
    return !task->is_left_out && task->samples.n < MEMORY_SAMPLES;
}

/* Draws one of the tasks with the fewest samples. */
static struct memory_task *draw_task(struct memory_plan *plan)
{
    struct memory_task *drawn = NULL;
    size_t n_equal = 0;
    for (size_t i = 0; i < plan->n_tasks; i++) {
        struct memory_task *task = &plan->tasks[i];
        if (!is_open(task) || (drawn != NULL && task->samples.n > drawn->samples.n))
            continue;
        n_equal = drawn != NULL && task->samples.n == drawn->samples.n ? n_equal + 1 : 1;
        if (random_below(&plan->random, n_equal) == 0)
            drawn = task;
    }
    return drawn;
}

struct memory_task *memory_plan_next(struct memory_plan *plan)
{
    for (uint32_t numa = 0; numa < plan->numa_all && plan->skips_beyond_peak; numa++) {
        struct memory_task *task = towards_peak(plan, numa);
        if (task != NULL)
            return task;
    }
    for (uint32_t numa = 0; numa < plan->numa_all && plan->skips_beyond_peak; numa++)
        leave_out_beyond_peak(plan, numa);
    plan->skips_beyond_peak = false; /* they are known from here on */
    return draw_task(plan);
}

size_t memory_plan_left(const struct memory_plan *plan)
{
    size_t left = 0;
    for (size_t i = 0; i < plan->n_tasks; i++)
        if (is_open(&plan->tasks[i]))
            left += MEMORY_SAMPLES - plan->tasks[i].samples.n;
    return left;
}
