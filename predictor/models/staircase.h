/* Offers the staircase as a whole and its steps apart, for the models that change a part of it and for tests that
 * hold the steps against each other. staircase.c has citation, symbols and equations; so has serial what is in the
 * place of T9. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_STAIRCASE_H
#define MPISTAIR_PREDICTOR_STAIRCASE_H

#include "predictor/models/model.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/size_order.h"
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
static inline double bandwidth_steps_at(struct bandwidth_steps *steps, size_t class, size_t n)
{
    size_t i = class * (steps->n_max + 1) + n;
    steps->used[i] = true;
    return steps->bytes_per_s[i];
}
/* Returns how many values beyond the ends of a table were used. */
size_t bandwidth_steps_extrapolated(const struct bandwidth_steps *steps);
void bandwidth_steps_release(struct bandwidth_steps *steps);

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

/* Returns M_i tau of a rank's messages of those levels, incoming, outgoing or the larger of both; in s. */
double staircase_latency_s(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side);

/* Predicts T8 or T15 of every rank for the parts of that set (STAIRCASE_BIT), side by side, of
 * staircases[STAIRCASE_PARTS]; the others are left as they are. n_threads: as of side_by_side. */
void staircases_predict(const struct model_input *input, unsigned parts, size_t n_threads,
                        struct prediction *staircases);

#endif
