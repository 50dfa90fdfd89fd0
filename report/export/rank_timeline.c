/* Rows of one time on one rank are a group: the call, and what it posts. Between groups come the ends: operations that
 * are complete wait in a heap, calls on the stack of their lane. */
#include "report/export/rank_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "report/export/timeline_rows.h"
#include "share/base/array.h"
#include "share/base/progress.h"

#define NEVER INT64_MAX

struct lane {
    struct timeline_call *open; /* [n_open], the innermost last */
    size_t n_open;
};

/* Is an end that is still to come. */
struct due {
    int64_t at_ns;
    uint64_t sequence;
    bool arrival;
    struct timeline_op op;
};

struct timeline {
    struct export *export;
    const struct export_names *names;
    const struct timeline_listener *listener;
    bool threads;               /* may be in MPI at once */
    int64_t *begin_ns, *end_ns; /* [n_ranks] of the processes; EXPORT_NOTHING: not known */
    struct lane *lanes;
    size_t n_lanes;
    struct map lane_of_site;
    struct due *due; /* [n_due] a heap, the first one on top */
    size_t n_due;
    uint64_t sequence;
    struct timeline_row *group; /* [n_group] rows of one rank and time */
    size_t n_group;
    struct timeline_call *calls; /* [n_calls] of the group */
    size_t n_calls;
    int64_t rank; /* -1: none yet */
    int64_t last_ns;
};

static int no_memory(struct timeline *timeline)
{
    return error_set(timeline->export->error, "%s: no memory for rank %lld of its timeline", timeline->export->path,
                     (long long)timeline->rank);
}

static bool before(const struct due *a, const struct due *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static int due_add(struct timeline *timeline, int64_t at_ns, const struct timeline_op *op, bool arrival)
{
    if (array_grow(&timeline->due, timeline->n_due, sizeof *timeline->due) != 0)
        return no_memory(timeline);
    struct due added = {.at_ns = at_ns, .sequence = timeline->sequence++, .arrival = arrival, .op = *op};
    size_t i = timeline->n_due++;
    for (; i > 0 && before(&added, &timeline->due[(i - 1) / 2]); i = (i - 1) / 2)
        timeline->due[i] = timeline->due[(i - 1) / 2];
    timeline->due[i] = added;
    return 0;
}

static struct due due_take(struct timeline *timeline)
{
    struct due *due = timeline->due, first = due[0], last = due[--timeline->n_due];
    size_t i = 0, n = timeline->n_due;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && before(&due[child + 1], &due[child]))
            child++;
        if (!before(&due[child], &last))
            break;
        due[i] = due[child];
        i = child;
    }
    due[i] = last;
    return first;
}

static struct timeline_call *innermost(const struct lane *lane)
{
    return lane->n_open > 0 ? &lane->open[lane->n_open - 1] : NULL;
}

/* Returns the call that ends then, else one that is under way, on the lane of the post if it can be; NULL: none. */
static struct timeline_call *reporting_call(const struct timeline *timeline, uint32_t lane, int64_t at_ns)
{
    struct timeline_call *found = NULL;
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        size_t at = (lane + i) % timeline->n_lanes;
        struct timeline_call *call = innermost(&timeline->lanes[at]);
        if (call != NULL && call->end_ns == at_ns)
            return call;
        found = found == NULL ? call : found;
    }
    return found;
}

static int tell_end(struct timeline *timeline, const struct due *due)
{
    const struct timeline_listener *listener = timeline->listener;
    if (due->arrival)
        return listener->arrive(listener->context, &due->op);
    struct timeline_call *call = reporting_call(timeline, due->op.lane, due->at_ns);
    if (call != NULL && call->n_done++ == 0)
        call->first_done = due->op;
    timeline->last_ns = due->at_ns > timeline->last_ns ? due->at_ns : timeline->last_ns;
    return listener->complete(listener->context, &due->op, call != NULL ? call->lane : due->op.lane);
}

static int leave(struct timeline *timeline, struct lane *lane)
{
    struct timeline_call *call = &lane->open[--lane->n_open];
    int result = timeline->listener->leave(timeline->listener->context, call);
    timeline->last_ns = call->end_ns > timeline->last_ns ? call->end_ns : timeline->last_ns;
    free(call->ops);
    return result;
}

