/* Looks for the reason why a job left no spool, in its command line and in the files that this names. */
#ifndef MPISTAIR_RUN_UNRECORDED_H
#define MPISTAIR_RUN_UNRECORDED_H

#include <stddef.h>

/* Prints a line on stderr for each reason that is found, and returns how many there are. command ends with NULL. */
size_t unrecorded_print(char *const *command);

#endif
