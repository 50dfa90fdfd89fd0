/* The search is apart from MPI, so that tests can ask it all that a network may answer, delays and contradictions
 * included. */
#include "calibrate/measure/bisection.h"

uint64_t bisection_next(const struct bisection *bisection, bool *again)
{
    uint64_t taken = bisection->taken_bytes, refused = bisection->refused_bytes;
    *again = false;
    if (refused == 0) {
        if (taken == 0)
            return bisection->first_bytes;
        if (taken >= bisection->last_bytes)
            return 0;
        return taken > bisection->last_bytes / 2 ? bisection->last_bytes : 2 * taken;
    }
    uint64_t gap = refused - taken;
    if (gap > 1 && (double)gap > bisection->resolution * (double)refused)
        return taken + gap / 2;
    *again = true;
    return bisection->confirmed ? 0 : refused;
}

void bisection_tell(struct bisection *bisection, uint64_t bytes, bool taken)
{
    if (!taken) {
        bisection->confirmed = bytes == bisection->refused_bytes;
        bisection->refused_bytes = bytes;
        return;
    }
    bisection->taken_bytes = bytes;
    if (bytes == bisection->refused_bytes)
        bisection->refused_bytes = 0;
}