static struct lane *first_to_leave(const struct timeline *timeline)
{
    struct lane *first = NULL;
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        struct lane *lane = &timeline->lanes[i];
        if (lane->n_open > 0 && (first == NULL || innermost(lane)->end_ns < innermost(first)->end_ns))
            first = lane;
    }
    return first;
}

/* Tells all ends up to a time, completions before the ends of the calls in which they are reported. */
static int advance(struct timeline *timeline, int64_t until_ns)
{
    for (;;) {
        struct lane *lane = first_to_leave(timeline);
        int64_t leave_ns = lane != NULL ? innermost(lane)->end_ns : NEVER;
        int64_t due_ns = timeline->n_due > 0 ? timeline->due[0].at_ns : NEVER;
        if (due_ns <= leave_ns && due_ns <= until_ns && timeline->n_due > 0) {
            struct due due = due_take(timeline);
            if (tell_end(timeline, &due) != 0)
                return -1;
        } else if (leave_ns != NEVER && leave_ns <= until_ns) {
            if (leave(timeline, lane) != 0)
                return -1;
        } else {
            return 0;
        }
    }
}

/* Says whether a call can be on a lane: behind what was there, or within it where threads take turns. */
static bool fits(const struct timeline *timeline, size_t lane, const struct timeline_call *call)
{
    const struct timeline_call *open = innermost(&timeline->lanes[lane]);
    return open == NULL || (!timeline->threads && open->begin_ns < call->begin_ns && call->end_ns <= open->end_ns);
}

/* Returns the lane for a call: that of its call site if it is free, else the first free one, else a new one; NAME_NONE
 * without memory. */
static uint32_t find_lane(struct timeline *timeline, const struct timeline_call *call)
{
    uint32_t *usual = map_at(&timeline->lane_of_site, (struct map_key){call->site, 0, 0});
    if (usual == NULL)
        return NAME_NONE;
    if (*usual != MAP_ABSENT && *usual < timeline->n_lanes && fits(timeline, *usual, call))
        return *usual;
    size_t lane = 0;
    while (lane < timeline->n_lanes && !fits(timeline, lane, call))
        lane++;
    if (lane == timeline->n_lanes) {
        if (array_grow(&timeline->lanes, lane, sizeof *timeline->lanes) != 0)
            return NAME_NONE;
        timeline->lanes[timeline->n_lanes++] = (struct lane){0};
    }
    return *usual = (uint32_t)lane;
}

static int enter(struct timeline *timeline, struct timeline_call *call)
{
    uint32_t number = find_lane(timeline, call);
    struct lane *lane = number != NAME_NONE ? &timeline->lanes[number] : NULL;
    if (lane == NULL || array_grow(&lane->open, lane->n_open, sizeof *lane->open) != 0) {
        free(call->ops);
        return no_memory(timeline);
    }
    call->lane = number;
    call->depth = (uint32_t)lane->n_open;
    for (size_t i = 0; i < call->n_ops; i++)
        call->ops[i].lane = number;
    lane->open[lane->n_open++] = *call;
    if (timeline->listener->enter(timeline->listener->context, call) != 0)
        return -1;
    for (size_t i = 0; i < call->n_ops; i++) {
        const struct timeline_op *op = &call->ops[i];
        bool arrives = op->kind == OP_SEND && op->received_ns != EXPORT_NOTHING && !op->cut;
        if ((op->done_ns != EXPORT_NOTHING && !op->cut && due_add(timeline, op->done_ns, op, false) != 0) ||
            (arrives && timeline->listener->arrive != NULL && due_add(timeline, op->received_ns, op, true) != 0))
            return -1;
    }
    return 0;
}

static struct timeline_call *add_call(struct timeline *timeline, const struct timeline_row *row, int64_t end_ns)
{
    if (array_grow(&timeline->calls, timeline->n_calls, sizeof *timeline->calls) != 0)
        return NULL;
    struct timeline_call *call = &timeline->calls[timeline->n_calls++];
    *call = (struct timeline_call){.begin_ns = row->at_ns,
                                   .end_ns = end_ns,
                                   .function = row->function,
                                   .site = row->site,
                                   .idle_calls = row->idle_calls,
                                   .returned = true,
                                   .timed = row->stands};
    return call;
}

