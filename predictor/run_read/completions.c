/* Finds which call waited for which operations: the one at whose return an operation was reported complete. */
#include <stdlib.h>

#include "predictor/run_read/building.h"
#include "share/base/memory.h"
#include "share/base/order.h"

enum { COMPLETION_CLOCK_NS = 2, MAX_LOOKED_AT = 64 };

struct ends {
    const struct call *calls;
    uint32_t *order; /* [n] calls by end; NULL: they lie so */
    size_t n;
    uint32_t *left; /* operations that a call reported, and that are not found yet */
};

static uint32_t end_at(const struct ends *ends, size_t i)
{
    return ends->order == NULL ? (uint32_t)i : ends->order[i];
}

static int compare_completion_ends(const void *left, const void *right, void *context)
{
    const struct call *calls = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return ORDER(calls[a].end_ns, calls[b].end_ns) ?: ORDER(a, b);
}

static void ends_begin(struct ends *ends, struct building *building)
{
    bool sorted = true;
    *ends = (struct ends){.calls = building->calls, .n = building->n_calls};
    ends->left = xmalloc((ends->n + 1) * sizeof *ends->left);
    for (size_t i = 0; i < ends->n; i++) {
        ends->left[i] = building->calls[i].completed;
        sorted = sorted && (i == 0 || building->calls[i - 1].end_ns <= building->calls[i].end_ns);
    }
    if (sorted)
        return;
    ends->order = xmalloc(ends->n * sizeof *ends->order);
    for (size_t i = 0; i < ends->n; i++)
        ends->order[i] = (uint32_t)i;
    qsort_r(ends->order, ends->n, sizeof *ends->order, compare_completion_ends, building->calls);
}

static bool ends_at(const struct call *call, int64_t done_ns)
{
    return call->idle == 0 && call->end_ns >= done_ns - COMPLETION_CLOCK_NS &&
           call->end_ns <= done_ns + COMPLETION_CLOCK_NS;
}

/* Returns the call that reported the operation of call `own` complete, or NO_OBJECT. */
static uint32_t waiting_call(struct ends *ends, uint32_t own, int64_t done_ns)
{
    if (ends->left[own] > 0 && ends_at(&ends->calls[own], done_ns))
        return own;
    size_t first = 0;
    FIRST_BEYOND(first, ends->n, ends->calls[end_at(ends, first)].end_ns < done_ns - COMPLETION_CLOCK_NS);
    uint32_t around = NO_OBJECT;
    for (size_t i = first; i < ends->n && i < first + MAX_LOOKED_AT; i++) {
        uint32_t at = end_at(ends, i);
        const struct call *call = &ends->calls[at];
        if (ends_at(call, done_ns) && ends->left[at] > 0)
            return at;
        if (around == NO_OBJECT && call->idle == 0 && call->begin_ns <= done_ns)
            around = at;
        if (around != NO_OBJECT && call->end_ns > done_ns + COMPLETION_CLOCK_NS)
            break;
    }
    return around;
}

void completions_find(struct building *building)
{
    struct ends ends;
    uint32_t *caller = xmalloc((building->span->n_items + 1) * sizeof *caller);
    ends_begin(&ends, building);
    for (size_t c = 0; c < building->n_calls; c++) {
        const struct call *call = &building->calls[c];
        for (uint32_t i = call->first_item; i < call->first_item + call->n_items; i++) {
            const struct read_item *item = &building->items[i];
            int64_t done_ns = item_operates(item) ? read_item_done_ns(building->reading, item) : NO_TIME;
            caller[i] = done_ns != NO_TIME ? waiting_call(&ends, (uint32_t)c, done_ns) : NO_OBJECT;
            if (caller[i] == NO_OBJECT)
                continue;
            building->calls[caller[i]].n_waits++;
            if (ends.left[caller[i]] > 0)
                ends.left[caller[i]]--;
        }
    }
    size_t n = 0;
    for (size_t c = 0; c < building->n_calls; c++) {
        building->calls[c].first_wait = (uint32_t)n;
        n += building->calls[c].n_waits;
        building->calls[c].n_waits = 0;
    }
    building->waits = xmalloc((n + 1) * sizeof *building->waits);
    building->n_waits = n;
    for (uint32_t i = 0; i < building->span->n_items; i++)
        if (caller[i] != NO_OBJECT) {
            struct call *call = &building->calls[caller[i]];
            building->waits[call->first_wait + call->n_waits++] = i;
        }
    FREE_ALL(ends.left, ends.order, caller);
}
