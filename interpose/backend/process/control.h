/* Family pcontrol: MPI_Pcontrol switches recording off (0) and on (1), asks the kernel to write the calling thread's
 * newest records to the disk (2), and marks a place in the run with any other number. Every call leaves a SPOOL_MARK.
 *
 * While recording is off, operations keep their records, flagged SPOOL_OFF, since a sender that is off must not shift
 * the matching of a receiver that is on. Pending operations are completed, and of all other calls sums are kept. On and
 * off hold for all threads of the process; a recording window (window.h) may switch recording off besides. */
#ifndef MPISTAIR_BACKEND_CONTROL_H
#define MPISTAIR_BACKEND_CONTROL_H

#include "interpose/backend/recorder/state.h"

void pcontrol_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site, int level);
void pcontrol_end(struct recorded_call *call, int result);

#endif
