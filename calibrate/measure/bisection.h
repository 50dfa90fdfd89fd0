/* Finds the size from which something is refused, by asking for one size after the other: doubled until the first
 * refusal, then halfway between the largest that was taken and the smallest that was refused.
 *
 * A refusal may be a delay that was taken for one. So the smallest refused size is asked for once more at the end, with
 * more patience; where it is taken then, everything refused so far is forgotten and the search goes on upwards. */
#ifndef MPISTAIR_CALIBRATE_BISECTION_H
#define MPISTAIR_CALIBRATE_BISECTION_H

#include <stdbool.h>
#include <stdint.h>

struct bisection {
    uint64_t first_bytes;   /* asked first, from 1 on */
    uint64_t last_bytes;    /* asked at most */
    double resolution;      /* relative precision of the result; 0: to the byte */
    uint64_t taken_bytes;   /* the largest that was taken, 0: none so far */
    uint64_t refused_bytes; /* the smallest that was refused, 0: none so far */
    bool confirmed;         /* refused_bytes was refused twice */
};

/* Returns the next size to ask for; 0 at the end, when refused_bytes is 0 if nothing up to last_bytes was refused.
 * *again is set if the size was refused before. */
uint64_t bisection_next(const struct bisection *bisection, bool *again);

/* Takes the answer for the size that bisection_next() gave. */
void bisection_tell(struct bisection *bisection, uint64_t bytes, bool taken);

#endif
