/* Computes intervals of predicted times from the intervals of the machine table.
 *
 * A value v of the table with the interval [l, h] (95 %, as calibration writes it) is drawn as
 *
 *     v exp(z ln(v/l)/1.96) for z < 0,  v exp(z ln(h/v)/1.96) for z >= 0,  z standard normal
 *
 * (a log-normal on each side, so that l and h are its quantiles of 2.5 and 97.5 %; where l is 0, as a latency's may be,
 * the lower side is linear and ends at 0). This is a parametric bootstrap: all values are drawn anew, the model runs
 * with them, and the quantiles of 2.5 and 97.5 % of its times are the interval (B. Efron and R. J. Tibshirani, An
 * Introduction to the Bootstrap, 1993, chapters 6 and 13).
 *
 *   v, l, h   machine_parameter.value, ci_low, ci_high    the quantity's
 *   z         twister_gaussian                           -
 *
 * Limits: values are drawn independently, though those of one fit are not; an end that is not known is the value
 * itself; thresholds and numbers of cores stay. The interval says how well the table is known, not how well the model
 * fits. */
#ifndef MPISTAIR_PREDICTOR_INTERVAL_H
#define MPISTAIR_PREDICTOR_INTERVAL_H

#include "predictor/models/model.h"

enum { INTERVAL_DRAWS = 200 };

/* Holds machines that are drawn from the intervals of one. */
struct machine_draws {
    struct machine *machines; /* [n] */
    size_t n;                 /* 0: no value has an interval */
    size_t n_open;            /* tau and bw of which an end of the interval, or both, is not known, of n_values */
    size_t n_values;
};

/* Draws n machines. The same seed gives the same draws. */
void machine_draws_init(struct machine_draws *draws, const struct machine *machine, size_t n, unsigned long seed);
void machine_draws_release(struct machine_draws *draws);

/* Holds what is known of a time with 95 %, as far as the values of the table go. */
struct time_interval {
    double low_s, high_s;
};
/* Returns the quantiles of 2.5 and 97.5 % of n times, which it sorts, widened to hold the time itself. */
struct time_interval time_interval(double *times_s, size_t n, double time_s);

/* Sets low_s and high_s of a prediction that the choice made with the machine itself;
 * NaN where nothing that the time depends on has an interval. Costs draws->n predictions and 8 bytes a rank and draw.
 * Returns 0, or -1 with the reason. */
int prediction_interval(const struct machine_draws *draws, const struct model_choice *choice,
                        const struct pattern *pattern, const struct placement *placement,
                        const struct model_options *options, struct prediction *prediction, struct error *error);

#endif
