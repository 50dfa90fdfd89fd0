/* Decides whether this process records, and holds the backend from its loading to the end. */
#ifndef MPISTAIR_PRELOAD_RECORDING_H
#define MPISTAIR_PRELOAD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/preload/bind.h"

/* Returns whether the user wants nothing recorded: MPISTAIR_DISABLE. */
bool recording_is_disabled(void);

enum recording_state {
    RECORDING_IDLE, /* MPI was not initialised through this library so far */
    RECORDING_BINDING,
    RECORDING_ON,
    RECORDING_STOPPED,
};
enum recording_state recording_state(void);

/* Returns true to the first caller, which must end in recording_start or recording_stop. */
bool recording_claim(void);
/* Lets the backend, which has started on the host, record from now on. Returns false where recording was stopped
 * meanwhile. */
bool recording_start(const struct mpistair_backend *backend, const struct mpistair_host *host);

/* Returns the backend's wrapper of a function; NULL if it has none, or nothing is recorded (yet, or any more). */
mpistair_code *recording_wrapper(uint32_t function);

/* Lets a recording backend note which modules are loaded. */
void recording_note_modules(void);
/* The same, before modules may come or go; the backend finds out itself when they did. */
void recording_expect_change(void);

/* Makes all calls pass through from now on, for good. Safe in a forked child. */
void recording_stop(void);

#endif
