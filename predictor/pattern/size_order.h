/* Puts messages together by one of their ends and sorts them by size: every staircase begins with that. Keys are sorted
 * by their digits, lowest first (LSD radix sort, stable): glibc's qsort takes 7 to 10 times as long for some hundred of
 * them, for its comparisons through a pointer. */
#ifndef MPISTAIR_PREDICTOR_SIZE_ORDER_H
#define MPISTAIR_PREDICTOR_SIZE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/pattern/traffic.h"

struct radix_run {
    uint64_t *key;
    uint32_t *id;
};

/* Sorts ascending by key, equal keys as they were. spare gives room for n. */
void radix_sort(struct radix_run run, size_t n, struct radix_run spare);

struct size_order {
    size_t n_groups;
    size_t *first;     /* [n_groups + 1] into the next */
    uint32_t *message; /* number in the pattern; by size within a group, then by number */
};

/* Orders the messages of those levels by their receiver (INCOMING) or sender (OUTGOING): group_of[rank] < n_groups of
 * that rank, or the rank itself where group_of is NULL (n_groups = n_ranks). Takes 4 bytes a message of those levels,
 * and 24 for each of the largest group a thread while it is sorted; O(M). n_threads: as of side_by_side. */
void size_order_init(struct size_order *order, const struct traffic *traffic, unsigned levels, enum direction direction,
                     const uint32_t *group_of, size_t n_groups, size_t n_threads);
/* Returns how many messages the largest group has. */
size_t size_order_largest(const struct size_order *order);
void size_order_release(struct size_order *order);

#endif
