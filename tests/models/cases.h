/* Shares what the tests of models need: patterns out of arrays or chance, machines out of few numbers, a prediction of
 * either. */
#ifndef MPISTAIR_TESTS_CASES_H
#define MPISTAIR_TESTS_CASES_H

#include "predictor/models/model.h"

struct case_message {
    uint32_t src, dst;
    uint64_t bytes;
};

/* Holds a pattern, a placement and a machine, which a model is given; it owns them. */
struct model_case {
    struct pattern pattern;
    struct placement placement;
    struct machine machine;
};

/* All end the test where they fail. */
void case_place(struct model_case *c, size_t n_ranks, const uint32_t *node, const uint32_t *socket);
void case_add(struct model_case *c, uint32_t src, uint32_t dst, uint64_t bytes);
void case_machine(struct model_case *c, const char *shipped);
/* Adds one row of the machine; n is 0 for none. */
void case_value(struct model_case *c, enum level level, enum machine_protocol protocol, const char *quantity,
                uint64_t n, double value, const char *unit);
void case_release(struct model_case *c);

/* Predicts; the caller releases the result. */
struct prediction case_predict(const struct model_case *c, const char *model, enum latency_side side);
void assert_close(double value, double expected, double relative);
/* Compares the times of all ranks, in us, to 1e-9. */
void assert_times(const struct model_case *c, const char *model, enum latency_side side, const double *expected_us);
/* Compares the split of what is not latency, in us; 0 means 0, not nearly. */
void assert_split(const struct model_case *c, const char *model, const double *bandwidth_us,
                  const double *contention_us);

/* Gives a fixed sequence of pseudo-random numbers (splitmix64); below(n) is in 0 .. n-1. */
struct chance {
    uint64_t state;
};
uint64_t chance_below(struct chance *chance, uint64_t n);
/* Makes a case with levels within a node and between nodes, up to 40 ranks, up to 300 messages with ties, empty ones
 * and ones to the sender itself; with several protocols where asked for. */
void case_random(struct model_case *c, struct chance *chance, bool protocols);

#endif
