/* The staircase as a whole, for the models that change a part of it.
 * Citation, symbols and equations: staircase.c. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_STAIRCASE_H
#define MPISTAIR_PREDICTOR_STAIRCASE_H

#include "predictor/model.h"
#include "predictor/models/staircase_steps.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/traffic.h"

/* What is predicted at a time: the levels that share a bandwidth, and whose. */
struct staircase_part {
    unsigned levels;
    enum group_by group_by;
};

/* T18's: between nodes, within them. */
enum { STAIRCASE_BETWEEN, STAIRCASE_WITHIN, STAIRCASE_PARTS };
extern const struct staircase_part staircase_parts[STAIRCASE_PARTS];

/* M_i tau of a rank's messages of those levels, incoming, outgoing or the larger of both; s. */
double staircase_latency_s(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side);

/* How a receiver serves the messages to it: T9, or serial.c's. */
enum service { SERVICE_EVEN, SERVICE_SERIAL };

/* One level, or those of a node together: T8 or T15 of every rank added to latency_s, bandwidth_s and contention_s of
 * the prediction. 0, or -1 without memory. */
int staircase_add(const struct traffic *traffic, const struct placement *placement, const struct staircase_part *part,
                  enum service service, enum latency_side side, struct prediction *prediction);

/* As model.predict: T18, with that service within nodes. */
int staircase_predict_parts(enum service within, const struct pattern *pattern, const struct placement *placement,
                            const struct machine *machine, const struct model_options *options,
                            struct prediction *prediction, struct error *error);

#endif
