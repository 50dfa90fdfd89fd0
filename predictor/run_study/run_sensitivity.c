/* Replays the run once for each row of the table that it can depend on, with the row's value a little larger. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run_study/run_side.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Small enough to be a derivative, large enough to be no rounding. */
static const double STEP = 0.01;

static bool is_of_quantities(const struct machine_parameter *row, const char *const *quantities)
{
    for (size_t i = 0; quantities[i] != NULL; i++)
        if (strcmp(row->quantity, quantities[i]) == 0)
            return row->value > 0;
    return false;
}

static bool is_of_run(const struct machine_parameter *row, unsigned terms)
{
    static const char *const of_queue[] = {"queue_step", "queue_step_unexpected", "gamma", NULL};
    static const char *const of_contention[] = {"delta", NULL};
    static const char *const quantities[] = {
        "tau",    "bw",    "threshold", "overhead_send", "overhead_send_byte", "overhead_receive",
        "buffer", "burst", "backlog",   "backlog_pair",  "bw_cached",          NULL};
    return is_of_quantities(row, quantities) || ((terms & RUN_TERM_QUEUE) != 0 && is_of_quantities(row, of_queue)) ||
           ((terms & RUN_TERM_CONTENTION) != 0 && is_of_quantities(row, of_contention));
}

static int compare(const void *a, const void *b)
{
    const struct run_sensitivity *x = a, *y = b;
    return ORDER(fabs(y->run_s), fabs(x->run_s)) ?: ORDER(x->row, y->row);
}

int run_sensitivity(struct run_study *study, struct error *error)
{
    struct run_side *before = &study->before;
    double run_s = run_side_s(before);
    study->sensitivities = xcalloc(before->machine.n_parameters + 1, sizeof *study->sensitivities);
    for (size_t i = 0; i < before->machine.n_parameters; i++) {
        struct machine_parameter *row = &before->machine.parameters[i];
        double value = row->value, changed_s;
        if (!is_of_run(row, before->options.terms))
            continue;
        row->value = strcmp(row->quantity, "threshold") == 0 ? ceil(value * (1 + STEP)) : value * (1 + STEP);
        int code =
            simulate_length(&study->program, &before->machine, &before->placement, &before->options, &changed_s, error);
        double change = row->value / value - 1;
        row->value = value;
        if (code != 0)
            return -1;
        if (fabs(changed_s - run_s) > 1e-12 * run_s)
            study->sensitivities[study->n_sensitivities++] = (struct run_sensitivity){
                .row = row, .run_s = changed_s - run_s, .elasticity = (changed_s - run_s) / run_s / change};
    }
    qsort(study->sensitivities, study->n_sensitivities, sizeof *study->sensitivities, compare);
    return 0;
}
