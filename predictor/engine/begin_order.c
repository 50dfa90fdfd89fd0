/* Sorts in two steps, as size_order.c does: messages are counted into slices of time of the same length, then each
 * slice is sorted. So no more than a slice needs room for its keys. */
#include "predictor/engine/begin_order.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/engine/moves.h"
#include "predictor/pattern/radix_sort.h"

enum { MESSAGES_A_SLICE = 1024 };

struct slices {
    size_t n;
    double from_s, slices_per_s;
    size_t *first; /* [n + 1], one place further up while the slices are filled */
};

static size_t slice_of(const struct slices *slices, double begin_s)
{
    double slice = (begin_s - slices->from_s) * slices->slices_per_s;
    return slice < (double)(slices->n - 1) ? (size_t)slice : slices->n - 1;
}

static int slices_init(struct slices *slices, const struct traffic *traffic)
{
    size_t n = traffic->pattern->n_messages;
    double to_s = -INFINITY;
    *slices = (struct slices){.n = n / MESSAGES_A_SLICE + 1, .from_s = INFINITY};
    slices->first = calloc(slices->n + 2, sizeof *slices->first);
    if (slices->first == NULL)
        return -1;
    for (size_t k = 0; k < n; k++) {
        slices->from_s = fmin(slices->from_s, moves_begin_s(traffic, k));
        to_s = fmax(to_s, moves_begin_s(traffic, k));
    }
    if (to_s > slices->from_s)
        slices->slices_per_s = (double)slices->n / (to_s - slices->from_s);
    if (!isfinite(slices->slices_per_s))
        slices->slices_per_s = 0;
    for (size_t k = 0; k < n; k++)
        slices->first[slice_of(slices, moves_begin_s(traffic, k)) + 2]++;
    for (size_t slice = 0; slice < slices->n; slice++)
        slices->first[slice + 2] += slices->first[slice + 1];
    return 0;
}

/* Sorts each slice. Returns 0, or -1 without memory. */
static int sort_slices(const struct slices *slices, const struct traffic *traffic, uint32_t *order)
{
    size_t most = 0;
    for (size_t slice = 0; slice < slices->n; slice++)
        most = slices->first[slice + 1] - slices->first[slice] > most ? slices->first[slice + 1] - slices->first[slice]
                                                                      : most;
    uint64_t *keys = malloc((2 * most + 1) * sizeof *keys);
    uint32_t *spare = malloc((most + 1) * sizeof *spare);
    int result = keys != NULL && spare != NULL ? 0 : -1;
    for (size_t slice = 0; result == 0 && slice < slices->n; slice++) {
        uint32_t *ids = order + slices->first[slice];
        size_t n = slices->first[slice + 1] - slices->first[slice];
        for (size_t i = 0; i < n; i++)
            keys[i] = radix_key(moves_begin_s(traffic, ids[i]));
        radix_sort((struct radix_run){keys, ids}, n, (struct radix_run){keys + n, spare});
    }
    free(keys);
    free(spare);
    return result;
}

int begin_order(const struct traffic *traffic, uint32_t **order)
{
    const struct pattern *pattern = traffic->pattern;
    struct slices slices = {0};
    *order = NULL;
    if (pattern->send_s == NULL && pattern->recv_s == NULL)
        return 0;
    uint32_t *ids = malloc((pattern->n_messages + 1) * sizeof *ids);
    int result = ids != NULL && slices_init(&slices, traffic) == 0 ? 0 : -1;
    for (size_t k = 0; result == 0 && k < pattern->n_messages; k++)
        ids[slices.first[slice_of(&slices, moves_begin_s(traffic, k)) + 1]++] = (uint32_t)k;
    if (result == 0)
        result = sort_slices(&slices, traffic, ids);
    free(slices.first);
    if (result == 0)
        *order = ids;
    else
        free(ids);
    return result;
}
