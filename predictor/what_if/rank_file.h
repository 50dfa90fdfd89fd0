/* Writes a placement as files that launchers take: Open MPI's rank file, the host file of MPICH's hydra, and L.csv. */
#ifndef MPISTAIR_PREDICTOR_RANK_FILE_H
#define MPISTAIR_PREDICTOR_RANK_FILE_H

#include <sqlite3.h>

#include "predictor/pattern/pattern.h"

/* Writes PREFIX.rankfile, PREFIX.hosts and PREFIX.L.csv, each beside and then renamed: all or (but for a failing
 * rename) none. The nodes are named as in the trace that is open as database. What the
 * user should know of the files is a note. Returns 0, or -1 with the reason: a node without a name, a name with odd
 * characters, no such folder. */
int rank_file_write(const char *prefix, const struct placement *placement, sqlite3 *database, const char *trace,
                    struct error *error);

#endif
