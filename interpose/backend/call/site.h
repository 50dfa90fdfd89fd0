/* Finds the application's call site of a recorded call, see recorder_site() in state.h. */
#ifndef MPISTAIR_BACKEND_SITE_H
#define MPISTAIR_BACKEND_SITE_H

#include "interpose/preload/bind.h"

/* Returns the calling thread's note of its last call in Fortran; never NULL. */
struct mpistair_fortran_note *site_note(void);

#endif
