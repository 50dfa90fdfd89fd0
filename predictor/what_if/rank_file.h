/* Writes a placement as files that launchers take: Open MPI's rank file, the host file of MPICH's hydra, and L.csv. */
#ifndef MPISTAIR_PREDICTOR_RANK_FILE_H
#define MPISTAIR_PREDICTOR_RANK_FILE_H

#include "predictor/pattern/pattern.h"

/* Describes a node as the launchers know it. */
struct host {
    uint32_t node;
    char *name;
    uint32_t cores_per_socket; /* 0: not known */
};

/* Is sorted by node and owns all that it holds. */
struct hosts {
    struct host *hosts; /* [n] */
    size_t n;
};

/* Adds a node; name is copied. hosts_sort ends the additions. */
void hosts_add(struct hosts *hosts, uint32_t node, const char *name, uint32_t cores_per_socket);
void hosts_sort(struct hosts *hosts);
void hosts_release(struct hosts *hosts);
/* Names the nodes of a placement that nobody named node0, node1, ... */
void hosts_invent(struct hosts *hosts, const struct placement *placement);

/* Holds what the user should know of the files. */
struct rank_file_note {
    size_t split_nodes; /* nodes whose ranks are not consecutive: hydra takes them apart */
};

/* Writes PREFIX.rankfile, PREFIX.hosts and PREFIX.L.csv, each beside and then renamed: all or (but for a failing
 * rename) none. Returns 0, or -1 with the reason: a node without a name, a name with odd characters, no such folder. */
int rank_file_write(const char *prefix, const struct placement *placement, const struct hosts *hosts,
                    struct rank_file_note *note, struct error *error);

#endif
