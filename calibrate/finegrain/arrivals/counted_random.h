/* Draws random numbers by number: the n-th number of a seed, without those before it.
 *
 * A place is a few whole numbers, such as (iteration, rank, thread). Whoever asks for the same place gets the same
 * number, in any order, in any process. */
#ifndef MPISTAIR_CALIBRATE_COUNTED_RANDOM_H
#define MPISTAIR_CALIBRATE_COUNTED_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Returns 64 random bits of place[n_place]. */
uint64_t counted_bits(uint64_t seed, const uint64_t *place, size_t n_place);
/* Returns a whole number from 0 to n - 1, all equally likely but for n / 2^64. n is not 0. */
uint64_t counted_below(uint64_t n, uint64_t seed, const uint64_t *place, size_t n_place);
/* Returns a number of the normal distribution of mean 0 and standard deviation 1. */
double counted_normal(uint64_t seed, const uint64_t *place, size_t n_place);

#endif
