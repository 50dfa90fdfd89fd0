/* Goes through each strand as far as what it waits for is there, and on when that comes: in the order of dependences,
 * not of time, so that a call costs the same however many ranks there are. See run_retime.h. */
#include "predictor/run/engine/run_retime.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

#define TIMING_NOBODY UINT32_MAX

/* A collective under way. */
struct timing_gathering {
    uint32_t n_came;
    double last_s; /* arrival of those that came */
};

struct timing_strand {
    size_t at, end;      /* the call; behind its last one */
    size_t edge, caused; /* the next of edges that ends there, of by_cause that begins there */
    double now_s;        /* end of the call before, or, once the call has posted, its begin */
    double carried_s;    /* computation that goes behind the next call */
    double later_s;      /* until when a wait that was put off lasts, -INFINITY: none */
    uint32_t next;       /* the one before it in blocked; of those that can go on as well */
    bool posted;         /* whether the call has */
};

struct timing {
    const struct run_program *program;
    const struct run_timed_calls *calls;
    const struct run_mend *mend;
    double *post_s[2];                   /* [n_messages] of send and receive; NaN: not yet */
    double *arrival_s;                   /* [n_members] */
    struct timing_gathering *gatherings; /* [n_collectives] */
    struct timing_strand *strands;       /* [n_strands] */
    uint32_t *blocked; /* [2 n_messages + n_collectives + n_edges] the last strand that waits for it */
    double *edge_s;    /* [n_edges] when the cause began; NaN: not yet */
    uint32_t going;
};

size_t run_timed_call_of(const struct run_timed_calls *calls, size_t step)
{
    size_t beyond = 0;
    FIRST_BEYOND(beyond, calls->n, calls->rows[beyond].first_step <= step);
    return beyond > 0 ? beyond - 1 : 0;
}

/* Returns the end of a call's steps. */
static size_t timing_steps_end(const struct timing *timing, size_t call)
{
    return call + 1 < timing->calls->n ? timing->calls->rows[call + 1].first_step : timing->program->n_steps;
}

/* Is an operation that a call waits for: begins as {.step = the first one of the call}. */
struct timing_operation {
    size_t step;
    uint32_t n; /* of the step, until then */
    uint32_t operation;
};

/* Goes to the next operation of the steps up to `end`. Returns false behind the last one. */
static bool timing_next(const struct run_program *program, size_t end, struct timing_operation *at)
{
    for (; at->step < end; at->step++, at->n = 0) {
        const struct run_step *step = &program->steps[at->step];
        bool waits = step->kind == STEP_WAIT;
        if (at->n >= (waits ? step->count : step->kind == STEP_PROBE || step->kind == STEP_COLLECTIVE))
            continue;
        at->operation =
            waits ? program->waits[step->object + at->n]
                  : run_operation(step->object, step->kind == STEP_PROBE ? OPERATION_RECEIVE : OPERATION_MEMBER);
        at->n++;
        return true;
    }
    return false;
}

static void timing_wake(struct timing *timing, size_t object)
{
    uint32_t strand = timing->blocked[object];
    timing->blocked[object] = TIMING_NOBODY;
    while (strand != TIMING_NOBODY) {
        uint32_t next = timing->strands[strand].next;
        timing->strands[strand].next = timing->going;
        timing->going = strand;
        strand = next;
    }
}

static bool timing_block(struct timing *timing, uint32_t strand, size_t object)
{
    timing->strands[strand].next = timing->blocked[object];
    timing->blocked[object] = strand;
    return false;
}

/* Makes the posts of a call. */
static void timing_post(struct timing *timing, size_t call, double now_s)
{
    const struct run_program *program = timing->program;
    for (size_t i = timing->calls->rows[call].first_step; i < timing_steps_end(timing, call); i++) {
        const struct run_step *step = &program->steps[i];
        if (step->kind == STEP_SEND || step->kind == STEP_RECEIVE) {
            size_t side = step->kind == STEP_RECEIVE;
            timing->post_s[side][step->object] = now_s;
            timing_wake(timing, 2 * (size_t)step->object + side);
        } else if (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN) {
            uint32_t collective = program->members[step->object].collective;
            struct timing_gathering *gathering = &timing->gatherings[collective];
            timing->arrival_s[step->object] = now_s;
            gathering->last_s = fmax(gathering->last_s, now_s);
            gathering->n_came++;
            timing_wake(timing, 2 * program->n_messages + collective);
        }
    }
}

