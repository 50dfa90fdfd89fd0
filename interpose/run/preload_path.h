/* Finds the library to preload, under a name that LD_PRELOAD can carry. */
#ifndef MPISTAIR_RUN_PRELOAD_PATH_H
#define MPISTAIR_RUN_PRELOAD_PATH_H

#include <limits.h>

#include "share/base/error.h"

/* Sets path to the library's absolute name. Returns 0, or -1 with the reason: it is not there, or the loader would read
 * its name as another one. */
int preload_path_find(char path[PATH_MAX], struct error *error);

#endif
