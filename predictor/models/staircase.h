/* Offers the staircase as a whole, for the models that change a part of it. staircase.c has citation, symbols and
 * equations. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_STAIRCASE_H
#define MPISTAIR_PREDICTOR_STAIRCASE_H

#include "predictor/models/model.h"
#include "predictor/models/staircase_steps.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/traffic.h"

/* Says what is predicted at a time: the levels that share a bandwidth, and whose bandwidth it is. */
struct staircase_part {
    unsigned levels;
    enum group_by group_by;
};

/* Are the parts of T18: between nodes, within them. */
enum { STAIRCASE_BETWEEN, STAIRCASE_WITHIN, STAIRCASE_PARTS };
extern const struct staircase_part staircase_parts[STAIRCASE_PARTS];

/* Returns M_i tau of a rank's messages of those levels, incoming, outgoing or the larger of both; in s. */
double staircase_latency_s(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side);

/* Says how a receiver serves the messages to it: as in T9, or as in serial.c. */
enum service { SERVICE_EVEN, SERVICE_SERIAL };

/* Adds T8 or T15 of every rank, for one level or those of a node together, to latency_s, bandwidth_s and contention_s
 * of the prediction. */
void staircase_add(const struct traffic *traffic, const struct placement *placement, const struct staircase_part *part,
                   enum service service, enum latency_side side, struct prediction *prediction);

/* Predicts T18, with that service within nodes. Arguments are as of model.predict. */
void staircase_predict_parts(enum service within, const struct model_input *input, struct prediction *prediction);

#endif
