/* SplitMix64 is by Steele, Lea and Flood (Fast splittable pseudorandom number generators, OOPSLA 2014), the twister by
 * Matsumoto and Nishimura (Mersenne twister, ACM TOMACS 8, 1998, with the seeding of 2002). */
#include "share/base/random.h"

#include <math.h>

enum { TWISTER_WORDS = 624, TWISTER_OFFSET = 397 };

uint64_t random_next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

void random_order(uint64_t *state, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t other = (size_t)random_below(state, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

void twister_seed(struct twister *random, uint64_t seed)
{
    random->state[0] = (uint32_t)(seed == 0 ? 4357 : seed);
    for (uint32_t i = 1; i < TWISTER_WORDS; i++)
        random->state[i] = UINT32_C(1812433253) * (random->state[i - 1] ^ random->state[i - 1] >> 30) + i;
    random->at = TWISTER_WORDS;
}

static void twist(uint32_t *state)
{
    for (size_t i = 0; i < TWISTER_WORDS; i++) {
        uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
        state[i] = state[(i + TWISTER_OFFSET) % TWISTER_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
}

uint32_t twister_next(struct twister *random)
{
    if (random->at == TWISTER_WORDS) {
        twist(random->state);
        random->at = 0;
    }
    uint32_t bits = random->state[random->at++];
    bits ^= bits >> 11;
    bits ^= bits << 7 & 0x9d2c5680u;
    bits ^= bits << 15 & 0xefc60000u;
    return bits ^ bits >> 18;
}

double twister_uniform(struct twister *random)
{
    return twister_next(random) / 4294967296.0;
}

uint32_t twister_below(struct twister *random, uint64_t n)
{
    uint32_t scale = (uint32_t)(UINT32_MAX / n), drawn;
    do
        drawn = twister_next(random) / scale;
    while (drawn >= n);
    return drawn;
}

static double uniform_above_0(struct twister *random)
{
    double drawn;
    do
        drawn = twister_uniform(random);
    while (drawn == 0);
    return drawn;
}

double twister_gaussian(struct twister *random, double deviation)
{
    double x, y, radius_2;
    do { /* Marsaglia's polar method */
        x = -1 + 2 * uniform_above_0(random);
        y = -1 + 2 * uniform_above_0(random);
        radius_2 = x * x + y * y;
    } while (radius_2 > 1 || radius_2 == 0);
    return deviation * y * sqrt(-2 * log(radius_2) / radius_2);
}

void twister_shuffle(struct twister *random, size_t *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = twister_below(random, i), kept = items[i - 1];
        items[i - 1] = items[other];
        items[other] = kept;
    }
}
