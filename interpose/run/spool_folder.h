/* Makes the folder in which the spools of one `mpistair run` lie. */
#ifndef MPISTAIR_RUN_SPOOL_FOLDER_H
#define MPISTAIR_RUN_SPOOL_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "interpose/spool/event.h"
#include "share/base/error.h"

/* Claims a folder for one `mpistair run` as long as that lives. */
struct claim {
    char folder[PATH_MAX];
    int lock; /* a descriptor, -1: nothing is claimed */
    bool is_made;
    struct timespec since; /* by the clock of the folder's file system */
};

struct spool_folder {
    char path[PATH_MAX];       /* where the processes write, absolute */
    char collected[PATH_MAX];  /* OUTPUT.spool, to which those of other nodes are brought; may be the same */
    struct claim output_claim; /* on OUTPUT.spool: no other run writes OUTPUT */
    struct claim given_claim;
    bool is_temporary; /* we made path, in TMPDIR */
};

enum spool_folder_result { SPOOL_FOLDER_READY = 0, SPOOL_FOLDER_TAKEN = 1, SPOOL_FOLDER_FAILED = -1 };

/* Makes the folder: `given` (NULL: none) if that is missing or empty, else OUTPUT.spool, or a folder of TMPDIR where
 * that would lie on a network file system. OUTPUT.spool, an absolute path as output is, is claimed in any case; if an
 * earlier run left something in it, it is moved aside, with a line on stderr. Returns SPOOL_FOLDER_TAKEN if a run that
 * goes on records to output, SPOOL_FOLDER_FAILED with the reason. */
enum spool_folder_result spool_folder_make(struct spool_folder *folder, const char *output, const char *given,
                                           struct error *error);
/* Claims OUTPUT.spool as both folders, whatever lies in it. Returns SPOOL_FOLDER_READY or SPOOL_FOLDER_FAILED. */
enum spool_folder_result spool_folder_join(struct spool_folder *folder, const char *output, struct error *error);
/* True if another run that goes on records to output. */
bool spool_folder_is_taken(const char *output);

/* Returns how many spools lie in a folder; 0 where there is no such folder. */
size_t spool_folder_count(const char *path);

/* Reads the header of a file in a folder; false where that is no spool. */
bool spool_folder_read_header(const char *path, const char *name, struct spool_header *header);

/* Removes what an ingest that was killed left in a folder, unless a run that goes on has it. */
void spool_folder_sweep(const char *path);

/* Removes all files from both folders, which are the run's own. */
void spool_folder_remove(const struct spool_folder *folder);
/* Gives the folders back, and removes those that the run made and that are empty. */
void spool_folder_release(struct spool_folder *folder);

#endif
