/* Holds a rank's calls while its steps are made. */
#ifndef MPISTAIR_PREDICTOR_BUILDING_H
#define MPISTAIR_PREDICTOR_BUILDING_H

#include "predictor/run_read/reading.h"

struct call {
    int64_t begin_ns, end_ns; /* a wait loop begins with its first test */
    uint32_t first_item, n_items;
    uint32_t site;
    uint32_t completed; /* operations that the call reported */
    uint32_t idle;      /* failed tests or probes that it stands for; 0: a call */
    uint32_t strand;
    uint32_t first_wait, n_waits; /* in waits */
    int64_t between_ns;           /* of it, between the polls that it stands for, not inside MPI */
};

struct building {
    struct reading *reading;
    const struct read_span *span;
    struct read_item *items; /* [span->n_items] */
    uint32_t number;         /* of the rank */
    uint32_t burst;
    bool sleeps;        /* the rank, between polls */
    struct call *calls; /* [n_calls] by begin */
    size_t n_calls;
    uint32_t *order;        /* [n_calls] calls by strand, then begin */
    uint32_t *strand_calls; /* [n_strands + 1] where a strand's calls begin in order */
    size_t n_strands;
    uint32_t *waits; /* items, by the call that waits for them */
    size_t n_waits;
};

/* Work that is the same for all ranks and kept between them: the place of each site. */
struct places {
    uint32_t *of_site; /* [n_sites] */
    uint32_t *seen;    /* [n_sites] rank + 1 whose place that is */
    size_t n_sites;
    uint32_t end_site;
};

void completions_find(struct building *building); /* completions.c */
void strands_divide(struct building *building);   /* strands.c: needs to know who waits for what */
/* steps.c. Returns 0, or -1 with the error set. */
int steps_make(struct building *building, struct places *places);

/* measured.c: says what the time of a call went to, and notes whom it waited for where that is wanted; its steps
 * are the program's last ones. probed: the receive of the message that it looked for, or NULL. */
void measure_call(const struct building *building, const struct call *call, const struct read_item *probed,
                  struct run_parts *parts);

/* Returns whether the item is an operation that can be waited for. */
static inline bool item_operates(const struct read_item *item)
{
    return item->object != NO_OBJECT && item->kind != ITEM_CALL && item->kind != ITEM_IDLE;
}

#endif
