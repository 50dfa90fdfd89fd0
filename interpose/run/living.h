/* Waits for processes that outlive their launcher: one that is told to end may leave some behind for a moment, a script
 * for longer. Their spools would be read while they still write. */
#ifndef MPISTAIR_RUN_LIVING_H
#define MPISTAIR_RUN_LIVING_H

#include <stddef.h>

/* Waits, for 10 s at most, until no process of this host records to the folder any more. Returns how many still do. */
size_t living_wait(const char *folder);

#endif
