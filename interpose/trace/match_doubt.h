/* Messages that an open wildcard receive makes uncertain; what match.c and match_doubt.c share. */
#ifndef MPISTAIR_TRACE_MATCH_DOUBT_H
#define MPISTAIR_TRACE_MATCH_DOUBT_H

#include "match.h"

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
    bool doubt; /* sends were left over that an open wildcard receive may have taken */
};

/* The earliest wildcard receive of a rank on a communicator that was never reported complete. */
struct open_receive {
    int64_t post_ns;
    int32_t tag;
};

/* Notes an operation that never completed and has no envelope, if it is a receive. 0, or -1 without memory. */
int doubt_note_open(struct matcher *matcher, const struct trace_operation *operation);
/* The open wildcard receive of the same rank and communicator that may have taken what is left over of the envelope;
 * NULL: none. */
const struct open_receive *doubt_open_for(const struct matcher *matcher, const struct envelope *envelope);

#endif
