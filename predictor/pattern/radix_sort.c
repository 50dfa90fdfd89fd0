/* Sorting is most of what some models do, so the digits that all keys share are skipped and short runs take another
 * way. See radix_sort.h. */
#include "predictor/pattern/radix_sort.h"

#include <string.h>

enum { DIGIT_BITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS, SHORT_RUN = 48 };

static void sort_short(struct radix_run run, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t key = run.key[i];
        uint32_t id = run.id[i];
        size_t at = i;
        for (; at > 0 && run.key[at - 1] > key; at--) {
            run.key[at] = run.key[at - 1];
            run.id[at] = run.id[at - 1];
        }
        run.key[at] = key;
        run.id[at] = id;
    }
}

static void distribute(struct radix_run from, struct radix_run to, size_t n, unsigned shift)
{
    size_t place[DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        place[from.key[i] >> shift & (DIGIT_VALUES - 1)]++;
    for (size_t digit = 0; digit < DIGIT_VALUES; digit++) {
        size_t count = place[digit];
        place[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = place[from.key[i] >> shift & (DIGIT_VALUES - 1)]++;
        to.key[at] = from.key[i];
        to.id[at] = from.id[i];
    }
}

void radix_sort(struct radix_run run, size_t n, struct radix_run spare)
{
    if (n <= SHORT_RUN) {
        sort_short(run, n);
        return;
    }
    uint64_t differs = 0;
    for (size_t i = 1; i < n; i++)
        differs |= run.key[i] ^ run.key[0];
    struct radix_run from = run, to = spare;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differs >> shift & (DIGIT_VALUES - 1)) == 0)
            continue;
        distribute(from, to, n, shift);
        struct radix_run swap = from;
        from = to;
        to = swap;
    }
    if (from.key != run.key) {
        memcpy(run.key, from.key, n * sizeof *run.key);
        memcpy(run.id, from.id, n * sizeof *run.id);
    }
}
