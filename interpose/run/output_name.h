/* Decides to which file a trace goes: what a user has is replaced only where the user named it. */
#ifndef MPISTAIR_RUN_OUTPUT_NAME_H
#define MPISTAIR_RUN_OUTPUT_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "share/base/error.h"

struct output_name {
    char path[PATH_MAX]; /* absolute */
    bool is_given;       /* the user named it: a trace of that name is replaced */
};

/* Takes the name from the option (NULL: none), else from the batch system's job or this process. Returns 0, or -1 with
 * the reason: it must be possible to put a file there. */
int output_name_find(struct output_name *output, const char *given, struct error *error);

/* Writes PATH, PATH-2, PATH-3, ... with the suffix kept, for number 1, 2, 3, ... Returns 0, or -1 where that is too
 * long. */
int output_name_number(const char *path, unsigned number, char numbered[PATH_MAX]);

/* Finds the next number, from *number on, to whose name no other run records and whose name no trace has that would be
 * lost. Traces that were there before `since` are replaced where the user gave the name, as those of the same script
 * run again. The first number is the run's own claim. Returns 0 with *number and its name, or -1 with the reason. */
int output_name_next(const struct output_name *output, struct timespec since, unsigned *number, char numbered[PATH_MAX],
                     struct error *error);

#endif
