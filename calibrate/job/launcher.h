/* Runs benchmarks under the launcher that the user gives: `mpiexec -n 8`, srun, a wrapper. */
#ifndef MPISTAIR_CALIBRATE_LAUNCHER_H
#define MPISTAIR_CALIBRATE_LAUNCHER_H

#include <stdbool.h>

#include "calibrate/samples/notes.h"
#include "share/base/error.h"

/* Runs a child process whose output is read line by line while it runs. */

enum child_stream { CHILD_OUT, CHILD_ERR };

/* Gets the output of a child. A function that returns non-zero has set error and ends the child. */
struct child_listener {
    /* Takes a line without its end; whole is false for the last line of a stream if its end is missing. */
    int (*line)(void *context, enum child_stream stream, const char *line, bool whole, struct error *error);
    /* Called at least every 0.2 s; may be NULL. */
    int (*tick)(void *context, struct error *error);
    void *context;
};

/* Runs argv (NULL-terminated) until it ends, at most limit_s seconds: then it gets SIGTERM, 5 s later SIGKILL. SIGINT,
 * SIGTERM and SIGHUP to us end it in the same way, and so does our death. Its standard input is empty, the recorder
 * stays out of it. Orphans that it leaves are ended as well, 5 s after its own end. Returns 0 with what
 * waitpid() says in status, or -1 with the reason, once nothing of it is left to wait for. */
int child_run(char *const *argv, double limit_s, const struct child_listener *listener, int *status,
              struct error *error);

/* Returns the signal to us that ended the last child, 0 if none did. */
int child_interrupted(void);

/* Makes the processes that a child, or one of its own, leaves behind our children. Returns false and changes nothing
 * where we have children already, which could not be distinguished from those (a shell may start some and then become
 * us), or where the system cannot do it. */
bool orphans_collect(void);

/* Waits until those processes have ended, grace_s seconds at most, then as long again after SIGTERM and after SIGKILL.
 * Lets those live that made a session of their own, as daemons do. Undoes orphans_collect(), which must have returned
 * true. */
void orphans_end(double grace_s);

struct launcher {
    char **words; /* borrowed, [n_words]: the launcher and its options */
    int n_words;
    const char *mpi; /* as in the name of the program: mpich, openmpi, abi */
};

/* Finds out to which MPI the launcher belongs: by what it prints for --version, else by trying the benchmarks that are
 * built. Those of the standard ABI serve where there are none of that MPI. Returns 0, or -1 with the reason: it cannot
 * be started, its MPI is not known, there are no benchmarks for it. */
int launcher_identify(struct launcher *launcher, struct error *error);

/* Runs `launcher mpistair-benchmark-MPI benchmark arguments...` (arguments NULL-terminated) to its end, at most limit_s
 * seconds; what it says goes to listener line by line. Returns 0, or -1 with the reason. */
int launcher_run(const struct launcher *launcher, const char *benchmark, char *const *arguments, double limit_s,
                 const struct child_listener *listener, struct error *error);

#endif
