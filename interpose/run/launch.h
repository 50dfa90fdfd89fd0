/* Starts the job with the recorder's environment and waits for it. */
#ifndef MPISTAIR_RUN_LAUNCH_H
#define MPISTAIR_RUN_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#include "share/base/error.h"

struct launch {
    char **command;               /* launcher, arguments, NULL */
    const char *preload;          /* absolute path of libmpistair.so */
    const char *spool;            /* absolute path of the spool folder */
    const char *output;           /* absolute path of the trace to be */
    void (*ending)(void *folder); /* called before SIGINT, SIGTERM or SIGHUP is handed on; NULL: nothing is */
    void *folder;
};

/* Runs the job to its end; SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to this process are handed on.
 * Returns what a shell would report, 0-255 (128 + n: ended by signal n), or -1 with the reason where it cannot be
 * started. */
int launch(const struct launch *job, struct error *error);

/* Finds the file that execvp would run for a command; returns false if there is none. */
bool launch_find_command(const char *name, char path[PATH_MAX]);

/* Sets path to the absolute name of the library to preload. Returns 0, or -1 with the reason: it is not there, or the
 * loader would read its name in LD_PRELOAD as another one. */
int launch_find_preload(char path[PATH_MAX], struct error *error);

/* True if the trace is to be made when the job has ended: MPISTAIR_INGEST is not 0. */
bool launch_wants_ingest(void);

#endif
