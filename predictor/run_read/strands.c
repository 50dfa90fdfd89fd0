/* Divides the calls of a rank into strands. The trace does not say which thread made a call, but calls of one thread do
 * not overlap. A call goes to the strand that posted what it waits for, or else to the one that made the last call from
 * its call site, where that is free; else to the free one that was in MPI last. Sums of failed tests of several call
 * sites may lie above each other. */
#include <string.h>

#include "predictor/run_read/building.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

enum { MAX_STRANDS = 1024, CLOCK_NS = 2 };

struct busy {
    int64_t until_ns;
    bool idle; /* with failed tests */
};

struct division {
    struct busy *strands; /* [n] */
    size_t n;
    uint32_t *of_site; /* [n_sites] */
};

static bool is_free(const struct busy *strand, const struct call *call)
{
    return strand->until_ns <= call->begin_ns + CLOCK_NS || (strand->idle && call->idle > 0);
}

/* Returns the strand that posted the first operation that the call waits for, or NO_OBJECT. */
static uint32_t posting_strand(const struct building *building, const struct call *call)
{
    if (call->n_waits == 0)
        return NO_OBJECT;
    uint32_t item = building->waits[call->first_wait];
    size_t beyond = 1;
    FIRST_BEYOND(beyond, building->n_calls, building->calls[beyond].first_item <= item);
    const struct call *posting = &building->calls[beyond - 1];
    return posting < call ? posting->strand : NO_OBJECT;
}

/* Returns the call's strand. Where there would be very many, it is the one that gets
 * free first. */
static size_t strand_of(struct division *division, const struct building *building, const struct call *call)
{
    size_t first = 0, found = division->n;
    const uint32_t wanted[] = {posting_strand(building, call), division->of_site[call->site]};
    for (size_t i = 0; i < 2; i++)
        if (wanted[i] < division->n && is_free(&division->strands[wanted[i]], call))
            return wanted[i];
    for (size_t i = 0; i < division->n; i++) {
        const struct busy *strand = &division->strands[i];
        if (is_free(strand, call) && (found == division->n || strand->until_ns > division->strands[found].until_ns))
            found = i;
        if (strand->until_ns < division->strands[first].until_ns)
            first = i;
    }
    if (found < division->n)
        return found;
    if (division->n == MAX_STRANDS)
        return first;
    ARRAY_ADD(division->strands, division->n, (struct busy){.until_ns = INT64_MIN});
    return division->n - 1;
}

static void divide_strands(struct building *building, struct division *division)
{
    for (size_t i = 0; i < building->n_calls; i++) {
        struct call *call = &building->calls[i];
        size_t strand = strand_of(division, building, call);
        call->strand = (uint32_t)strand;
        division->of_site[call->site] = call->strand;
        struct busy *busy = &division->strands[strand];
        busy->until_ns = call->end_ns > busy->until_ns ? call->end_ns : busy->until_ns;
        busy->idle = call->idle > 0;
    }
}

void strands_divide(struct building *building)
{
    struct division division = {0};
    division.of_site = xmalloc((building->reading->program->n_sites + 1) * sizeof *division.of_site);
    memset(division.of_site, 0xff, building->reading->program->n_sites * sizeof *division.of_site);
    divide_strands(building, &division);
    building->n_strands = division.n > 0 ? division.n : 1; /* a rank without calls has a strand as well */
    building->order = xmalloc((building->n_calls + 1) * sizeof *building->order);
    building->strand_calls = xmalloc((building->n_strands + 1) * sizeof *building->strand_calls);
    array_sort_by_key(building->calls, sizeof *building->calls, offsetof(struct call, strand), building->n_calls,
                      building->n_strands, building->strand_calls, building->order);
    FREE_ALL(division.strands, division.of_site);
}