static uint8_t timing_mended(const struct timing *timing, uint32_t site)
{
    return timing->mend != NULL && timing->mend->site != NULL ? timing->mend->site[site] : 0;
}

/* Finds what a member waits for. Returns false where that has not come. */
static bool timing_await_member(const struct timing *timing, uint32_t member, double *awaited_s)
{
    uint32_t number = timing->program->members[member].collective;
    const struct run_collective *collective = &timing->program->collectives[number];
    const struct timing_gathering *gathering = &timing->gatherings[number];
    uint32_t own = member - collective->first_member;
    const struct run_awaited awaited = run_awaited(collective, own);
    if (awaited.end - awaited.first == collective->n_members && collective->n_members > 1) {
        *awaited_s = fmax(*awaited_s, gathering->last_s);
        return gathering->n_came >= collective->n_members;
    }
    for (uint32_t i = awaited.first; i < awaited.end; i++) {
        double arrival_s = timing->arrival_s[collective->first_member + i];
        if (i != own && isnan(arrival_s))
            return false;
        *awaited_s = fmax(*awaited_s, arrival_s);
    }
    return true;
}

/* Finds until when an operation is waited for, its transfer not counted. Returns false where that is not known before
 * *object comes. */
static bool timing_await(const struct timing *timing, uint32_t operation, uint8_t how, double *awaited_s,
                         size_t *object)
{
    const struct run_program *program = timing->program;
    uint32_t number = run_operation_object(operation);
    enum run_operation_kind kind = run_operation_kind(operation);
    if (kind == OPERATION_MEMBER) {
        *object = 2 * program->n_messages + program->members[number].collective;
        return (how & MEND_APART) != 0 || timing_await_member(timing, number, awaited_s);
    }
    const struct run_message *message = &program->messages[number];
    if ((message->flags & MESSAGE_ONE_SIDED) != 0 ||
        (kind == OPERATION_SEND && ((message->flags & MESSAGE_AWAITED) == 0 || (how & MEND_POSTED) != 0)))
        return true;
    size_t side = kind == OPERATION_SEND; /* a send waits for the receive */
    *object = 2 * (size_t)number + side;
    *awaited_s = fmax(*awaited_s, timing->post_s[side][number]);
    return !isnan(timing->post_s[side][number]);
}

/* Finds until when the strand's call must wait. Returns false, and blocks the strand, where that is not known yet. */
static bool timing_await_call(struct timing *timing, uint32_t strand, uint8_t how, double *awaited_s)
{
    size_t call = timing->strands[strand].at, end = timing_steps_end(timing, call), object;
    struct timing_operation at = {.step = timing->calls->rows[call].first_step};
    while (timing_next(timing->program, end, &at))
        if (!timing_await(timing, at.operation, how, awaited_s, &object))
            return timing_block(timing, strand, object);
    return true;
}

/* Returns what is mended of the call alone, or NULL. */
static const struct run_mend_call *timing_mended_call(const struct timing *timing, size_t call)
{
    const struct run_mend *mend = timing->mend;
    size_t at = 0;
    if (mend == NULL || mend->n_calls == 0)
        return NULL;
    FIRST_BEYOND(at, mend->n_calls, mend->calls[at].call < call);
    return at < mend->n_calls && mend->calls[at].call == call ? &mend->calls[at] : NULL;
}

static double timing_computed_s(struct timing *timing, uint32_t strand, uint32_t place, double seconds)
{
    const struct run_mend *mend = timing->mend;
    const struct run_mend_call *alone = timing_mended_call(timing, timing->strands[strand].at);
    double *carried_s = &timing->strands[strand].carried_s;
    if (mend == NULL)
        return seconds;
    if (alone != NULL)
        seconds = fmin(seconds, (double)alone->compute_most_s);
    if (mend->compute_most_s != NULL)
        seconds = fmin(seconds, (double)mend->compute_most_s[place]);
    if (mend->compute_scale != NULL)
        seconds *= (double)mend->compute_scale[place];
    seconds += *carried_s;
    *carried_s = (timing_mended(timing, timing->program->places[place].site) & MEND_EARLIER) != 0 ? seconds : 0;
    return *carried_s > 0 ? 0 : seconds;
}

/* Returns the end of the strand's last call before its next one, or the begin of its first computation. */
static double timing_before_s(const struct timing *timing, uint32_t strand, size_t call)
{
    const struct run_timed_call *rows = timing->calls->rows;
    bool first = rows[call].first_step <= timing->program->strands[strand].first_step;
    return first ? timing->program->strands[strand].begin_s : rows[call - 1].begin_s + (double)rows[call - 1].length_s;
}

