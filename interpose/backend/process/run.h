/* What all processes of one run agree on, and where this process's files go. */
#ifndef MPISTAIR_BACKEND_RUN_H
#define MPISTAIR_BACKEND_RUN_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <sys/types.h>

/* Decided by rank 0 and broadcast as bytes. */
struct run_facts {
    uint64_t started_unix_ns;
    uint64_t host_key; /* of rank 0's node */
    char key[64];      /* host-pid-chance, or sessions-hash: file names of the run begin with it */
    char output[PATH_MAX];
    char folder[PATH_MAX]; /* rank 0's spool folder */
};

struct run {
    struct run_facts facts;
    MPI_Comm comm; /* for the tool's own communication, see world_comm.h */
    int rank, size;
    int parents;          /* processes that spawned this world together; 0: it was not spawned */
    int alone;            /* this process began by MPI_Session_init and ends by MPI_Session_finalize */
    uint64_t alone_start; /* launcher_start() where the name of the run is not told by another process */
    char launch[64];      /* the launcher's name, empty: not known */
    int launched;         /* processes that it started together with this one, 0: not known */
    int launched_as;      /* rank among them */
    uint64_t host_key;
    int node_leader; /* lowest rank of this host, -1: not known */
    int node_ranks;  /* ranks on this host */
    int *leaders;    /* [n_leaders] ranks, ascending */
    int n_leaders;
    char host[256];
    char started_in[PATH_MAX]; /* working directory when the job began; empty: not known */
    char temporary[PATH_MAX];  /* TMPDIR */
    char folder[PATH_MAX];     /* where this process's spool lies */
    char spool[PATH_MAX];
    char topology[PATH_MAX]; /* empty: none */
    char maps[PATH_MAX];     /* empty: none */
    int names_output;        /* the environment does not: facts.output is our own choice */
    int made_folder;         /* the folder is the run's own, to be removed with it */
    dev_t folder_device;     /* which folder it is, whatever has its name later */
    ino_t folder_inode;
    int made_maps;
    int made_topology; /* this process wrote it */
};

extern struct run recorder_run;

/* Before MPI_Init: what the environment says. Relative names in it are of the folder started_in. */
void run_read_environment(struct run *run, const char *started_in);

/* After MPI_Init: agrees on the facts and on the nodes. Collective over run->comm, which must be set. Returns 0, or -1
 * in every process. Where a process is `alone` already, all take over the name that it has. */
int run_agree(struct run *run);

/* The facts without communication, from rank and size: the name out of what the launcher gives alike to all processes.
 * Returns 0, or -1 where that is nothing. */
int run_name_alone(struct run *run);

/* Makes the spool folder and the names of the files in it. Returns 0 or an errno value. */
int run_make_folder(struct run *run);

/* MPISTAIR_SPOOL_LIMIT, bytes a node; the default where it is not set, or not understood, which rank 0 says. */
uint64_t run_spool_limit_bytes(const struct run *run);

/* Copies the process's address ranges for the call sites. Returns 0, or -1: an earlier copy stays as it is, without one
 * run->maps is empty. */
int run_copy_maps(struct run *run);

/* At the end, on processes whose files rank 0 cannot see: copies them to OUTPUT.spool. Returns 0, or -1 (said). */
int run_collect(struct run *run);

/* Removes this run's files in folder, and the folder where remove_folder is set. */
void run_remove_files(const struct run *run, const char *folder, int remove_folder);

/* The node's topology as XML of hwloc into run->topology, unless another process made that file. Needs no MPI; quiet
 * without hwloc. */
void topology_write(struct run *run);

/* After MPI_Finalize on rank 0: builds the trace, or says how. bytes: of all spools. */
void ingest_run(const struct run *run, uint64_t bytes);

/* Where no process knows when the others end: says how to build the trace, unless that is cared for. what: the line's
 * beginning. */
#define INGEST_SESSIONS "processes with MPI sessions end apart; once all have ended, the trace is made by"
void ingest_say(const struct run *run, const char *what);

#endif
