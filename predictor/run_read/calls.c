/* Makes calls of a rank's items. */
#include <stdlib.h>

#include "predictor/run_read/building.h"
#include "share/base/array.h"

int calls_make(struct building *building)
{
    const struct read_rank *rank = building->rank;
    for (size_t i = 0, end; i < rank->n_items; i = end) {
        if (array_grow(&building->calls, building->n_calls, sizeof *building->calls) != 0)
            return reading_no_memory(building->reading);
        struct call *call = &building->calls[building->n_calls++];
        *call = (struct call){.begin_ns = rank->items[i].begin_ns, .site = rank->items[i].site};
        end = call_of_items(rank, i, &call->end_ns);
        call->first_item = (uint32_t)i;
        call->n_items = (uint32_t)(end - i);
        if (rank->items[i].kind == ITEM_IDLE)
            call->idle = rank->items[i].object;
        for (size_t k = i; k < end; k++)
            if (rank->items[k].completed > call->completed)
                call->completed = rank->items[k].completed;
    }
    return 0;
}