/* Lets those go on that wait for the begin of the call at hand. */
static void timing_cause(struct timing *timing, const struct timing_strand *strand, size_t *at)
{
    const struct run_timed_calls *calls = timing->calls;
    for (; *at < calls->n_edges && calls->edges[calls->by_cause[*at]].cause <= strand->at; ++*at) {
        timing->edge_s[calls->by_cause[*at]] = strand->now_s;
        timing_wake(timing, 2 * timing->program->n_messages + timing->program->n_collectives + calls->by_cause[*at]);
    }
}

/* Finds until when the call at hand waits for another rank to call MPI. Returns false where that is not known yet. */
static bool timing_await_edges(struct timing *timing, uint32_t strand, uint8_t how, double *awaited_s)
{
    const struct run_timed_calls *calls = timing->calls;
    size_t *at = &timing->strands[strand].edge, call = timing->strands[strand].at;
    while (*at < calls->n_edges && calls->edges[*at].call < call)
        ++*at;
    for (size_t i = *at; i < calls->n_edges && calls->edges[i].call == call; i++) {
        if ((how & (MEND_POSTED | MEND_APART)) != 0)
            continue;
        if (isnan(timing->edge_s[i]))
            return timing_block(timing, strand, 2 * timing->program->n_messages + timing->program->n_collectives + i);
        *awaited_s = fmax(*awaited_s, timing->edge_s[i]);
    }
    return true;
}

/* Begins the call: it comes after its computation, and posts. */
static void timing_enter(struct timing *timing, uint32_t number, uint32_t place)
{
    struct timing_strand *strand = &timing->strands[number];
    double begin_s = timing->calls->rows[strand->at].begin_s;
    double seconds = fmax(begin_s - timing_before_s(timing, number, strand->at), 0);
    strand->now_s += timing_computed_s(timing, number, place, seconds);
    strand->now_s = fmax(strand->now_s, strand->later_s);
    strand->later_s = -INFINITY;
    timing_post(timing, strand->at, strand->now_s);
    timing_cause(timing, strand, &strand->caused);
    strand->posted = true;
}

/* Does a call. Returns false where it must wait for what has not come. */
static bool timing_do_call(struct timing *timing, uint32_t number)
{
    const struct run_program *program = timing->program;
    struct timing_strand *strand = &timing->strands[number];
    const struct run_timed_call *call = &timing->calls->rows[strand->at];
    uint32_t place = program->steps[call->first_step].place;
    uint8_t how = timing_mended(timing, program->places[place].site);
    double awaited_s = -INFINITY;
    if (!strand->posted)
        timing_enter(timing, number, place);
    if (!timing_await_call(timing, number, how, &awaited_s) || !timing_await_edges(timing, number, how, &awaited_s))
        return false;
    strand->posted = false;
    double rest_s = (double)call->rest_s;
    const struct run_mend_call *alone = timing_mended_call(timing, strand->at);
    if (alone != NULL)
        rest_s = fmin(rest_s, (double)alone->rest_most_s);
    if (timing->mend != NULL && timing->mend->rest_scale != NULL && rest_s > 0)
        rest_s *= (double)timing->mend->rest_scale[place];
    double end_s = fmax(strand->now_s, awaited_s) + rest_s;
    if ((how & MEND_LATER) != 0)
        strand->later_s = end_s;
    else
        strand->now_s = fmax(end_s, strand->now_s);
    return true;
}

/* Finds the calls of each strand, the first edges of these, and the first that they cause. Returns false where calls do
 * not begin where strands do. */
static bool timing_divide(struct timing *timing)
{
    const struct run_program *program = timing->program;
    const struct run_timed_calls *calls = timing->calls;
    size_t call = 0;
    for (size_t i = 0; i < program->n_strands; i++) {
        const struct run_strand *told = &program->strands[i];
        struct timing_strand *strand = &timing->strands[i];
        strand->at = call;
        if (told->n_steps > 0 && (call == calls->n || calls->rows[call].first_step != told->first_step))
            return false;
        while (call < calls->n && calls->rows[call].first_step < told->first_step + told->n_steps)
            call++;
        strand->end = call;
        FIRST_BEYOND(strand->edge, calls->n_edges, calls->edges[strand->edge].call < strand->at);
        FIRST_BEYOND(strand->caused, calls->n_edges, calls->edges[calls->by_cause[strand->caused]].cause < strand->at);
    }
    return call == calls->n;
}

