/* Handles `mpistair run` inside `mpistair run`: the inner one records, the outer one says so. */
#ifndef MPISTAIR_RUN_NESTED_H
#define MPISTAIR_RUN_NESTED_H

#include <stddef.h>

/* Leaves the trace's absolute name to the run around this one, if there is one. The inner run calls it when its job has
 * ended. */
void nested_leave(const char *output);

/* Prints, in the outer run, a line on stderr for each name left in its folder of spools, and removes it. Returns how
 * many. */
size_t nested_tell(const char *folder);

#endif
