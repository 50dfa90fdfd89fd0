/* Computes and writes the output of `mpistair pattern`. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_PATTERN_WRITE_H
#define MPISTAIR_PREDICTOR_PATTERN_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "predictor/pattern/pattern.h"

/* Describes the ranks in one direction. */
struct pattern_side_statistics {
    uint64_t most_messages;
    uint64_t least_messages; /* 0 where a rank has none */
    uint64_t most_bytes;
    uint64_t least_bytes; /* least of the ranks that have any, as T prints it; 0: none has */
};

/* Counts messages of a rank with itself in level LEVEL_SELF and in the totals, not in the sides. */
struct pattern_statistics {
    size_t n_ranks;
    size_t n_nodes;
    uint64_t n_messages;
    uint64_t bytes;
    struct pattern_side_statistics received;
    struct pattern_side_statistics sent;
    uint64_t level_messages[LEVEL_COUNT];
    uint64_t level_bytes[LEVEL_COUNT];
};

/* Computes the rows of T Tables II to IV. Returns 0, or -1 where the bytes are more than 64 bits hold. */
int pattern_statistics(const struct pattern *pattern, const struct placement *placement,
                       struct pattern_statistics *statistics, struct error *error);

/* Writes name.P.csv and name.L.csv, each replaced only when it is complete. Returns 0, or -1 with the reason. */
int pattern_write(const char *name, const struct pattern *pattern, const struct placement *placement,
                  struct error *error);
/* Shows them for people or as JSON. Returns 0, or -1 with the reason. */
int pattern_show(FILE *stream, const struct pattern_statistics *statistics, bool json, struct error *error);

#endif
