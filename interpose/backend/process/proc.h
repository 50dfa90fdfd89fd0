/* What /proc says of a process and its ancestors. */
#ifndef MPISTAIR_BACKEND_PROC_H
#define MPISTAIR_BACKEND_PROC_H

#include <stddef.h>

/* All of /proc/PID/NAME as text[*length], a NUL behind it; free it. NULL where it cannot be read. */
char *proc_read(long pid, const char *name, size_t *length);

/* The parent of a process; 0: not known. */
long proc_parent(long pid);

/* When a process began, in clock ticks since the machine did; 0: not known. */
unsigned long long proc_start_ticks(long pid);

#endif
