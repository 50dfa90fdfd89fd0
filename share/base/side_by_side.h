/* Does several jobs at a time, such as predictions, on the processors that there are. */
#ifndef MPISTAIR_BASE_SIDE_BY_SIDE_H
#define MPISTAIR_BASE_SIDE_BY_SIDE_H

#include <stddef.h>

#include "share/base/error.h"

/* Does jobs 0 .. n_jobs - 1, each once, at most n_threads (0: as many as processors may be used) at a time, in the
 * caller's thread and others. A job writes to what belongs to it alone and draws nothing from its order, so the results
 * equal those of one after the other, bit for bit. Returns 0 if every job returned 0; else -1 and the error of the
 * first that failed in the order of numbers; the jobs behind it may have been done or not. */
int side_by_side(size_t n_jobs, size_t n_threads, int (*job)(void *context, size_t number, struct error *error),
                 void *context, struct error *error);

/* Returns how many processors this process may use. */
size_t usable_processors(void);

#endif
