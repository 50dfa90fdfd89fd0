/* Brings the spools of other nodes to one folder, by the launcher of the job that left them and a program for its MPI
 * (interpose/collect). */
#ifndef MPISTAIR_RUN_COLLECT_H
#define MPISTAIR_RUN_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/spool/event.h"
#include "share/base/error.h"

/* What lies in folders of one run, by the names of its files. */
struct seen_run {
    char key[sizeof((struct spool_header *)0)->run_key];
    uint64_t started_unix_ns;
    int32_t world_size;
    uint32_t family;     /* enum spool_family */
    size_t n_missing;    /* ranks without a spool in these folders */
    size_t n_hosts;      /* nodes of the run; 0: not known */
    char *missing_hosts; /* those of which not all spools are here, with commas; NULL: none, or not known */
    size_t n_missing_hosts;
    bool has_own_host; /* this node is one of the run's, and spools of it are here */
};

struct seen_runs {
    struct seen_run *runs; /* [n] */
    size_t n;
};

/* Looks at the runs of which spools lie in the folders. Folders that cannot be read have none. */
void seen_runs_find(const char *const *folders, size_t n_folders, struct seen_runs *seen);
void seen_runs_release(struct seen_runs *seen);
/* True if ranks of a run (key NULL: of any) have no spool here that may lie on another node. */
bool seen_runs_lack(const struct seen_runs *seen, const char *key);

/* Says of which ranks and nodes no spool is here. */
void seen_runs_tell_missing(const struct seen_runs *seen, const char *key);

struct collection {
    char *const *launcher;      /* the launcher and its options, NULL at the end */
    bool starts_job;            /* behind the options stands the job's program, whose place the collector takes */
    const char *const *folders; /* [n_folders] of each node */
    size_t n_folders;
    const char *destination; /* a folder that this process sees, and one of the launcher's */
    const char *const *keys; /* [n_keys] of runs to be brought whenever they began */
    size_t n_keys;
    uint64_t since_unix_ns; /* others that began before are not brought; 0: all are */
    bool is_removed;        /* remove from the nodes what was brought, once all of it was */
    uint32_t family;        /* of the MPI, enum spool_family; unknown: those that are built are tried */
};

/* Returns 0 once all that the nodes of the launcher have is in the destination, or -1 with the reason; then nothing was
 * removed. Says what was brought. */
int collect(const struct collection *collection, struct error *error);

/* True if collect() knows how to start a program by this command of a job. */
bool collect_knows(char *const *command);

/* Returns the command that makes a trace later, with the launcher's part of the job's command where that is known;
 * nodes (NULL: those of the allocation, if there is one) are named as the launcher wants it. The caller frees it. */
char *collect_command(char *const *command, const char *const *folders, size_t n_folders, const char *output,
                      const char *nodes, size_t n_nodes);

/* Returns of how many nodes the allocation of the batch system is in which this process is; 0: not known. */
size_t collect_allocated_nodes(void);

#endif
