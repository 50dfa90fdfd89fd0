/* Messages that an open wildcard receive makes uncertain; what match.c and match_doubt.c share. */
#ifndef MPISTAIR_TRACE_MATCH_DOUBT_H
#define MPISTAIR_TRACE_MATCH_DOUBT_H

#include "interpose/trace/stream/match.h"

#define DOUBT_NEVER INT64_MAX

/* Operations of one envelope that wait, in order, linked through next. */
struct envelope {
    struct map_key key;
    uint32_t first[2]; /* [direction] */
    uint32_t last[2];
    /* The latest operation, waiting or not. */
    int64_t post_end_ns[2];
    uint32_t latest[2];
    uint32_t lane[2];
    uint64_t sequence[2];
    /* What is paired from now on is uncertain: of an operation before it is not known whether it took a place. */
    uint8_t doubts;
    /* An open wildcard receive posted then may have taken a message, since there is one that nobody is known to have
     * received; DOUBT_NEVER: none. */
    int64_t doubt_ns;
};

/* Notes a receive that has no envelope and may have taken a message. 0, or -1 without memory. */
int doubt_note_open(struct matcher *matcher, const struct trace_operation *operation);
/* A message of the envelope was sent that nobody is known to have received: remembers since when it may be one of the
 * open wildcard receives' that were posted before a moment. */
void doubt_left_over(const struct matcher *matcher, struct envelope *envelope, int64_t before_ns);

#endif
