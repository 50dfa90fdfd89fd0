/* Says which processes of this node have the recorder, before any message is sent to them: a process that was started
 * without it would find a message of ours where the application takes any, and a collective of ours would wait for it
 * for ever. */
#ifndef MPISTAIR_BACKEND_ROLL_H
#define MPISTAIR_BACKEND_ROLL_H

#include <stddef.h>

/* Signs the roll of this node, before MPI_Init. MPI_Init returns only once all processes have called it, so mostly all
 * have signed by then. */
void roll_sign(void);

/* Returns how many processes that the launcher started on this node have not signed so far; 0 where it does not say how
 * many there are, or this process cannot look. Whoever signed stays known. */
int roll_missing(void);

/* Returns this node's processes, by their rank on it, that have (1) or have not signed (0), and sets their number, 0
 * where it is not known; as of the last roll_missing. */
const char *roll_signed(int *n);

/* Takes this process off the roll, once all have seen it. */
void roll_close(void);

#endif
