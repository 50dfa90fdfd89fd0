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

/* Says what is predicted at a time: the levels that share a bandwidth, and whose bandwidth it is. */
struct staircase_part {
    unsigned levels;
    enum group_by group_by;
};

extern const struct staircase_part staircase_parts[STAIRCASE_PARTS];

/* Returns M_i tau of a rank's messages of those levels, incoming, outgoing or the larger of both; in s. */
double staircase_latency_s(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side);

/* Says how a receiver serves the messages to it: as in T9, or as in serial. */
enum service { SERVICE_EVEN, SERVICE_SERIAL };

/* Adds T8 or T15 of every rank, for one part, STAIRCASE_BETWEEN or STAIRCASE_WITHIN, to latency_s, bandwidth_s and
 * contention_s of the prediction. */
void staircase_add(const struct model_input *input, size_t part, enum service service, struct prediction *prediction);

/* Predicts T18, with that service within nodes. Arguments are as of model.predict. */
void staircase_predict_parts(enum service within, const struct model_input *input, struct prediction *prediction);

/* Says of a block that its sender waits for when it is delivered if it is the first of its receiver's, and if half of
 * the others come before it. */
struct serial_block {
    double first_s, half_s;
    uint32_t message; /* that stands for it */
};

struct serial {
    const struct traffic *traffic;        /* borrowed, as the next */
    const struct size_order *by_receiver; /* of those levels */
    unsigned levels;
    size_t n_waited;
    struct serial_block *waited; /* [n_waited] receiver by receiver; by message from the delivery on */
    double *end_share;           /* [n_ranks] share of the orders in which a block is the first, or the last, of several
                                  * to a rank; 0 if there is one */
    struct radix_run blocks;     /* blocks of the current receiver; key: bytes, id: the message that stands for it */
    struct radix_run spare;      /* room to sort them, behind them */
    uint32_t *block_of;          /* [n_ranks] block of a sender among them, plus one; 0: none, and between receivers */
};

/* Takes 24 bytes for each block that its sender waits for, and a bit a message. */
void serial_init(struct serial *serial, const struct traffic *traffic, const struct size_order *by_receiver,
                 unsigned levels);
/* Takes one group, as staircase_receive_even or staircase_receive_mixed left its n competitors. */
void serial_receive(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                    size_t n);
/* Computes, once and when all groups have received, the mean over the orders of when each rank's receives and sends are
 * over: sends[n_ranks], from recv_s[n_ranks]. bytes is INFINITY where in half of the orders it waits for its receives
 * longest. */
void serial_delivery(struct serial *serial, const double *recv_s, struct critical *sends);
void serial_release(struct serial *serial);

#endif
