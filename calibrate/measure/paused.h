/* Sends messages to a receiver that pauses, to see what its transport takes meanwhile. The first rank of the pair
 * sends. */
#ifndef MPISTAIR_CALIBRATE_PAUSED_H
#define MPISTAIR_CALIBRATE_PAUSED_H

#include "calibrate/measure/measure.h"

/* Is a share of the pause: what is complete later counts as refused. */
#define PAUSED_MARGIN 0.8
/* A message that stands still so long is stopped: TCP alone waits 0.2 s and more before it sends a lost packet again,
 * or asks whether a window that was closed is open. */
#define PAUSED_STOPPED_S 0.35

/* Sends one message of task->bytes, from 1 on. The receiver waits until it can be received, posts the receive, and
 * makes no MPI call until the pause is over. Returns, on the receiver, the seconds from the receive, or from the start
 * where none was needed, until the send was complete; pause_s where it was not by PAUSED_MARGIN of the pause, or the
 * receiver fetched the message itself within MPI_Irecv. */
double paused_message(const struct measure *measure, const struct task *task, char *data, double pause_s);

/* Sends messages of task->bytes, one started when the one before is complete, to a receiver that makes no MPI call
 * until the pause is over. Returns, on the sender, the number of messages that were complete when the next one stopped;
 * 0 where none stopped by PAUSED_MARGIN of the pause. */
double paused_stream(const struct measure *measure, const struct task *task, char *data, double pause_s);

#endif
