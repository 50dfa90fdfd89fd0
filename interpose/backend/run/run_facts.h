/* Holds what a process knows of its run: what all processes agree on (run.h), and where its own files go. */
#ifndef MPISTAIR_BACKEND_RUN_FACTS_H
#define MPISTAIR_BACKEND_RUN_FACTS_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <sys/types.h>

/* Holds what rank 0 decides; it is broadcast as bytes. */
struct run_facts {
    uint64_t started_unix_ns;
    uint64_t host_key; /* key of rank 0's node */
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
    int apart;            /* it goes on without processes that did not join: nothing is collective, and it is alone */
    uint64_t alone_start; /* launcher_start() where the name of the run is not told by another process */
    char launch[64];      /* the launcher's name for what it started, empty: not known */
    int launched;         /* processes that it started together with this one, 0: not known */
    int launched_as;      /* rank among them */
    uint64_t kernel_key;  /* 0: not known */
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
    int names_output;        /* the environment does not name it: facts.output is our own choice */
    int made_folder;         /* the folder is the run's own, to be removed with it */
    dev_t folder_device;     /* says which folder it is, whatever has its name later */
    ino_t folder_inode;
    int made_maps;
    int made_topology; /* this process wrote it */
};

extern struct run recorder_run;

#endif
