/* Waits until all processes have joined the recording, and says when they have not: one that was started without the
 * library never will. */
#ifndef MPISTAIR_BACKEND_JOIN_H
#define MPISTAIR_BACKEND_JOIN_H

#include "interpose/backend/run/run.h"

/* Says to the other processes of this node that this one has the recorder, without a message: before MPI_Init, which
 * returns only once all processes have called it, so that mostly all have said it by then. */
void join_announce(void);

/* Takes that back, once all have seen it. */
void join_withdraw(void);

#define JOIN_SAY_S 10 /* a line tells whom all wait for; sooner where they wait for less than twice as long */

/* Returns 1 once all processes of run_comm have called this, 0 where some have not in MPISTAIR_JOIN_S seconds; all
 * that have called it get the same. No message is left behind at those of this node that did not call it. */
int join_wait(const struct run *run);

/* Returns whether this process speaks for those that go on without others. */
int join_speaks(void);

#endif
