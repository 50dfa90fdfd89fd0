/* `mpistair run` inside `mpistair run`: the inner one records, the outer one says so. */
#ifndef MPISTAIR_RUN_NESTED_H
#define MPISTAIR_RUN_NESTED_H

#include <stddef.h>

/* In the inner one, when its job has ended: leaves the trace's absolute name to the run around this one, if there is
 * one. */
void nested_leave(const char *output);

/* In the outer one: a line on stderr for each name left in its folder of spools, which goes. Returns how many. */
size_t nested_tell(const char *folder);

#endif
