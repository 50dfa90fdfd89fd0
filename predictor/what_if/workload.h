/* Holds the rounds of a run in memory as the models see them, so that one run can be predicted many times: with another
 * machine, other places, other messages. It knows no SQLite: replay_workload.c reads the rounds from a trace. */
#ifndef MPISTAIR_PREDICTOR_WORKLOAD_H
#define MPISTAIR_PREDICTOR_WORKLOAD_H

#include "predictor/models/model.h"

/* Describes one kind of round, or, for terms that know post times, one of those that stand for its rounds. Its ranks
 * are numbered anew, so that it costs what its own ranks and messages cost. */
struct workload_kind {
    uint64_t rounds; /* how many the run has of the kind */
    double weight;   /* how many of them this one stands for */
    size_t n_ranks;
    uint32_t *world_rank; /* [n_ranks] world rank of a rank of the pattern */
    struct pattern pattern;
};

struct workload {
    size_t n_ranks; /* ranks of the world */
    struct workload_kind *kinds;
    size_t n_kinds;
    uint32_t *number; /* [n_ranks] all 0 between calls */
    bool one_pattern; /* it is not a run: nobody knows how often its one round is repeated */
};

/* Is a model, and what it is given beside pattern and placement. It borrows all. */
struct workload_judge {
    const struct model_choice *model;
    const struct machine *machine;
    const struct model_options *options;
};

/* Holds what is predicted of a run. */
struct workload_times {
    double total_s; /* T: the largest time over ranks of a round, summed over all rounds */
    double *rank_s; /* [workload.n_ranks] its own times, summed over all rounds */
    size_t extrapolated;
};

/* Begins without kinds. */
void workload_init(struct workload *workload, size_t n_ranks);
/* Takes over the pattern of a kind of so many rounds, for weight of which it stands; its ranks are those of the world,
 * each < n_ranks; the caller's pattern is empty then. */
void workload_add(struct workload *workload, uint64_t rounds, double weight, struct pattern *pattern);
void workload_release(struct workload *workload);

/* Holds the largest time and the sum of the times of the ranks in one round of a kind; placement is that of the world.
 * If rank_s is not NULL, weight times the time of each rank is added to rank_s[world rank]. Returns 0, or -1 with the
 * model's reason. */
struct workload_round {
    double largest_s;
    double sum_s;
    size_t extrapolated;
};
int workload_predict_kind(const struct workload *workload, size_t kind, const struct placement *placement,
                          const struct workload_judge *judge, double *rank_s, struct workload_round *round,
                          struct error *error);
/* Predicts all kinds. times->rank_s is the caller's. Returns 0, or -1 with the model's reason or where the sum is out
 * of range. */
int workload_predict(const struct workload *workload, const struct placement *placement,
                     const struct workload_judge *judge, struct workload_times *times, struct error *error);

/* Joins the messages that go from one rank to one other in a round into one of all their bytes. It is posted when
 * the last of them was, on the communicator of the first, from any source if one of them was received so. Returns 0,
 * or -1 with the reason: more than 2^64 bytes. */
int workload_aggregate(struct workload *workload, struct error *error);
/* Lists the kinds in which rank r takes part: kind_of[first[r]] to kind_of[first[r + 1] - 1]; the caller frees both
 * arrays. */
void workload_kinds_of_ranks(const struct workload *workload, size_t **first, uint32_t **kind_of);
/* Returns how many messages one round of every kind has. */
size_t workload_messages(const struct workload *workload);

#endif
