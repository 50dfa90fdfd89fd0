/* Brings the files of a run together at its end, and takes them away. */
#ifndef MPISTAIR_BACKEND_FILES_H
#define MPISTAIR_BACKEND_FILES_H

#include "interpose/backend/run/run_facts.h"

/* Copies at the end the files that rank 0 cannot see to OUTPUT.spool. Returns 0, or -1 (reported). */
int run_collect(struct run *run);

/* Removes this run's files in folder, and the folder where remove_folder is set. */
void run_remove_files(const struct run *run, const char *folder, int remove_folder);

#endif
