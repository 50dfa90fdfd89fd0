/* Sorts numbered keys by their digits, lowest first (LSD radix sort, stable). Digits in which all keys agree are left
 * out, and few keys are sorted by insertion. glibc's qsort takes 7 to 10 times as long for some hundred of them, for
 * its comparisons through a pointer. */
#ifndef MPISTAIR_PREDICTOR_RADIX_SORT_H
#define MPISTAIR_PREDICTOR_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

struct radix_run {
    uint64_t *key;
    uint32_t *id;
};

/* Sorts ascending by key, equal keys as they were. spare gives room for n. */
void radix_sort(struct radix_run run, size_t n, struct radix_run spare);

#endif
