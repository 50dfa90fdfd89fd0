/* Lets the program say what of its run is worth a record, by the one function that MPI leaves to tools. See control.h.
 */
#include "interpose/backend/process/control.h"

#include "interpose/backend/call/window.h"

enum { LEVEL_FLUSH = 2 };

void pcontrol_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site, int level)
{
    if (!call_begin(call, function, site))
        return;
    window_mark(call, level);
    if (level == LEVEL_FLUSH)
        spool_lane_flush(call->thread->lane);
}

void pcontrol_end(struct recorded_call *call, int result)
{
    (void)call, (void)result;
}
