/* Says when the last call of a rank before some time returned: where a computation began. */
#ifndef MPISTAIR_CALIBRATE_RANK_RETURNS_H
#define MPISTAIR_CALIBRATE_RANK_RETURNS_H

#include "interpose/database/cursor.h"

/* Goes through the calls of a trace rank by rank; those of one rank are in memory. */
struct rank_returns {
    struct cursor rows;
    bool more;            /* rows stands at one that is not taken */
    int64_t rank;         /* whose these are; -1: nobody's */
    int64_t *returned_ns; /* [n] in order */
    size_t n, capacity;
};

/* Begins before the first rank. A failure shows in rank_returns_close. */
void rank_returns_open(struct rank_returns *returns, sqlite3 *database, const char *path, struct error *error);
/* Goes on to a rank, which is not before the last one. Returns 0, or -1 with the reason. */
int rank_returns_load(struct rank_returns *returns, int64_t rank);
/* Returns when the rank's last call returned that did so until at_ns; at_ns itself where there is none. */
int64_t rank_returns_last(const struct rank_returns *returns, int64_t at_ns);
/* Returns 0, or -1 where something failed. */
int rank_returns_close(struct rank_returns *returns);

#endif
