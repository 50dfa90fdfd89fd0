/* Pairs sends with receives as MPI did. */
#ifndef MPISTAIR_TRACE_MATCH_H
#define MPISTAIR_TRACE_MATCH_H

#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

#define DOUBT_NEVER INT64_MAX

/* The operations of one envelope that wait, in order, linked through next. */
struct envelope {
    struct map_key key;
    uint32_t first[2]; /* [direction] */
    uint32_t last[2];
    /* Tells when the latest operation, waiting or not, ended its post. */
    int64_t post_end_ns[2];
    uint32_t latest[2];
    uint32_t lane[2];
    uint64_t sequence[2];
    /* What is paired from now on is uncertain for these reasons: it is unknown whether an operation before it took a
     * place. */
    uint8_t doubts;
    /* Post of the earliest wildcard receive that may have taken a message of the envelope, as one of them has no known
     * receive; DOUBT_NEVER: none. */
    int64_t doubt_ns;
    /* Of a thinned run: operations so far, and those of them that wait, which are the last ones. */
    uint64_t n[2];
    uint64_t n_waiting[2];
    int64_t until_place[2]; /* before this place it is not known how many there were */
};

/* Keeps wildcard receives that may have taken a message and have no envelope; starts as zeroes. */
struct open_wildcards {
    struct map numbers; /* (communicator, rank, source, tag) as posted -> place in posts_ns */
    int64_t *posts_ns;  /* [n] the earliest of each */
    size_t n;
};

/* Marks messages of envelopes[n] in the databases of a sink that has ended that a wildcard receive may have taken.
 * Returns 0, or -1: a database says why. */
int doubts_write(const struct envelope *envelopes, size_t n, struct sink *sink);

struct matcher {
    struct trace *trace;
    struct map index; /* envelope -> envelopes */
    struct envelope *envelopes;
    size_t n_envelopes;
    size_t live_envelopes; /* envelopes that had something waiting when they were looked at last */
    struct open_wildcards open;
    int64_t place;     /* of a thinned run: the burst that is read */
    bool is_uncounted; /* it is not known how many operations went before the one that is taken, on any envelope */
    /* Called when an operation is paired (with both sides), or is certain to stay alone. */
    void (*paired)(void *context, uint32_t send, uint32_t receive);
    void (*alone)(void *context, uint32_t operation);
    void *context;
};

/* Takes the next operation of its rank, its reason and partner not set yet. */
void match_operation(struct matcher *matcher, uint32_t operation);
/* Returns the key of the envelope of an operation of a rank; its peer is known. domain: 0, or the number of its request
 * among the partitioned ones of the envelope, from 1. */
struct map_key match_key(uint32_t rank, unsigned direction, int32_t peer_world, uint32_t communicator, int32_t tag,
                         uint32_t domain);
/* Counts n operations of one side that are not read; before until_place it is not known how many of them there were. */
void match_count(struct matcher *matcher, struct map_key key, unsigned direction, uint64_t n, int64_t until_place);
/* Notes an operation outside of bursts that may have taken a message of an envelope which is not known. */
void match_note_open(struct matcher *matcher, const struct trace_operation *operation);

/* Forgets envelopes in which nothing waits, where they have become many. */
void match_tidy(struct matcher *matcher);
/* Ends the matching when all operations, or all of a burst, were read: what still waits stays alone. */
void match_end(struct matcher *matcher);
void match_release(struct matcher *matcher);

#endif
