/* MPI_Pcontrol, see control.h. */
#include "control.h"

enum { LEVEL_OFF = 0, LEVEL_ON = 1, LEVEL_FLUSH = 2 };

static void store_mark(const struct recorded_call *call, int number)
{
    struct spool_mark *mark = spool_lane_reserve(call->thread->lane, sizeof *mark);
    if (!mark)
        return;
    mark->number = number;
    mark->ticks = call->begin_ticks;
    mark->site = call->site;
    spool_record_publish(mark, SPOOL_MARK);
}

void pcontrol_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site, int level)
{
    if (!call_begin(call, function, site))
        return;
    store_mark(call, level);
    if (level == LEVEL_OFF)
        __atomic_store_n(&recorder.off, SPOOL_OFF, __ATOMIC_RELAXED);
    else if (level == LEVEL_ON)
        __atomic_store_n(&recorder.off, 0, __ATOMIC_RELAXED);
    else if (level == LEVEL_FLUSH)
        spool_lane_flush(call->thread->lane);
}

void pcontrol_end(struct recorded_call *call, int result)
{
    (void)call, (void)result;
}
