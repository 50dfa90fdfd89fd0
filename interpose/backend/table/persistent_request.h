/* What the handle of a persistent request stands for, from its initialisation until it is freed. */
#ifndef MPISTAIR_BACKEND_PERSISTENT_REQUEST_H
#define MPISTAIR_BACKEND_PERSISTENT_REQUEST_H

#include "interpose/backend/recorder/recorder.h"

struct persistent {
    void *active; /* what the last start posted; NULL: inactive, or lost */
    /* Posts what one start of the request begins, before MPI starts it. Returns the pending thing, NULL: lost. */
    void *(*start)(struct persistent *self, const struct recorded_call *call);
    struct spool_persistent facts;   /* as stored, but for the time in the call */
    struct spool_persistent *record; /* NULL: lost */
    unsigned flags;                  /* of what it posts: wildcards */
    void *more;                      /* of its kind; freed by free() with the request */
};

/* The request was freed: what is active goes on unreported. */
void persistent_free(struct persistent *persistent, struct recorder_thread *thread);

#endif
