/* A look at a process's records before trace_load takes them, which threads do for several processes at a time. It
 * finds those that say nothing but what one before them said, and keeps their sums. */
#ifndef MPISTAIR_TRACE_FIRST_LOOK_H
#define MPISTAIR_TRACE_FIRST_LOOK_H

#include "interpose/trace/site/callsite.h"
#include "interpose/trace/state/trace.h"

/* Starts as zeroes, which is one that has seen nothing. */
struct first_look {
    size_t *places; /* [n_places] bytes from the start of the file: records to be taken, in the order of the spool */
    size_t n_places;
    size_t end_span, end_at; /* it ended there, as a spool_cursor; what follows is to be read whole */
    bool is_end_taken;       /* the last record before that is to be taken */
    /* Of those that are not to be taken: */
    struct trace_posts *posts; /* [n_posts] by processor */
    size_t n_posts;
    uint64_t last_ticks;
    bool off;
};

/* Looks at a spool's records as far as they are sound, and until very many of them are to be taken. */
void first_look_take(struct first_look *look, const struct spool *spool);
/* True if the records that are not to be taken are indeed as said: their communicators are known, and what lay at their
 * addresses was the same at all times. Needs what trace_load knows of a process before it takes records. */
bool first_look_holds(const struct first_look *look, const struct trace *trace, const struct trace_process *process,
                      const struct callsite_table *callsites);
void first_look_release(struct first_look *look);

#endif
