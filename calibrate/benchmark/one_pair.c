/* One pair of a level says what a call does there: rates differ from pair to pair, the way that an MPI takes does not.
 */
#include "calibrate/benchmark/one_pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrate/measure/levels.h"
#include "calibrate/samples/plan.h"
#include "share/base/memory.h"

static void one_pair_append(const struct one_pair_plan *plan, enum level level, const struct one_pair *own,
                            struct item *items, size_t *n_items)
{
    for (size_t i = 0; i < plan->n_sizes; i++)
        for (int mode = 0; mode < plan->n_modes; mode++)
            items[(*n_items)++] = (struct item){
                .level = level,
                .mode = mode,
                .variant = plan->variants[mode],
                .n = 1,
                .bytes = plan->sizes[i],
                .count = 1,
                .repeats = plan->repeats,
                .n_pairs = 1,
                .pairs = &own->pair,
                .ranks = own->ranks,
            };
}

void one_pair_list(const struct measure *measure, const struct one_pair_plan *plan, struct one_pair *levels,
                   struct item **items, size_t *n_items)
{
    *items = xcalloc(LEVEL_COUNT * plan->n_sizes * (size_t)plan->n_modes, sizeof **items);
    for (int level = (int)plan->nearest; level <= (int)plan->farthest; level++) {
        struct one_pair *own = &levels[level];
        if (levels_pairs(&measure->placement, (enum level)level, 1, &own->pair) == 0)
            continue;
        snprintf(own->ranks, sizeof own->ranks, "%d-%d", own->pair.first, own->pair.second);
        one_pair_append(plan, (enum level)level, own, *items, n_items);
    }
}
