/* A clock that goes on evenly when the date is changed. */
#ifndef MPISTAIR_BASE_MONOTONIC_H
#define MPISTAIR_BASE_MONOTONIC_H

/* Returns seconds on this host's CLOCK_MONOTONIC. */
double clock_now_s(void);

#endif
