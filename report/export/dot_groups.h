/* Puts ranks together until a graph of them can be read. */
#ifndef MPISTAIR_EXPORT_DOT_GROUPS_H
#define MPISTAIR_EXPORT_DOT_GROUPS_H

#include "interpose/database/cursor.h"
#include "report/export/trace_export.h"
#include "share/base/map.h"

enum { MAX_GROUPS = 64 };

struct rank_group {
    int64_t node, socket; /* of its first rank; -1: not known */
    const char *host;
    uint32_t n_ranks, first_rank;
    char *label;
};

struct rank_groups {
    struct rank_group *list; /* [n] by node and socket */
    size_t n;
    uint32_t *of_rank;   /* [n_ranks] */
    bool nodes, sockets; /* groups of one node, one socket stand together */
    const char *what;    /* ", a box: a socket", or "" where a box is a rank */
    struct pool pool;
};

/* Makes a group of each wanted rank, or where these are more than MAX_GROUPS of each socket, each node, or several
 * nodes. Returns 0, or -1 with the reason; rank_groups_release in either case. */
int rank_groups_make(struct export *export, struct rank_groups *groups);
void rank_groups_release(struct rank_groups *groups);

#endif
