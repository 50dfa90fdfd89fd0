/* Makes the folder of a process's spool, and files in it.
 *
 * In a folder that others may write to, as in /tmp, another user may have made what we are about to make, as a link to
 * a file of ours. So the run's own folder must belong to us and be writable by no other user, a file is made only where
 * there is none, and no link is followed. The program may close every descriptor, so none is kept: the folder is opened
 * each time, and must be the same one. */
#ifndef MPISTAIR_BACKEND_FOLDER_H
#define MPISTAIR_BACKEND_FOLDER_H

#include "interpose/backend/run/run.h"

/* Makes run->folder. is_own says that it is the run's own; otherwise the user named it, and it is used as it is.
 * Returns 0 or an errno value, EPERM where another user owns a folder of that name. */
int folder_make(struct run *run, int is_own);

/* Makes the spool folder of the run, and the names of the files in it. Returns 0 or an errno value. */
int folder_make_for(struct run *run);

/* Returns a descriptor of the folder, which the caller closes, or -1 if it is no longer there. */
int folder_open(const struct run *run);

/* Creates a file in the folder, of the name at the end of path. What was there is removed if `replace`, else it stays.
 * Returns a descriptor to write to, or -1 with errno. */
int folder_create(const struct run *run, const char *path, int replace);

/* Creates path in the folder from all that `write_all` writes: it exists as a whole or not at all. Returns 0 or -1. */
int folder_write(const struct run *run, const char *path, int (*write_all)(int fd, const void *data), const void *data);

/* Copies at the end of a run the files that rank 0 cannot see to OUTPUT.spool. Returns 0; or -1, which is reported
 * unless `mpistair run` will bring them, since this node does not see its OUTPUT.spool. */
int run_collect(struct run *run);

/* Removes this run's files in folder, and the folder where remove_folder is set. */
void run_remove_files(const struct run *run, const char *folder, int remove_folder);

#endif
