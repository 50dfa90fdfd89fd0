/* What all processes of one run agree on, and where this process's files go. */
#ifndef MPISTAIR_BACKEND_RUN_H
#define MPISTAIR_BACKEND_RUN_H

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

/* What rank 0 decides; it is broadcast as bytes. */
struct run_facts {
    uint64_t started_unix_ns;
    uint64_t host_key; /* key of rank 0's node */
    char key[64];      /* host-pid-chance, or sessions-hash: file names of the run begin with it */
    char output[PATH_MAX];
    char folder[PATH_MAX]; /* rank 0's spool folder */
};

struct run {
    struct run_facts facts;
    int rank, size;
    int parents;          /* processes that spawned this world together; 0: it was not spawned */
    int alone;            /* this process began by MPI_Session_init and ends by MPI_Session_finalize */
    int apart;            /* it goes on without processes that did not join: nothing is collective, and it is alone */
    uint64_t alone_start; /* launcher_start() where no other process gives the name of the run */
    char launch[64];      /* the launcher's name for what it started, empty: not known */
    int launched;         /* processes that it started together with this one, 0: not known */
    int launched_as;      /* rank among them */
    uint64_t kernel_key;  /* 0: not known */
    uint64_t host_key;
    int node_leader; /* lowest rank of this host, -1: not known */
    int node_ranks;  /* ranks on this host */
    int *leaders;    /* [n_leaders] ranks, ascending */
    int n_leaders;
    char *hosts; /* rank 0 has a line `LEADER HOST` for each node; NULL: not known */
    char host[256];
    char started_in[PATH_MAX]; /* working directory when the job began; empty: not known */
    char temporary[PATH_MAX];  /* TMPDIR */
    char folder[PATH_MAX];     /* where this process's spool lies */
    char spool[PATH_MAX];
    char topology[PATH_MAX]; /* empty: none */
    char maps[PATH_MAX];     /* empty: none */
    int names_output;        /* the environment does not name it: facts.output is our own choice */
    int made_folder;         /* the folder is the run's own, to be removed with it */
    dev_t folder_device;     /* identifies the folder, should another one get its name */
    ino_t folder_inode;
    int made_maps;
    int made_topology; /* this process wrote it */
    int is_copied;     /* its files are in OUTPUT.spool, too */
};

/* Writes a name for the run's own folder that nothing else has on this node, for attempt 0, 1, ... */
static inline void run_name_own_folder(char folder[PATH_MAX], const struct run *run, int attempt)
{
    int length = snprintf(folder, PATH_MAX, "%.2000s/mpistair-%s", run->temporary, run->facts.key);
    if (run->alone_start)
        length += snprintf(folder + length, (size_t)(PATH_MAX - length), "-%" PRIx64, run->alone_start);
    if (attempt > 0)
        snprintf(folder + length, (size_t)(PATH_MAX - length), "-%d", attempt);
}

/* Reads before MPI_Init what the environment says. Relative names there are relative to the folder started_in. */
void run_read_environment(struct run *run, const char *started_in);

/* Agrees after MPI_Init on the facts and on the nodes. Collective over run_comm (comm.h), which must be set. Where a
 * process is `alone` already, all take over the name that it has. Returns 0, or -1 in every process. */
int run_agree(struct run *run);

/* Finds the facts without communication, from rank and size; the name comes from what the launcher gives alike to all
 * processes. Returns 0, or -1 where it gives nothing. */
int run_name_alone(struct run *run);

/* Returns this process's part of MPISTAIR_SPOOL_LIMIT, which is in bytes for each node; that of the default where it is
 * not set, or not understood, which rank 0 reports. */
uint64_t run_spool_limit_bytes(const struct run *run);

/* Returns this process's part of MPISTAIR_PREALLOCATE in the same way; the default is 0. */
uint64_t run_preallocate_bytes(const struct run *run);

#endif
