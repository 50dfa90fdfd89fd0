/* Mixes the numbers of a place one after the other with the finaliser of SplitMix64 (Steele, Lea and Flood, Fast
 * splittable pseudorandom number generators, 2014): a bijection of 64 bits in which every bit changes half of the
 * others. */
#include "calibrate/finegrain/arrivals/counted_random.h"

#include <math.h>

static uint64_t mix(uint64_t state, uint64_t word)
{
    uint64_t bits = (state ^ word) + 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
}

uint64_t counted_bits(uint64_t seed, const uint64_t *place, size_t n_place)
{
    uint64_t state = mix(0, seed);
    for (size_t i = 0; i < n_place; i++)
        state = mix(state, place[i]);
    return state;
}

uint64_t counted_below(uint64_t n, uint64_t seed, const uint64_t *place, size_t n_place)
{
    return (uint64_t)(((unsigned __int128)counted_bits(seed, place, n_place) * n) >> 64);
}

/* Takes the 53 bits that a double holds: a number above 0, at most 1. */
static double share_of(uint64_t bits)
{
    return (double)((bits >> 11) + 1) * 0x1p-53;
}

/* Uses the method of Box and Muller (A note on the generation of random normal deviates, 1958). */
double counted_normal(uint64_t seed, const uint64_t *place, size_t n_place)
{
    uint64_t bits = counted_bits(seed, place, n_place);
    return sqrt(-2 * log(share_of(mix(bits, 1)))) * cos(2 * acos(-1) * share_of(mix(bits, 2)));
}
