/* Sums the waiting for late partners by who waits for whom and by form of the message. */
#ifndef MPISTAIR_SUMS_LATE_SUMS_H
#define MPISTAIR_SUMS_LATE_SUMS_H

#include "share/base/map.h"
#include "interpose/sums/round_late.h"

struct late_sums {
    struct map numbers;    /* numbers of the sums by rank, partner, form and cause */
    struct late_sum *sums; /* [n_sums] */
    size_t n_sums;
};

/* Adds one wait of a rank for a partner, both below MAX_RANK. Returns 0, or -1 without memory. */
int late_sums_add(struct late_sums *late, enum late_cause cause, int64_t rank, int64_t partner, int64_t form,
                  int64_t late_ns);
/* Fills temp.late_form. Returns 0, or -1 with the reason. */
int late_sums_store(sqlite3 *database, const char *path, const struct late_sums *late, struct error *error);
void late_sums_release(struct late_sums *late);

#endif
