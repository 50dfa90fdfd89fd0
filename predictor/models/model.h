/* Says what a model gets and what it gives: the interface between the pattern of a round and a cost model.
 *
 * A model is one file, registered in model_table.c; it knows neither SQLite nor MPI. All values are in SI units. */
#ifndef MPISTAIR_PREDICTOR_MODEL_H
#define MPISTAIR_PREDICTOR_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"
#include "predictor/pattern/pattern.h"
#include "share/base/nearest.h"

/* Says which messages' latency a rank pays (share/doc/MODELS.md, Latency). */
enum latency_side { LATENCY_IN = 0, LATENCY_OUT, LATENCY_MAX };

struct topology;

struct model_options {
    enum latency_side latency;
    const struct topology *topology; /* borrowed; NULL: not known */
    size_t repetitions;              /* how often the round is repeated, one after the other; 0: the model's own */
    double compute_cores;            /* that compute on each socket */
};

/* T Algorithm 2 has as many repetitions. */
enum { DEFAULT_REPETITIONS = 10 };

/* Says what a rank's time is made of. */
enum prediction_part {
    PART_LATENCY,
    PART_BANDWIDTH,  /* its own bytes at the level's own rate, BW(1) */
    PART_CONTENTION, /* what others that share that rate add to it */
    PART_QUEUE,      /* search of the MPI's queues */
    PART_LINK,       /* network links that other nodes use, too */
    PART_SKEW,       /* 0; old traces hold waiting for a partner that started late */
    PART_MEMORY,     /* what cores that compute take from messages that arrive */
    PART_COUNT
};
/* Counts those that have a column of their own in a trace and in reports; PART_MEMORY is in PART_CONTENTION there. */
enum { STORED_PARTS = PART_MEMORY };

/* Names the parts (latency_s ...) as in JSON, and in the table `prediction`, where contention_s holds memory_s. */
extern const char *const prediction_part_name[PART_COUNT];

/* Holds what +memory says beside PART_MEMORY of the messages that contend with computation, for each rank over those
 * that arrive at its socket; all 0 without the term. The arrays have n_ranks entries and belong to the prediction. */
struct prediction_memory {
    size_t n_messages;  /* that may contend */
    size_t n_small;     /* of these smaller than 1 MB, which no calibration measures */
    size_t n_other;     /* of levels for which the machine's table was not measured */
    double *arriving_s; /* what they take beside computation, one after the other */
    double *slowed_s;   /* the same times the factor by which computation takes longer */
};

/* Returns the factor by which a rank's computation takes longer while messages arrive at its socket. */
double prediction_compute_slowdown(const struct prediction_memory *memory, size_t rank);

/* Holds the times of all ranks; the parts add up to time_s. The arrays have n_ranks entries and belong to whoever
 * called prediction_init. */
struct prediction {
    size_t n_ranks;
    double *time_s;
    double *part_s[PART_COUNT];
    double *low_s, *high_s; /* the interval that holds time_s with 95 %, as far as the machine's values go (interval.h);
                               NaN: not known */
    size_t extrapolated;    /* values read beyond the ends of a bandwidth table */
    struct prediction_memory memory;
};

struct traffic;
struct size_order;

/* Names the staircases that models add up (T18): messages between nodes, and within them, where a receiver serves its
 * messages evenly or one after another. Several models take the same one, so each is computed once a round. */
enum { STAIRCASE_BETWEEN, STAIRCASE_WITHIN, STAIRCASE_IN_TURN, STAIRCASE_PARTS };
#define STAIRCASE_BIT(part) (1u << (part))

/* Holds what a model is given. */
struct model_input {
    const struct traffic *traffic;       /* has the pattern */
    const struct prediction *staircases; /* [STAIRCASE_PARTS] those that the round's models take */
    const struct size_order *by_node;    /* flow_orders, for models that say so */
    const struct placement *placement;
    const struct machine *machine;
    const struct model_options *options;
};

struct model {
    const char *name;    /* as given to --model */
    const char *summary; /* for --help; the equations stand in the model's file */
    bool latency_side;   /* model_options.latency changes its result */
    bool repeats;        /* model_options.repetitions changes its result */
    unsigned staircases; /* it uses model_input.staircases of these parts, a bit each */
    bool by_node;        /* it uses model_input.by_node */
    /* Fills the parts of a prediction, which are all zero; the caller forms the sum. */
    void (*predict)(const struct model_input *input, struct prediction *prediction);
};

/* Each is defined in the file named after it. */
extern const struct model postal_model, max_rate_model, node_aware_model, staircase_model, staircase_max_model,
    serial_model, flow_model, flow_window_model;

/* Lists the models, NULL-terminated, in the order in which `--model all` prints them. */
extern const struct model *const model_table[];

/* Returns the model of that name, NULL if there is none. */
const struct model *model_find(const char *name);
/* Returns "; did you mean MODEL?", which nearest holds, or "" where no model with or without a term has a name like
 * that. */
const char *model_hint(const char *name, struct nearest *nearest);

/* Describes what a model leaves out and a term adds to the parts of its result. Each term is one file, registered in
 * model_table.c. */
