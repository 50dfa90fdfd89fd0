/* Expands lists of hosts as Slurm writes them: "n[1-3,07-09],login", "r[1-2]n[01-16]". */
#ifndef MPISTAIR_BASE_HOSTLIST_H
#define MPISTAIR_BASE_HOSTLIST_H

#include <stddef.h>

#include "share/base/error.h"

/* The longest name of one host. */
enum { HOSTLIST_NAME_BYTES = 256 };

/* Calls take for each name of the list, in its order: of several brackets the last one varies fastest. A first number
 * with zeros in front gives its width to all of its range. A take that returns non-zero ends it and sets error. Returns
 * 0, or -1 with what is wrong with the list. */
int hostlist_each(const char *list, int (*take)(void *context, const char *name, struct error *error), void *context,
                  struct error *error);

#endif