/* Returns the call that posted the operation of a row. Where calls were not recorded it is made up: a blocking one
 * lasts as long as its operation, of another one nobody knows. */
static struct timeline_call *call_of(struct timeline *timeline, const struct timeline_row *row)
{
    bool recorded = false;
    for (size_t i = 0; i < timeline->n_calls; i++) {
        struct timeline_call *call = &timeline->calls[i];
        recorded = recorded || call->timed;
        if (call->function == row->function && call->site == row->site && call->idle_calls == 0)
            return call;
    }
    if (recorded)
        return &timeline->calls[0];
    bool lasts = !row->op.nonblocking && row->op.done_ns != EXPORT_NOTHING;
    return add_call(timeline, row, lasts ? row->op.done_ns : row->at_ns);
}

static int attach(struct timeline *timeline, const struct timeline_row *row)
{
    struct timeline_call *call = call_of(timeline, row);
    if (call == NULL || array_grow(&call->ops, call->n_ops, sizeof *call->ops) != 0)
        return no_memory(timeline);
    call->ops[call->n_ops++] = row->op;
    if (row->never_returned && (!call->timed || call->end_ns == call->begin_ns)) {
        call->returned = false;
        call->end_ns = NEVER;
    }
    return 0;
}

/* Tells the rows of one rank and time. */
static int tell_group(struct timeline *timeline)
{
    int result = 0;
    if (timeline->n_group == 0)
        return 0;
    int64_t at_ns = timeline->group[0].at_ns;
    timeline->n_calls = 0;
    for (size_t i = 0; result == 0 && i < timeline->n_group; i++) {
        const struct timeline_row *row = &timeline->group[i];
        if (row->stands && add_call(timeline, row, at_ns + row->call_ns) == NULL)
            result = no_memory(timeline);
    }
    for (size_t i = 0; result == 0 && i < timeline->n_group; i++)
        if (timeline->group[i].kind == ROW_OP)
            result = attach(timeline, &timeline->group[i]);
    if (result == 0)
        result = advance(timeline, at_ns);
    size_t entered = 0;
    while (result == 0 && entered < timeline->n_calls)
        result = enter(timeline, &timeline->calls[entered++]);
    while (entered < timeline->n_calls)
        free(timeline->calls[entered++].ops);
    const struct timeline_listener *listener = timeline->listener;
    for (size_t i = 0; result == 0 && i < timeline->n_group; i++)
        if (timeline->group[i].kind == ROW_MARK)
            result = listener->mark(listener->context, timeline->group[i].number, at_ns, timeline->group[i].site);
    timeline->last_ns = at_ns > timeline->last_ns ? at_ns : timeline->last_ns;
    timeline->n_group = 0;
    return result;
}

static int end_rank(struct timeline *timeline)
{
    const struct timeline_listener *listener = timeline->listener;
    const struct selection *selection = &timeline->export->selection;
    int64_t rank = timeline->rank;
    if (rank < 0)
        return 0;
    if (tell_group(timeline) != 0 || advance(timeline, NEVER - 1) != 0)
        return -1;
    int64_t end_ns = timeline->end_ns[rank];
    end_ns = end_ns > selection->to_ns[rank] ? selection->to_ns[rank] : end_ns;
    end_ns = end_ns == EXPORT_NOTHING || end_ns < timeline->last_ns ? timeline->last_ns : end_ns;
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        struct lane *lane = &timeline->lanes[i];
        while (lane->n_open > 0) {
            innermost(lane)->end_ns = end_ns;
            if (leave(timeline, lane) != 0)
                return -1;
        }
    }
    map_clear(&timeline->lane_of_site);
    return listener->rank_end(listener->context, (uint32_t)rank, end_ns);
}