static double *timing_unknown(size_t n)
{
    double *times_s = xmalloc((n + 1) * sizeof *times_s);
    for (size_t i = 0; i < n; i++)
        times_s[i] = NAN;
    return times_s;
}

static void timing_init(struct timing *timing)
{
    const struct run_program *program = timing->program;
    size_t n_objects = 2 * program->n_messages + program->n_collectives + timing->calls->n_edges;
    for (size_t side = 0; side < 2; side++)
        timing->post_s[side] = timing_unknown(program->n_messages);
    timing->arrival_s = timing_unknown(program->n_members);
    timing->edge_s = timing_unknown(timing->calls->n_edges);
    timing->gatherings = xcalloc(program->n_collectives, sizeof *timing->gatherings);
    for (size_t i = 0; i < program->n_collectives; i++)
        timing->gatherings[i].last_s = -INFINITY;
    timing->strands = xcalloc(program->n_strands, sizeof *timing->strands);
    timing->blocked = xmalloc((n_objects + 1) * sizeof *timing->blocked);
    for (size_t i = 0; i < n_objects; i++)
        timing->blocked[i] = TIMING_NOBODY;
    timing->going = TIMING_NOBODY;
    for (size_t i = program->n_strands; i-- > 0;) {
        timing->strands[i].now_s = program->strands[i].begin_s;
        timing->strands[i].later_s = -INFINITY;
        timing->strands[i].next = timing->going;
        timing->going = (uint32_t)i;
    }
}

static void timing_release(struct timing *timing)
{
    FREE_ALL(timing->post_s[0], timing->post_s[1], timing->arrival_s, timing->gatherings, timing->strands,
             timing->edge_s, timing->blocked);
}

/* Returns whether all strands came to their ends. */
static bool timing_run_all(struct timing *timing)
{
    timing_init(timing);
    if (!timing_divide(timing))
        return false;
    while (timing->going != TIMING_NOBODY) {
        uint32_t number = timing->going;
        struct timing_strand *strand = &timing->strands[number];
        timing->going = strand->next;
        while (strand->at < strand->end && timing_do_call(timing, number))
            strand->at++;
    }
    for (size_t i = 0; i < timing->program->n_strands; i++)
        if (timing->strands[i].at < timing->strands[i].end)
            return false;
    return true;
}

/* The recording itself. */
struct timing_recording {
    struct run_program *program;
    struct timing timing; /* everything is posted, when it was recorded */
    uint32_t *strand_of;  /* [n_ranks] the only strand of each; TIMING_NOBODY: it has several */
    bool *goes;           /* [RUN_MAX_KINDS] sends of that kind wait for no receive */
    struct run_timed_edge *edges;
    size_t n_edges;
};

/* Returns the post of the receive of a send that had no need to wait for it, if that came while the call lasted; else
 * -INFINITY. */
static double timing_receive_s(const struct timing_recording *recording, uint32_t operation,
                               const struct run_timed_call *call)
{
    uint32_t object = run_operation_object(operation);
    if (run_operation_kind(operation) != OPERATION_SEND ||
        (recording->program->messages[object].flags & (MESSAGE_ONE_SIDED | MESSAGE_AWAITED | MESSAGE_BUFFERED)) != 0)
        return -INFINITY;
    double post_s = recording->timing.post_s[1][object];
    return post_s > call->begin_s && post_s <= call->begin_s + (double)call->length_s ? post_s : -INFINITY;
}

/* Adds up by kind of message how much later than a send's begin receives were posted, less where the send lasted until
 * then. */
static void timing_sum_over(const struct timing_recording *recording, size_t number, double *over_s)
{
    const struct run_timed_call *call = &recording->timing.calls->rows[number];
    struct timing_operation at = {.step = call->first_step};
    while (timing_next(recording->program, timing_steps_end(&recording->timing, number), &at)) {
        uint32_t object = run_operation_object(at.operation);
        if (run_operation_kind(at.operation) != OPERATION_SEND ||
            !(recording->timing.post_s[1][object] > call->begin_s))
            continue;
        double late_s = recording->timing.post_s[1][object] - call->begin_s;
        over_s[recording->program->messages[object].kind] += late_s > (double)call->length_s ? late_s : -late_s;
    }
}

/* Finds the kinds of messages whose sends go on before late receives more than they wait for them: those that last so
 * long do by chance, as where ranks share processors. None of them is awaited. */
