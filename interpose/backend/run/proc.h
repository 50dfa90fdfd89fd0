/* Reads what /proc says of a process and its ancestors. */
#ifndef MPISTAIR_BACKEND_PROC_H
#define MPISTAIR_BACKEND_PROC_H

#include <stddef.h>

/* Returns all of /proc/PID/NAME as text[*length] with a NUL behind it, which the caller frees; NULL where it cannot be
 * read. */
char *proc_read(long pid, const char *name, size_t *length);

/* Returns the parent of a process; 0 if it is not known. */
long proc_parent(long pid);

/* Returns when a process began, in clock ticks since the machine did; 0 if it is not known. */
unsigned long long proc_start_ticks(long pid);

#endif
