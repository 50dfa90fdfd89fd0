/* Holds a communication pattern (P.csv): with a placement (placement.h) it is the input of every model.
 *
 * P.csv has the header `src,dst,bytes` and the optional columns `send_s,recv_s` and `comm,any_source`. A message costs
 * 16 bytes without times, 32 with both, 4 more with `match`. */
#ifndef MPISTAIR_PREDICTOR_PATTERN_H
#define MPISTAIR_PREDICTOR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "share/base/placement.h"

struct pattern {
    size_t n_messages;
    size_t capacity;
    uint32_t *src;   /* [n_messages] each < placement.n_ranks */
    uint32_t *dst;   /* [n_messages] */
    uint64_t *bytes; /* [n_messages] */
    double *send_s;  /* [n_messages] post times, s from the beginning of the round, or NULL: all start together */
    double *recv_s;  /* the same of the receives */
    uint32_t *match; /* communicator * 2, + 1 if the receive took any source; NULL: one communicator, no such receive */
};

/* Reads a P.csv of a run of n_ranks ranks. Returns 0, or -1 with file, line and what was expected in error and the
 * output untouched. */
int pattern_read_csv(const char *path, size_t n_ranks, struct pattern *pattern, struct error *error);
/* Appends a message. Returns 0, or -1 with the pattern unchanged where it has 2^31 - 1 of them. */
int pattern_append(struct pattern *pattern, uint32_t src, uint32_t dst, uint64_t bytes);
/* Sets the post times of the message appended last; each is given for all messages of a pattern, or NULL for
 * all. */
void pattern_set_posts(struct pattern *pattern, const double *send_s, const double *recv_s);
/* Removes all messages and keeps the room. */
void pattern_clear(struct pattern *pattern);
/* Tells how the receive of the message appended last was posted; others count as of communicator 0, from a given
 * source. */
#define PATTERN_COMMUNICATOR_MAX (UINT32_MAX / 2)
void pattern_set_match(struct pattern *pattern, uint32_t communicator, bool any_source);
void pattern_release(struct pattern *pattern);

#endif
