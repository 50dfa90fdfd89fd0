/* The folder that the spools of one `mpistair run` lie in. */
#ifndef MPISTAIR_RUN_SPOOL_FOLDER_H
#define MPISTAIR_RUN_SPOOL_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct spool_folder {
    char path[PATH_MAX];      /* where the processes write, absolute */
    char collected[PATH_MAX]; /* OUTPUT.spool, where those of other nodes are brought to; may be the same */
    bool is_made;             /* path was made by us */
};

/* Makes the folder: `given` (NULL: none) if that is missing or empty, else OUTPUT.spool, or a folder of TMPDIR where
 * that would lie on a network file system. A folder OUTPUT.spool with spools of an earlier run is moved aside, with a
 * line on stderr. output is absolute. 0, or -1 with the reason. */
int spool_folder_make(struct spool_folder *folder, const char *output, const char *given, struct error *error);

/* How many spools lie in a folder; 0 where there is no such folder. */
size_t spool_folder_count(const char *path);

/* Removes all files from both folders, which are the run's own, and those folders that the run made. */
void spool_folder_remove(const struct spool_folder *folder);
/* Removes what was made if it is still empty. */
void spool_folder_remove_empty(const struct spool_folder *folder);

#endif
