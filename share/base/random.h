/* Random numbers by seed, the same on every machine. Two generators: a state of 8 bytes for orders of what is
 * measured and for searches, and the Mersenne twister for what is drawn from distributions: patterns, meshes,
 * replicates.
 *
 *     uint64_t order = seed;
 *     random_order(&order, items, n);
 *
 *     struct twister random;
 *     twister_seed(&random, seed);
 *     double x = twister_gaussian(&random, deviation); */
#ifndef MPISTAIR_BASE_RANDOM_H
#define MPISTAIR_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Returns 64 random bits: SplitMix64. Any state is a seed. */
uint64_t random_next(uint64_t *state);
/* Returns a number below n > 0. */
uint64_t random_below(uint64_t *state, uint64_t n);
/* Fills order[n] with 0 to n - 1 in random order. */
void random_order(uint64_t *state, size_t *order, size_t n);

struct twister {
    uint32_t state[624];
    size_t at;
};

/* The numbers are those of GSL's gsl_rng_mt19937, gsl_ran_gaussian and gsl_ran_shuffle, which made what users keep
 * under a seed. */
void twister_seed(struct twister *random, uint64_t seed);
uint32_t twister_next(struct twister *random);
/* Returns a number of [0, 1). */
double twister_uniform(struct twister *random);
/* Returns a number below n, 0 < n < 2^32. */
uint32_t twister_below(struct twister *random, uint64_t n);
/* Returns a normally distributed number of mean 0. */
double twister_gaussian(struct twister *random, double deviation);
/* Puts items[n] into random order. */
void twister_shuffle(struct twister *random, size_t *items, size_t n);

#endif
