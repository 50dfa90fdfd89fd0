/* Holds a communication pattern (P.csv): with a placement (placement.h) it is the input of every model.
 *
 * P.csv has the header `src,dst,bytes`. A message costs 12 bytes, or 16 where one of them is of 4 GiB or more. */
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
    bool full;              /* a message found no room: there are 2^31 - 1 */
    uint32_t *src;          /* [n_messages] each < placement.n_ranks */
    uint32_t *dst;          /* [n_messages] */
    uint32_t *narrow_bytes; /* [n_messages] NULL if the next is there: pattern_bytes reads either */
    uint64_t *wide_bytes;   /* [n_messages] NULL as long as 32 bits hold every message's bytes */
};

static inline uint64_t pattern_bytes(const struct pattern *pattern, size_t message)
{
    return pattern->wide_bytes != NULL ? pattern->wide_bytes[message] : pattern->narrow_bytes[message];
}

/* Reads a P.csv of a run of n_ranks ranks. Returns 0, or -1 with file, line and what was expected in error and the
 * output untouched. */
int pattern_read_csv(const char *path, size_t n_ranks, struct pattern *pattern, struct error *error);
/* Appends a message, where there is room. */
void pattern_append(struct pattern *pattern, size_t src, size_t dst, uint64_t bytes);
void pattern_set_bytes(struct pattern *pattern, size_t message, uint64_t bytes);
/* Returns 0, or -1 with the reason where a message found no room. */
int pattern_check(const struct pattern *pattern, struct error *error);
void pattern_release(struct pattern *pattern);

#endif
