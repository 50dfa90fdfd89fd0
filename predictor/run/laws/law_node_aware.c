/* node-aware lets what a node sends to others share an injection limit, and takes what a rank sends within its node
 * one message after another, as the model does (B1, B2; predictor/models/node_aware.c). Receivers do not count. See
 * run_law.h and share/doc/MODELS.md. */
#include <math.h>

#include "predictor/run/laws/run_law.h"

/* A sender's messages within its node are a bundle. */
static void find_within(const struct run_share *share, const struct run_mover *mover, struct run_way *way)
{
    way->group = (uint32_t)share->n_groups - 1;
    way->key.b = mover->src;
    way->key.c = 0;
}

static void set_within(struct run_share *share, const struct run_mover *mover, int change)
{
    const struct run_bundle *bundle = &share->bundles[mover->bundle];
    (void)change;
    if (bundle->head != RUN_NO_MOVING)
        run_bundle_set_speed(share, mover->bundle,
                             share->rates->classes[share->moving[bundle->head].class].bytes_per_s[1]);
    run_bundle_place(share, mover->bundle);
}

/* So are those to other nodes; the bundle's number is as that of law_max_rate.c. */
static void find_between(const struct run_share *share, const struct run_mover *mover, struct run_way *way)
{
    way->group = (uint32_t)share->sockets.n_groups + way->src_node;
    way->key.b = mover->src;
    way->key.c = 0;
}

static double node_aware_begun(const struct run_class *class, size_t n)
{
    return fmin(class->bytes_per_s[1], class->injection_bytes_per_s / (double)n);
}

const struct run_path law_node_aware_within = {.find = find_within, .set = set_within, .in_turn = true};
const struct run_path law_node_aware_between = {
    .find = find_between, .set = run_cohort_set, .begun_rate = node_aware_begun};
