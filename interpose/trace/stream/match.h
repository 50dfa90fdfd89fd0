/* Pairs sends with receives as MPI did. */
#ifndef MPISTAIR_TRACE_MATCH_H
#define MPISTAIR_TRACE_MATCH_H

#include "share/base/map.h"
#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/match_doubt.h"

struct matcher {
    struct trace *trace;
    struct map index; /* envelope -> envelopes */
    struct envelope *envelopes;
    size_t n_envelopes;
    size_t live_envelopes; /* envelopes that had something waiting when they were looked at last */
    struct open_wildcards open;
    /* Called when an operation is paired (with both sides), or is certain to stay alone. */
    void (*paired)(void *context, uint32_t send, uint32_t receive);
    void (*alone)(void *context, uint32_t operation);
    void *context;
};

/* Takes the next operation of its rank, its reason and partner not set yet. */
void match_operation(struct matcher *matcher, uint32_t operation);
/* Forgets envelopes in which nothing waits, where they have become many. */
void match_tidy(struct matcher *matcher);
/* Ends the matching when all operations were read: what still waits stays alone. */
void match_end(struct matcher *matcher);
void match_release(struct matcher *matcher);

#endif