static void timing_find_goers(struct timing_recording *recording)
{
    struct run_program *program = recording->program;
    double *over_s = xcalloc(RUN_MAX_KINDS, sizeof *over_s);
    recording->goes = xcalloc(RUN_MAX_KINDS, sizeof *recording->goes);
    for (size_t i = 0; i < recording->timing.calls->n; i++)
        timing_sum_over(recording, i, over_s);
    for (size_t i = 1; i < RUN_MAX_KINDS; i++)
        recording->goes[i] = over_s[i] > 0;
    for (size_t i = 0; i < program->n_messages; i++)
        if (recording->goes[program->messages[i].kind])
            program->messages[i].flags &= (uint16_t)~MESSAGE_AWAITED;
    free(over_s);
}

/* Part of what is left of a call that may remain if it waited for the receive of a send that need not wait. */
#define TIMING_EXPLAINED 0.25

/* Lets the sends of a call wait for the receives posted until then. */
static void timing_mark_awaited(struct timing_recording *recording, size_t first, size_t end, double until_s)
{
    struct timing_operation at = {.step = first};
    while (timing_next(recording->program, end, &at)) {
        uint32_t object = run_operation_object(at.operation);
        if (run_operation_kind(at.operation) != OPERATION_SEND || !(recording->timing.post_s[1][object] <= until_s))
            continue;
        struct run_message *message = &recording->program->messages[object];
        if ((message->flags & (MESSAGE_ONE_SIDED | MESSAGE_BUFFERED)) == 0 && !recording->goes[message->kind])
            message->flags |= (uint16_t)MESSAGE_AWAITED;
    }
}

/* Shortest rest of a call for which a cause is looked for. */
#define TIMING_LEAST_REST_S 50e-6

/* Returns the call of a rank that explains what is left of one between two times: the rank computed for most of it, and
 * then called MPI, there first. SIZE_MAX: none does. */
static size_t timing_progress(const struct timing_recording *recording, uint32_t rank, double from_s, double end_s)
{
    const struct run_timed_call *rows = recording->timing.calls->rows;
    if (recording->strand_of[rank] == TIMING_NOBODY)
        return SIZE_MAX;
    const struct timing_strand *strand = &recording->timing.strands[recording->strand_of[rank]];
    size_t at = strand->at;
    double most_s = TIMING_EXPLAINED * (end_s - from_s);
    FIRST_BEYOND(at, strand->end, rows[at].begin_s < end_s - most_s);
    if (at == strand->at || at == strand->end || rows[at].begin_s > end_s)
        return SIZE_MAX;
    return rows[at - 1].begin_s + (double)rows[at - 1].length_s <= from_s + most_s ? at : SIZE_MAX;
}

/* Looks for such a call of the ranks with whom a call exchanges messages, and notes it. Returns its begin, or
 * -INFINITY. */
static double timing_find_progress(struct timing_recording *recording, size_t number, size_t end, double from_s,
                                   double end_s)
{
    const struct run_program *program = recording->program;
    const struct run_timed_call *rows = recording->timing.calls->rows;
    struct timing_operation at = {.step = rows[number].first_step};
    while (timing_next(program, end, &at)) {
        enum run_operation_kind kind = run_operation_kind(at.operation);
        if (kind == OPERATION_MEMBER || program->steps[at.step].kind != STEP_WAIT)
            continue;
        const struct run_message *message = &program->messages[run_operation_object(at.operation)];
        size_t cause =
            message->src == message->dst
                ? SIZE_MAX
                : timing_progress(recording, kind == OPERATION_SEND ? message->dst : message->src, from_s, end_s);
        if (cause == SIZE_MAX)
            continue;
        ARRAY_ADD(recording->edges, recording->n_edges, (struct run_timed_edge){number, cause});
        return rows[cause].begin_s;
    }
    return -INFINITY;
}

/* Finds what is left of a call behind what it waited for. Some transports end an eager send only when its receiver has
 * taken it: where that receive explains most of what is left, the send has waited for it. */
