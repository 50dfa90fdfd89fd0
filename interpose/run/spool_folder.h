/* The folder that the spools of one `mpistair run` lie in. */
#ifndef MPISTAIR_RUN_SPOOL_FOLDER_H
#define MPISTAIR_RUN_SPOOL_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpose/run/claim.h"
#include "share/base/error.h"

struct spool_folder {
    char path[PATH_MAX];       /* where the processes write, absolute */
    char collected[PATH_MAX];  /* OUTPUT.spool, where those of other nodes are brought to; may be the same */
    struct claim output_claim; /* on OUTPUT.spool: no other run writes OUTPUT */
    struct claim given_claim;
    bool is_temporary; /* path was made by us, in TMPDIR */
};

enum spool_folder_result { SPOOL_FOLDER_READY = 0, SPOOL_FOLDER_TAKEN = 1, SPOOL_FOLDER_FAILED = -1 };

/* Makes the folder: `given` (NULL: none) if that is missing or empty, else OUTPUT.spool, or a folder of TMPDIR where
 * that would lie on a network file system. OUTPUT.spool is claimed in any case; with what an earlier run left in it, it
 * is moved aside, with a line on stderr. output is absolute. SPOOL_FOLDER_TAKEN: a run that goes on records to output.
 * SPOOL_FOLDER_FAILED: with the reason. */
enum spool_folder_result spool_folder_make(struct spool_folder *folder, const char *output, const char *given,
                                           struct error *error);
/* Whether another run that goes on records to output. */
bool spool_folder_is_taken(const char *output);

/* How many spools lie in a folder; 0 where there is no such folder. */
size_t spool_folder_count(const char *path);

/* Removes all files from both folders, which are the run's own. */
void spool_folder_remove(const struct spool_folder *folder);
/* Gives the folders back, and removes those that the run made and that are empty. */
void spool_folder_release(struct spool_folder *folder);

#endif
