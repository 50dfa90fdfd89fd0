/* Bounds a long recording: MPISTAIR_WINDOW, outside of which recording is off.
 *
 * A window is `FROM-TO`, times since MPI_Init with a unit (ms, s, m, h), or `mark FROM-TO`, numbers of MPI_Pcontrol
 * from 3 on: recording is on from each call with the first number to the next one with the second. Without FROM it
 * begins at the beginning, without TO it ends at the end. Each process switches by itself, at its first call behind the
 * time. */
#ifndef MPISTAIR_BACKEND_WINDOW_H
#define MPISTAIR_BACKEND_WINDOW_H

#include "interpose/backend/recorder/state.h"

/* The first number of MPI_Pcontrol that is the program's. */
enum { FIRST_MARK = 3 };

/* Reads the environment, with an open spool, before the first record; thread is the calling one's, NULL without
 * memory. Rank 0 reports what is not understood, and it is ignored. */
void window_open(int rank, struct recorder_thread *thread);

/* Stores the mark of MPI_Pcontrol with this number, and switches recording where the number says so. */
void window_mark(const struct recorded_call *call, int number);

/* Switches recording where one of the window's times has come; looks again for modules after a dlclose (modules.h). */
void window_pass(struct recorded_call *call);

#endif
