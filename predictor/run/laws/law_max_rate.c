/* max-rate lets the receivers of a group share a bandwidth up to a limit, as the model does (T10;
 * predictor/models/max_rate.c): a receiver's share is that of when its message began, and one that is done leaves
 * nothing to the others. See run_law.h and
 * share/doc/MODELS.md. */
#include "predictor/run/laws/run_law.h"

/* A receiver's messages of a level are a bundle: its number grows by the seconds that each of them has had the
 * receiver's share for itself. The levels of a socket do not disturb each other. */
static void max_rate_find(const struct run_share *share, const struct run_mover *mover, struct run_way *way)
{
    enum level level = share->rates->classes[mover->class].level;
    uint32_t n_sockets = (uint32_t)share->sockets.n_groups, socket = share->sockets.of[mover->dst];
    way->group = level == LEVEL_INTER_NODE     ? n_sockets + way->dst_node
                 : level == LEVEL_INTRA_SOCKET ? socket
                                               : n_sockets + (uint32_t)share->nodes.n_groups + socket;
    way->key.b = mover->dst;
    way->key.c = level;
}

static double max_rate_begun(const struct run_class *class, size_t n)
{
    return class->bytes_per_s[n] / (double)n;
}

const struct run_path law_max_rate_path = {.find = max_rate_find, .set = run_cohort_set, .begun_rate = max_rate_begun};
