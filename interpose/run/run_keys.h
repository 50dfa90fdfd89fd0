/* Lists the runs that one `mpistair run` recorded: a job script may start several MPI jobs, each a run with a key. */
#ifndef MPISTAIR_RUN_RUN_KEYS_H
#define MPISTAIR_RUN_RUN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/spool/event.h"

struct run_key {
    char text[sizeof((struct spool_header){0}.run_key)];
    uint64_t started_unix_ns;
    bool is_done; /* run_keys_done was called for it */
    char *trace;  /* name of the trace made of it, released with the keys; NULL: none of its own */
};

struct run_keys {
    struct run_key *keys; /* [n], in the order in which the runs started */
    size_t n;
};

/* Adds the keys of the spools in a folder that are not there yet. Files that are no spools are passed over: ingest
 * reports them. */
void run_keys_add(struct run_keys *keys, const char *folder);
/* Marks a key as done: its run is in a trace. The first argument is a struct run_keys. */
void run_keys_done(void *keys, const char *key);
void run_keys_release(struct run_keys *keys);

#endif
