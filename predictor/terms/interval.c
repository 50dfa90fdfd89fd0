/* Propagates the machine table's intervals through the models as they are, so that no model needs formulas of its own
 * for them. See interval.h. */
#include "predictor/terms/interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/statistics.h"
#include "share/base/random.h"
#include "share/base/memory.h"

static const double QUANTILE_975 = 1.959963984540054; /* quantile of the normal distribution */

/* Returns how many ends of its interval are known. */
static size_t ends_known(const struct machine_parameter *row)
{
    bool fixed = strcmp(row->quantity, "threshold") == 0 || strcmp(row->quantity, "cores") == 0;
    if (fixed || row->ci_low < 0 || row->ci_low > row->ci_high)
        return 0;
    return (isfinite(row->ci_low) ? 1u : 0u) + (isfinite(row->ci_high) ? 1u : 0u);
}

static double draw(const struct machine_parameter *row, struct twister *random)
{
    double share = twister_gaussian(random, 1) / QUANTILE_975, value = row->value;
    /* A comparison with NaN is false, so an end that is not known becomes the value itself. */
    double low = row->ci_low < value ? row->ci_low : value, high = row->ci_high > value ? row->ci_high : value;
    if (share >= 0)
        return value > 0 ? value * pow(high / value, share) : value + share * (high - value);
    if (low > 0)
        return value * pow(value / low, share);
    return share > -1 ? value * (1 + share) : 0;
}

void machine_draws_init(struct machine_draws *draws, const struct machine *machine, size_t n, unsigned long seed)
{
    size_t n_known = 0;
    *draws = (struct machine_draws){0};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        n_known += ends_known(row);
        if (strcmp(row->quantity, "tau") != 0 && strcmp(row->quantity, "bw") != 0)
            continue;
        draws->n_values++;
        draws->n_open += ends_known(row) < 2;
    }
    if (n_known == 0)
        return;
    struct twister random;
    twister_seed(&random, seed);
    draws->machines = xcalloc(n + 1, sizeof *draws->machines);
    for (; draws->n < n; draws->n++) {
        struct machine *drawn = &draws->machines[draws->n];
        *drawn = *machine;
        drawn->parameters = xmalloc((machine->n_parameters + 1) * sizeof *drawn->parameters);
        memcpy(drawn->parameters, machine->parameters, machine->n_parameters * sizeof *drawn->parameters);
        for (size_t i = 0; i < machine->n_parameters; i++) {
            const struct machine_parameter *row = &machine->parameters[i];
            double value = ends_known(row) > 0 ? draw(row, &random) : row->value;
            if (isfinite(value) && (value > 0 || strcmp(row->unit, "B/s") != 0))
                drawn->parameters[i].value = value;
        }
    }
}

void machine_draws_release(struct machine_draws *draws)
{
    for (size_t i = 0; draws->machines != NULL && i < draws->n; i++)
        machine_release(&draws->machines[i]);
    free(draws->machines);
    *draws = (struct machine_draws){0};
}

struct time_interval time_interval(double *times_s, size_t n, double time_s)
{
    sort_doubles(times_s, n);
    return (struct time_interval){fmin(sorted_quantile(times_s, n, 0.025), time_s),
                                  fmax(sorted_quantile(times_s, n, 0.975), time_s)};
}

int prediction_interval(const struct machine_draws *draws, const struct model_choice *choice,
                        const struct pattern *pattern, const struct placement *placement,
                        const struct model_options *options, struct prediction *prediction, struct error *error)
{
    size_t n_ranks = prediction->n_ranks, n = draws->n;
    for (size_t rank = 0; rank < n_ranks; rank++)
        prediction->low_s[rank] = prediction->high_s[rank] = NAN;
    if (n == 0)
        return 0;
    struct prediction drawn;
    double *times_s = xmalloc((n_ranks * n + 1) * sizeof *times_s); /* the times of a rank stand together */
    int result = 0;
    prediction_init(&drawn, n_ranks);
    for (size_t i = 0; result == 0 && i < n; i++) {
        result = model_choice_predict(choice, pattern, placement, &draws->machines[i], options, &drawn, error);
        for (size_t rank = 0; result == 0 && rank < n_ranks; rank++)
            times_s[rank * n + i] = drawn.time_s[rank];
    }
    for (size_t rank = 0; result == 0 && rank < n_ranks; rank++) {
        double *drawn_s = times_s + rank * n, time_s = prediction->time_s[rank];
        const struct time_interval interval = time_interval(drawn_s, n, time_s);
        if (drawn_s[0] < drawn_s[n - 1] || !(time_s > 0)) {
            prediction->low_s[rank] = interval.low_s;
            prediction->high_s[rank] = interval.high_s;
        }
    }
    prediction_release(&drawn);
    free(times_s);
    return result;
}