struct model_term {
    const char *name;    /* as given to --model after a plus */
    const char *summary; /* the same */
    bool topology;       /* model_options.topology changes its result */
    bool computing;      /* model_options.compute_cores changes its result */
    /* Adds to a prediction that a model filled; the caller forms the sum. Returns 0, or -1 with the reason: a quantity
     * that the machine lacks. */
    int (*add)(const struct model_input *input, struct prediction *prediction, struct error *error);
};

/* Each is defined in the file named after it. */
extern const struct model_term queue_term, contention_term, memory_term;

/* Lists the terms, NULL-terminated. */
extern const struct model_term *const term_table[];

/* MAX_MODELS limits how many models a command asks at once. */
enum { MAX_TERMS = 8, MAX_MODELS = 32 };

/* Holds a model with the terms that are added to it. */
struct model_choice {
    const struct model *model;
    const struct model_term *terms[MAX_TERMS];
    size_t n_terms;
    bool topology, computing; /* one of its terms takes links from a topology, asks which cores compute */
    char name[64];            /* as given: "staircase+queue" */
};

/* Chooses by a name as given to --model. Returns 0, or -1 if there is no such model or term, or a term comes twice. */
int model_choose(const char *name, struct model_choice *choice);
/* Holds what all models of one round share. */
struct model_round {
    struct model_input input;
    struct traffic *traffic;    /* owned, as the next */
    struct size_order *by_node; /* or NULL */
    struct prediction staircases[STAIRCASE_PARTS];
};

/* Prepares a round for models[n_models], which may then predict it side by side; all that is given must outlive it, and
 * the round stays where it is. n_threads: as of side_by_side. Returns 0, or -1 with a reason in error: a level or
 * quantity that the machine lacks. */
int model_round_init(struct model_round *round, const struct pattern *pattern, const struct placement *placement,
                     const struct machine *machine, const struct model_options *options,
                     const struct model_choice *models, size_t n_models, size_t n_threads, struct error *error);
void model_round_release(struct model_round *round);

/* Fills a prediction of placement->n_ranks entries by a model with its terms. Returns 0, or -1 with a reason in error
 * (a quantity that the machine lacks, a time beyond the range of a double); the prediction's contents are then
 * undefined. */
int model_round_predict(const struct model_round *round, const struct model_choice *choice,
                        struct prediction *prediction, struct error *error);
/* Prepares a round and predicts it by one model. */
int model_choice_predict(const struct model_choice *choice, const struct pattern *pattern,
                         const struct placement *placement, const struct machine *machine,
                         const struct model_options *options, struct prediction *prediction, struct error *error);

/* Makes a prediction that is all zero, with no interval known. */
void prediction_init(struct prediction *prediction, size_t n_ranks);
/* Serve models: the first sets all to zero; the second forms time_s as the sum of the parts. It returns 0, or -1 where
 * a time is beyond the range of a double (a machine of absurd values). */
void prediction_clear(struct prediction *prediction);
int prediction_sum(struct prediction *prediction, struct error *error);
/* Adds the parts of another one, and what it read beyond the ends of tables. */
void prediction_add(struct prediction *prediction, const struct prediction *other);
void prediction_release(struct prediction *prediction);

/* Holds prediction_run.options of a model with its terms: what differs from the defaults, words with a blank between,
 * "" if nothing does. It is written into text and returned. */
struct model_options_text {
    char text[160];
};
const char *model_options_text(const struct model_choice *choice, const struct model_options *options,
                               struct model_options_text *text);

/* Prints on stderr how many values were read beyond the ends of a table. */
void model_choice_note(const struct model_choice *model, const struct machine *machine, size_t extrapolated);
/* Prints, of a model with +memory: nothing contends, since no message is of a level that the table is for; messages are
 * smaller than what was measured. */
void model_choice_note_memory(const struct model_choice *model, const struct machine *machine,
                              const struct prediction_memory *memory);

/* Holds the latest completion of a rank so far. */
struct critical {
    double at_s;      /* 0: none yet */
    double bytes;     /* what each message of the way had got through by then (flow: in turns), INFINITY: all */
    uint32_t message; /* the message that completed */
    uint32_t way;     /* where it waited: the model's own numbers */
};

/* Says whether a completion at that time may change it. */
static inline bool critical_reaches(const struct critical *critical, double at_s)
{
    return at_s >= critical->at_s * (1 - 1e-8);
}

/* Takes the later of both. Among completions closer than rounding (1e-9) the one with more bytes counts, then the first
 * in the pattern: the choice depends on no order of evaluation. at_s becomes the larger in any case. */
void critical_take(struct critical *critical, const struct critical *other);

/* Adds a transfer of total_s to the parts of a rank: bandwidth min(alone_s, total_s), contention the rest. */
void prediction_add_transfer(struct prediction *prediction, size_t rank, double alone_s, double total_s);

/* Fewer messages between ranks are too few to judge a model by. */
enum { JUDGEMENT_LEAST_MESSAGES = 10 };

/* Returns "too few messages"; "not explained", where the model is off by more than half of the time; "" else, and where
 * the error is NaN. messages: of all rounds. */
const char *judgement_of(double error, int64_t messages);

#endif
