/* Says what the handle of a persistent request stands for, from its initialisation until it is freed. */
#ifndef MPISTAIR_BACKEND_PERSISTENT_REQUEST_H
#define MPISTAIR_BACKEND_PERSISTENT_REQUEST_H

#include "interpose/backend/recorder/state.h"

struct persistent {
    void *active; /* what the last start posted; NULL: inactive, or lost */
    /* Posts what one start of the request begins, before MPI starts it. Returns the pending thing, NULL: lost. */
    void *(*start)(struct persistent *self, const struct recorded_call *call);
    struct spool_persistent facts;   /* as stored, except for the time in the call */
    struct spool_persistent *record; /* NULL: lost */
    unsigned flags;                  /* flags of what it posts: wildcards */
    unsigned memory;                 /* enum spool_memory of its buffer */
    void *more;                      /* what its kind needs; freed by free() with the request */
};

/* Frees the request: what is active goes on unreported. */
void persistent_free(struct persistent *persistent, struct recorder_thread *thread);

#endif