/* Ends the rank that was there, begins those up to `rank`; at_ns: of its first event, EXPORT_NOTHING: it has none. */
static int begin_ranks(struct timeline *timeline, int64_t rank, int64_t at_ns)
{
    const struct timeline_listener *listener = timeline->listener;
    const struct selection *selection = &timeline->export->selection;
    while (timeline->rank < rank) {
        if (end_rank(timeline) != 0)
            return -1;
        do
            timeline->rank++;
        while (timeline->rank < rank && !selection->wanted[timeline->rank]);
        if ((size_t)timeline->rank >= selection->n_ranks || !selection->wanted[timeline->rank]) {
            timeline->rank = -1;
            return 0;
        }
        size_t now = (size_t)timeline->rank;
        int64_t first_ns = timeline->rank == rank ? at_ns : EXPORT_NOTHING, begin_ns = timeline->begin_ns[now];
        if (begin_ns != EXPORT_NOTHING && begin_ns < selection->from_ns[now] &&
            selection->from_ns[now] <= selection->to_ns[now])
            begin_ns = selection->from_ns[now];
        if (begin_ns == EXPORT_NOTHING || (first_ns != EXPORT_NOTHING && first_ns < begin_ns))
            begin_ns = first_ns != EXPORT_NOTHING ? first_ns : 0;
        timeline->last_ns = begin_ns;
        if (listener->rank_begin(listener->context, (uint32_t)now, begin_ns) != 0)
            return -1;
    }
    return 0;
}

static int take_row(struct timeline *timeline, const struct timeline_row *row)
{
    const struct timeline_row *first = timeline->group;
    if (timeline->n_group > 0 && first->rank == row->rank && first->at_ns != row->at_ns && tell_group(timeline) != 0)
        return -1;
    if (timeline->rank != row->rank && begin_ranks(timeline, row->rank, row->at_ns) != 0)
        return -1;
    if (array_grow(&timeline->group, timeline->n_group, sizeof *timeline->group) != 0)
        return no_memory(timeline);
    timeline->group[timeline->n_group++] = *row;
    return 0;
}

/* Reads how long the processes ran, and whether their threads may be in MPI at once. */
static int read_processes(struct timeline *timeline)
{
    struct export *export = timeline->export;
    struct cursor rows;
    size_t n = export->selection.n_ranks;
    timeline->begin_ns = malloc((n + 1) * sizeof *timeline->begin_ns);
    timeline->end_ns = malloc((n + 1) * sizeof *timeline->end_ns);
    if (timeline->begin_ns == NULL || timeline->end_ns == NULL)
        return no_memory(timeline);
    cursor_open(&rows, export->database, export->path, "SELECT begin_ns, end_ns FROM process ORDER BY rank",
                export->error);
    for (size_t i = 0; i < n && cursor_next(&rows); i++) {
        bool begun = sqlite3_column_type(rows.statement, 0) != SQLITE_NULL;
        bool ended = sqlite3_column_type(rows.statement, 1) != SQLITE_NULL;
        timeline->begin_ns[i] = begun ? cursor_integer(&rows, 0) : EXPORT_NOTHING;
        timeline->end_ns[i] = ended ? cursor_integer(&rows, 1) : EXPORT_NOTHING;
    }
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, export->database, export->path, "SELECT thread_level = 'MPI_THREAD_MULTIPLE' FROM run",
                export->error);
    if (cursor_next(&rows))
        timeline->threads = cursor_integer(&rows, 0) != 0;
    return cursor_close(&rows);
}

static void timeline_release(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        for (size_t k = 0; k < timeline->lanes[i].n_open; k++)
            free(timeline->lanes[i].open[k].ops);
        free(timeline->lanes[i].open);
    }
    free(timeline->lanes);
    free(timeline->due);
    free(timeline->group);
    free(timeline->calls);
    free(timeline->begin_ns);
    free(timeline->end_ns);
    map_release(&timeline->lane_of_site);
}

int timeline_read(struct export *export, const struct export_names *names, const struct timeline_listener *listener)
{
    struct timeline timeline = {.export = export, .names = names, .listener = listener, .rank = -1};
    struct timeline_rows rows;
    struct timeline_row row;
    struct progress progress;
    size_t n = 0;
    int result = read_processes(&timeline);
    if (result == 0) {
        progress_start(&progress, "export: rows of the trace");
        timeline_rows_open(&rows, export, names);
        while (result == 0 && timeline_rows_next(&rows, &row)) {
            progress_step(&progress, ++n);
            result = take_row(&timeline, &row);
        }
        progress_end(&progress);
        if (timeline_rows_close(&rows) != 0)
            result = -1;
    }
    if (result == 0 && export->selection.n_ranks > 0)
        result = begin_ranks(&timeline, (int64_t) export->selection.n_ranks, EXPORT_NOTHING);
    timeline_release(&timeline);
    return result;
}
