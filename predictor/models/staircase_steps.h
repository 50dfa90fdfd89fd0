/* Offers the steps of the staircase apart from the model that puts them together, so that tests can hold them against
 * each other. staircase.c has citation, symbols and equations. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_STAIRCASE_STEPS_H
#define MPISTAIR_PREDICTOR_STAIRCASE_STEPS_H

#include "predictor/models/critical.h"
#include "predictor/pattern/group.h"
#include "predictor/models/model.h"
#include "predictor/pattern/traffic.h"

/* Holds BW(n) of every class for n = 1 .. n_max, and which values were used. */
struct bandwidth_steps {
    size_t n_max;
    size_t n_classes;
    double *bytes_per_s; /* [n_classes * (n_max + 1)], class by class; entry 0 unused */
    bool *outside;       /* the same shape: beyond the table's ends */
    bool *used;
};

/* Reads all values. */
void bandwidth_steps_init(struct bandwidth_steps *steps, const struct traffic *traffic, size_t n_max);
/* Returns BW(n) of a class, in B/s, and notes it as used. */
double bandwidth_steps_at(struct bandwidth_steps *steps, size_t class, size_t n);
/* Returns how many values beyond the ends of a table were used. */
size_t bandwidth_steps_extrapolated(const struct bandwidth_steps *steps);
void bandwidth_steps_release(struct bandwidth_steps *steps);

/* Says what a rank's rate is made of: for the classes of its incoming bytes, the share of the class in its level, and
 * of the level in all (theta_i of T12, or 1 - theta_i). */
struct staircase_mix {
    size_t n_classes;
    struct {
        size_t class;
        double in_level;
        double level; /* share of the class's level */
        bool last_of_level;
    } parts[MAX_CLASSES];
};

/* Returns the mix of a rank with incoming bytes of those levels. */
struct staircase_mix staircase_mix_of(const struct traffic *traffic, unsigned levels, size_t rank);
/* Returns T12, in B/s: BW^mix(n, theta_i) = theta_i / n BW^on(n) + (1 - theta_i) / n BW^off(n); BW at a level is the
 * harmonic mean of the protocols' by bytes. */
double staircase_mix_bandwidth(const struct staircase_mix *mix, struct bandwidth_steps *steps, size_t n);

/* Returns the class of all incoming bytes of the ranks at those levels, or NO_CLASS where there are several, or none.
 */
size_t staircase_only_class(const struct traffic *traffic, unsigned levels, const uint32_t *ranks, size_t n);

/* Describes a rank that competes for its group's bandwidth: V_i > 0. */
struct competitor {
    uint32_t rank;
    double volume; /* V_i, B */
    double rest;   /* what of it is not yet received, B */
    double recv_s; /* t_i^recv, out */
};

/* Computes t_i^recv of n competitors whose bytes are all of one class (T5, T7). Orders them by (V_i, rank). */
void staircase_receive_even(size_t class, struct bandwidth_steps *steps, struct competitor *competitors, size_t n);
/* Computes t_i^recv of n competitors with bytes of any classes of those levels (T12-T14, T16, T17). Orders them as they
 * finish, ties by their place before. O(n^2). */
void staircase_receive_mixed(const struct traffic *traffic, unsigned levels, struct bandwidth_steps *steps,
                             struct competitor *competitors, size_t n);

/* Computes the latest delivery (T9) of each rank's outgoing messages of those levels: sends[n_ranks], all 0 without
 * any, from recv_s[n_ranks]; the way is the receiver's rank. Takes 12 bytes a message of those levels; O(M). */
void staircase_delivery(const struct traffic *traffic, unsigned levels, const double *recv_s, struct critical *sends);

#endif