static float timing_rest_s(struct timing_recording *recording, size_t number)
{
    const struct run_timed_call *call = &recording->timing.calls->rows[number];
    size_t end = timing_steps_end(&recording->timing, number), object;
    double awaited_s = call->begin_s, receive_s = -INFINITY, end_s = call->begin_s + (double)call->length_s;
    struct timing_operation at = {.step = call->first_step};
    while (timing_next(recording->program, end, &at)) {
        timing_await(&recording->timing, at.operation, 0, &awaited_s, &object);
        receive_s = fmax(receive_s, timing_receive_s(recording, at.operation, call));
    }
    if (receive_s > awaited_s && end_s - receive_s <= TIMING_EXPLAINED * (end_s - awaited_s)) {
        timing_mark_awaited(recording, call->first_step, end, receive_s);
        awaited_s = receive_s;
    }
    if (end_s - awaited_s >= TIMING_LEAST_REST_S)
        awaited_s = fmax(awaited_s, timing_find_progress(recording, number, end, awaited_s, end_s));
    return (float)(end_s - awaited_s);
}

/* Finds the ranks with one strand. */
static void timing_note_ranks(struct timing_recording *recording)
{
    const struct run_program *program = recording->program;
    recording->strand_of = xmalloc((program->n_ranks + 1) * sizeof *recording->strand_of);
    for (size_t i = 0; i < program->n_ranks; i++)
        recording->strand_of[i] = TIMING_NOBODY;
    for (uint32_t i = 0; i < program->n_strands; i++) {
        uint32_t rank = program->strands[i].rank;
        bool alone = (i == 0 || program->strands[i - 1].rank != rank) &&
                     (i + 1 == program->n_strands || program->strands[i + 1].rank != rank);
        recording->strand_of[rank] = alone ? i : TIMING_NOBODY;
    }
}

static int timing_compare_causes(const void *left, const void *right, void *context)
{
    const struct run_timed_calls *calls = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return ORDER(calls->edges[a].cause, calls->edges[b].cause) ?: ORDER(a, b);
}

static void timing_sort_causes(struct run_timed_calls *calls)
{
    calls->by_cause = xcalloc(calls->n_edges, sizeof *calls->by_cause);
    for (size_t i = 0; i < calls->n_edges; i++)
        calls->by_cause[i] = i;
    if (calls->n_edges > 0)
        qsort_r(calls->by_cause, calls->n_edges, sizeof *calls->by_cause, timing_compare_causes, calls);
}

void run_timed_calls_release(struct run_timed_calls *calls)
{
    FREE_ALL(calls->rows, calls->edges, calls->by_cause);
    *calls = (struct run_timed_calls){0};
}

int run_retime_begin(struct run_program *program, struct run_timed_calls *calls)
{
    struct timing_recording recording = {.program = program, .timing = {.program = program, .calls = calls}};
    timing_init(&recording.timing);
    bool fits = timing_divide(&recording.timing);
    if (fits) {
        for (size_t i = 0; i < calls->n; i++)
            timing_post(&recording.timing, i, calls->rows[i].begin_s);
        timing_note_ranks(&recording);
        timing_find_goers(&recording);
        for (size_t i = 0; i < calls->n; i++)
            calls->rows[i].rest_s = timing_rest_s(&recording, i);
        calls->edges = recording.edges;
        calls->n_edges = recording.n_edges;
        timing_sort_causes(calls);
    }
    FREE_ALL(recording.goes, recording.strand_of);
    timing_release(&recording.timing);
    return fits ? 0 : -1;
}

double run_retime(const struct run_program *program, const struct run_timed_calls *calls, const struct run_mend *mend)
{
    struct timing timing = {.program = program, .calls = calls, .mend = mend};
    size_t n_bursts = program->n_bursts > 0 ? program->n_bursts : 1;
    double sum_s = 0, *first_s = xmalloc(n_bursts * sizeof *first_s), *last_s = xmalloc(n_bursts * sizeof *last_s);
    bool done = timing_run_all(&timing);
    for (size_t i = 0; i < n_bursts; i++) {
        first_s[i] = INFINITY;
        last_s[i] = -INFINITY;
    }
    for (size_t i = 0; i < program->n_strands; i++) {
        const struct run_strand *strand = &program->strands[i];
        const struct timing_strand *went = &timing.strands[i];
        double end_s = fmax(went->now_s, went->later_s) + went->carried_s + strand->tail_s;
        first_s[strand->burst] = fmin(first_s[strand->burst], strand->begin_s);
        last_s[strand->burst] = fmax(last_s[strand->burst], end_s);
    }
    for (size_t i = 0; i < n_bursts; i++)
        sum_s += fmax(last_s[i] - first_s[i], 0);
    FREE_ALL(first_s, last_s);
    timing_release(&timing);
    return done ? sum_s : (double)NAN;
}
