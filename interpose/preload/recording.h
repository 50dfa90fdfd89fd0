/* Whether this process records: the backend, from its loading to the end. */
#ifndef MPISTAIR_PRELOAD_RECORDING_H
#define MPISTAIR_PRELOAD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/preload/bind.h"

/* Loads and starts the backend of the MPI in this process and stores its wrappers into the cells. Does so once; every
 * reason not to record ends in recording_stop() and, except where the user asked for it, in one line on stderr. Call
 * it before MPI is initialised. */
void recording_begin(void);

/* The backend's wrapper of a function; NULL: it has none, or nothing is recorded (yet, or any more). */
mpistair_code *recording_wrapper(uint32_t function);

/* All calls pass through from now on, for good. Safe in a forked child. */
void recording_stop(void);
bool recording_is_stopped(void);
/* A backend records. */
bool recording_is_on(void);

#endif
