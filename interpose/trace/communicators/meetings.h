/* Collects calls by which processes of different MPI_COMM_WORLDs got to know each other, and finds which of them were
 * one call. */
#ifndef MPISTAIR_TRACE_MEETING_H
#define MPISTAIR_TRACE_MEETING_H

#include <stddef.h>
#include <stdint.h>

#include "interpose/spool/reader.h"

#define MEETING_NONE UINT32_MAX

/* What one process recorded about such a call. */
struct meeting {
    const struct spool *spool;
    const struct spool_communicator *made;
    int64_t begin_unix_ns; /* on its host's wall clock */
    int64_t end_unix_ns;
    uint32_t world;
    uint32_t link;       /* the same for all processes of both sides; MEETING_NONE: the other side is not known */
    uint32_t candidates; /* sides that may have been the other one */
};

struct meetings {
    struct meeting *all; /* [n], by world */
    size_t n;
    uint32_t n_links;
};

/* Adds what the spools [begin, end), all of one world, recorded. All spools, [n_spools], help with the rate of the
 * clock. */
void meetings_collect(struct meetings *meetings, const struct spool *spools, size_t n_spools, size_t begin, size_t end,
                      uint32_t world);

/* Finds the other sides once all worlds are there. What several calls may be is left. */
void meetings_pair(struct meetings *meetings);

#endif
