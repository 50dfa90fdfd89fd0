/* Finds messages that an open wildcard receive makes uncertain. */
#ifndef MPISTAIR_TRACE_MATCH_DOUBT_H
#define MPISTAIR_TRACE_MATCH_DOUBT_H

#include <sqlite3.h>

#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

#define DOUBT_NEVER INT64_MAX

/* Holds the operations of one envelope that wait, in order, linked through next. */
struct envelope {
    struct map_key key;
    uint32_t first[2]; /* [direction] */
    uint32_t last[2];
    /* Tells when the latest operation, waiting or not, ended its post. */
    int64_t post_end_ns[2];
    uint32_t latest[2];
    uint32_t lane[2];
    uint64_t sequence[2];
    /* What is paired from now on is uncertain for these reasons: nobody knows whether an operation before it took a
     * place. */
    uint8_t doubts;
    /* A wildcard receive that was open and posted then may have taken a message, since there is one that nobody is
     * known to have received; DOUBT_NEVER: none. */
    int64_t doubt_ns;
};

/* Keeps wildcard receives that may have taken a message and have no envelope; starts as zeroes. */
struct open_wildcards {
    struct map numbers; /* (communicator, rank, source, tag) as posted -> place in posts_ns */
    int64_t *posts_ns;  /* [n] the earliest of each */
    size_t n;
};

/* Notes a receive that has no envelope and may have taken a message. */
void doubt_note_open(struct open_wildcards *open, const struct trace_operation *operation);
/* Notes that a message of the envelope was sent which nobody is known to have received. Remembers since when one of the
 * wildcard receives that were open and posted before a moment may have taken it. */
void doubt_left_over(const struct open_wildcards *open, struct envelope *envelope, int64_t before_ns);
void doubt_release(struct open_wildcards *open);

/* Marks messages of envelopes[n] in the database that a wildcard receive may have taken. Returns 0, or -1: the database
 * says why. */
int doubts_write(const struct envelope *envelopes, size_t n, sqlite3 *database);

#endif
