/* What a model gets and what it gives: the interface between the pattern of a round and a cost model.
 *
 * A model is one file, registered in model_table.c; it knows neither SQLite nor MPI. All values SI.
 */
#ifndef MPISTAIR_PREDICTOR_MODEL_H
#define MPISTAIR_PREDICTOR_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "pattern.h"

/* Which messages' latency a rank pays (MODELS.md, staircase, rule 3). */
enum latency_side { LATENCY_IN = 0, LATENCY_OUT, LATENCY_MAX };

struct model_options {
    enum latency_side latency;
};

/* Per rank; the parts add up to time_s. Arrays of n_ranks, owned by whoever called prediction_init. */
struct prediction {
    size_t n_ranks;
    double *time_s;
    double *latency_s;
    double *bandwidth_s;
    double *queue_s;
    double *contention_s;
    size_t extrapolated; /* values read beyond the ends of a bandwidth table */
};

struct model {
    const char *name;   /* as given to --model */
    const char *source; /* equations, as "T5-T9, T12-T18" */
    bool latency_side;  /* model_options.latency changes its result */
    /* Fills a prediction of placement->n_ranks entries. Returns 0; -1 with a reason in error (a level or quantity that
     * the machine lacks, no memory), the prediction's contents then undefined. */
    int (*predict)(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                   const struct model_options *options, struct prediction *prediction, struct error *error);
};

/* NULL-terminated, in the order in which `--model all` prints them. */
extern const struct model *const model_table[];

/* NULL if there is no such model. */
const struct model *model_find(const char *name);

/* A model with the terms that are added to it. */
struct model_choice {
    const struct model *model;
    bool queue;    /* B3 */
    char name[32]; /* "staircase+queue" */
};

/* Of a name as given to --model: 0, or -1 if there is no such model or term. */
int model_choose(const char *name, struct model_choice *choice);
/* As model.predict. */
int model_choice_predict(const struct model_choice *choice, const struct pattern *pattern,
                         const struct placement *placement, const struct machine *machine,
                         const struct model_options *options, struct prediction *prediction, struct error *error);

/* All zero. 0, or -1 without memory. */
int prediction_init(struct prediction *prediction, size_t n_ranks);
/* For models: all zero before; after, the sum of the parts in time_s: 0, or -1 where one is beyond the range of a
 * double (a machine of absurd values). */
void prediction_clear(struct prediction *prediction);
int prediction_sum(struct prediction *prediction, struct error *error);
void prediction_release(struct prediction *prediction);

#endif
