/* Makes the trace.db of a run from its spools. */
#ifndef MPISTAIR_TRACE_INGEST_H
#define MPISTAIR_TRACE_INGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/error.h"
#include "share/base/placement.h"

struct ingest_options {
    char *const *folders; /* [n_folders] of spools */
    size_t n_folders;
    const char *run_key;    /* NULL: there is only one run */
    const char *output;     /* NULL: mpistair-<run key>.db in the working directory */
    const char *unfinished; /* folder for the trace until it is whole, on the file system of output; NULL: beside it */
    const struct placement *placement; /* NULL: where the processes were seen to run */
    size_t jobs;                       /* processors to use; 0: all that may be used */
    size_t shards; /* files for rows of single calls and messages; 0: as many as the run is long for, 1: none */
    bool calls;    /* fill the table `call` */
    bool quiet;    /* no summary on standard error */
    bool is_replacement_known;                            /* the user knows already what output replaces */
    void (*run_done)(void *context, const char *run_key); /* NULL, or called for each run that went into the trace */
    void *context;
};

/* Returns 0, or -1 with the reason and the output as it was. */
int ingest(const struct ingest_options *options, struct error *error);

#endif
