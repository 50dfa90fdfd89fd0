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

struct timing {
    const struct run_program *program;
    const struct run_timed_calls *calls;
    const struct run_mend *mend;
    double *post_s[2];                   /* [n_messages] of send and receive; NaN: not yet */
    double *arrival_s;                   /* [n_members] */
    struct timing_gathering *gatherings; /* [n_collectives] */
    size_t *at;                          /* [n_strands] the call */
    size_t *end;                         /* [n_strands] behind its last one */
    double *now_s;         /* [n_strands] end of the call before, or, once the call has posted, its begin */
    double *carried_s;     /* [n_strands] computation that goes behind the next call */
    double *later_s;       /* [n_strands] until when a wait that was put off lasts, -INFINITY: none */
    bool *posted;          /* [n_strands] whether the call has */
    uint32_t *blocked;     /* [2 n_messages + n_collectives + n_edges] the last strand that waits for it */
    double *edge_s;        /* [n_edges] when the cause began; NaN: not yet */
    size_t *edge, *caused; /* [n_strands] the next of edges that ends there, of by_cause that begins there */
    uint32_t *next;        /* [n_strands] the one before it; of those that can go on as well */
    uint32_t going;
};

size_t run_timed_call_of(const struct run_timed_calls *calls, size_t step)
{
    size_t low = 0, high = calls->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (calls->rows[middle].first_step <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void timing_wake(struct timing *timing, size_t object)
{
    uint32_t strand = timing->blocked[object];
    timing->blocked[object] = TIMING_NOBODY;
    while (strand != TIMING_NOBODY) {
        uint32_t next = timing->next[strand];
        timing->next[strand] = timing->going;
        timing->going = strand;
        strand = next;
    }
}

static bool timing_block(struct timing *timing, uint32_t strand, size_t object)
{
    timing->next[strand] = timing->blocked[object];
    timing->blocked[object] = strand;
    return false;
}

static void timing_post(struct timing *timing, const struct run_step *step, double now_s)
{
    const struct run_program *program = timing->program;
    if (step->kind == STEP_SEND || step->kind == STEP_RECEIVE) {
        size_t side = step->kind == STEP_RECEIVE;
        timing->post_s[side][step->object] = now_s;
        timing_wake(timing, 2 * (size_t)step->object + side);
    } else if (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN) {
        uint32_t collective = program->members[step->object].collective;
        struct timing_gathering *gathering = &timing->gatherings[collective];
        timing->arrival_s[step->object] = now_s;
        gathering->last_s = gathering->n_came++ == 0 ? now_s : fmax(gathering->last_s, now_s);
        timing_wake(timing, 2 * program->n_messages + collective);
    }
}

static uint8_t timing_mended(const struct timing *timing, uint32_t site)
{
    return timing->mend != NULL && timing->mend->site != NULL ? timing->mend->site[site] : 0;
}

/* Finds what a member waits for. Returns false, and blocks the strand, where that has not come. */
static bool timing_await_member(struct timing *timing, uint32_t strand, uint32_t member, double *awaited_s)
{
    const struct run_program *program = timing->program;
    uint32_t number = program->members[member].collective;
    const struct run_collective *collective = &program->collectives[number];
    const struct timing_gathering *gathering = &timing->gatherings[number];
    uint32_t first = collective->first_member, root = first + collective->root, to = first;
    switch ((enum run_dependence)collective->dependence) {
    case DEPENDS_ON_NOBODY:
        return true;
    case DEPENDS_OF_ROOT:
        if (member != root)
            return true;
        break;
    case DEPENDS_ON_ALL:
        break;
    case DEPENDS_ON_ROOT:
        if (collective->root >= collective->n_members)
            return true;
        if (isnan(timing->arrival_s[root]))
            return timing_block(timing, strand, 2 * program->n_messages + number);
        *awaited_s = fmax(*awaited_s, timing->arrival_s[root]);
        return true;
    case DEPENDS_ON_LOWER:
        for (to = first; to < member; to++) {
            if (isnan(timing->arrival_s[to]))
                return timing_block(timing, strand, 2 * program->n_messages + number);
            *awaited_s = fmax(*awaited_s, timing->arrival_s[to]);
        }
        return true;
    }
    if (gathering->n_came < collective->n_members)
        return timing_block(timing, strand, 2 * program->n_messages + number);
    *awaited_s = fmax(*awaited_s, gathering->last_s);
    return true;
}

/* Finds until when an operation is waited for, its transfer not counted. */
static bool timing_await(struct timing *timing, uint32_t strand, uint32_t operation, uint8_t how, double *awaited_s)
{
    uint32_t object = run_operation_object(operation);
    enum run_operation_kind kind = run_operation_kind(operation);
    if (kind == OPERATION_MEMBER)
        return (how & MEND_APART) != 0 || timing_await_member(timing, strand, object, awaited_s);
    const struct run_message *message = &timing->program->messages[object];
    if ((message->flags & MESSAGE_ONE_SIDED) != 0 ||
        (kind == OPERATION_SEND && ((message->flags & MESSAGE_AWAITED) == 0 || (how & MEND_POSTED) != 0)))
        return true;
    size_t side = kind == OPERATION_SEND; /* a send waits for the receive */
    if (isnan(timing->post_s[side][object]))
        return timing_block(timing, strand, 2 * (size_t)object + side);
    *awaited_s = fmax(*awaited_s, timing->post_s[side][object]);
    return true;
}

/* Finds until when the call must wait. Returns false where that is not known yet. */
static bool timing_await_call(struct timing *timing, uint32_t strand, size_t first, size_t end, uint8_t how,
                              double *awaited_s)
{
    const struct run_program *program = timing->program;
    for (size_t i = first; i < end; i++) {
        const struct run_step *step = &program->steps[i];
        if (step->kind == STEP_PROBE &&
            !timing_await(timing, strand, run_operation(step->object, OPERATION_RECEIVE), how, awaited_s))
            return false;
        if (step->kind == STEP_COLLECTIVE &&
            !timing_await(timing, strand, run_operation(step->object, OPERATION_MEMBER), how, awaited_s))
            return false;
        for (uint32_t k = 0; step->kind == STEP_WAIT && k < step->count; k++)
            if (!timing_await(timing, strand, program->waits[step->object + k], how, awaited_s))
                return false;
    }
    return true;
}

static double timing_computed_s(struct timing *timing, uint32_t strand, uint32_t place, double seconds)
{
    const struct run_mend *mend = timing->mend;
    if (mend == NULL)
        return seconds;
    if (mend->compute_most_s != NULL)
        seconds = fmin(seconds, (double)mend->compute_most_s[place]);
    if (mend->compute_scale != NULL)
        seconds *= (double)mend->compute_scale[place];
    seconds += timing->carried_s[strand];
    timing->carried_s[strand] = 0;
    if ((timing_mended(timing, timing->program->places[place].site) & MEND_EARLIER) != 0) {
        timing->carried_s[strand] = seconds;
        return 0;
    }
    return seconds;
}

/* Returns the end of the strand's last call before its next one, or the begin of its first computation. */
static double timing_before_s(const struct timing *timing, uint32_t strand, size_t call)
{
    const struct run_timed_call *rows = timing->calls->rows;
    bool first = rows[call].first_step <= timing->program->strands[strand].first_step;
    return first ? timing->program->strands[strand].begin_s : rows[call - 1].begin_s + (double)rows[call - 1].length_s;
}

/* Lets those go on that wait for the begin of the call at hand. */
static void timing_cause(struct timing *timing, uint32_t strand)
{
    const struct run_timed_calls *calls = timing->calls;
    size_t *at = &timing->caused[strand];
    for (; *at < calls->n_edges && calls->edges[calls->by_cause[*at]].cause <= timing->at[strand]; ++*at) {
        timing->edge_s[calls->by_cause[*at]] = timing->now_s[strand];
        timing_wake(timing, 2 * timing->program->n_messages + timing->program->n_collectives + calls->by_cause[*at]);
    }
}

/* Finds until when the call at hand waits for another rank to call MPI. Returns false where that is not known yet. */
static bool timing_await_edges(struct timing *timing, uint32_t strand, uint8_t how, double *awaited_s)
{
    const struct run_timed_calls *calls = timing->calls;
    size_t *at = &timing->edge[strand];
    while (*at < calls->n_edges && calls->edges[*at].call < timing->at[strand])
        ++*at;
    for (size_t i = *at; i < calls->n_edges && calls->edges[i].call == timing->at[strand]; i++) {
        if ((how & (MEND_POSTED | MEND_APART)) != 0)
            continue;
        if (isnan(timing->edge_s[i]))
            return timing_block(timing, strand, 2 * timing->program->n_messages + timing->program->n_collectives + i);
        *awaited_s = fmax(*awaited_s, timing->edge_s[i]);
    }
    return true;
}

/* Begins the call: it comes after its computation, and posts. */
static void timing_enter(struct timing *timing, uint32_t strand, size_t first, size_t end)
{
    const struct run_program *program = timing->program;
    const struct run_timed_call *call = &timing->calls->rows[timing->at[strand]];
    double seconds = fmax(call->begin_s - timing_before_s(timing, strand, timing->at[strand]), 0);
    timing->now_s[strand] += timing_computed_s(timing, strand, program->steps[first].place, seconds);
    timing->now_s[strand] = fmax(timing->now_s[strand], timing->later_s[strand]);
    timing->later_s[strand] = -INFINITY;
    for (size_t i = first; i < end; i++)
        timing_post(timing, &program->steps[i], timing->now_s[strand]);
    timing_cause(timing, strand);
    timing->posted[strand] = true;
}

/* Does a call. Returns false where it must wait for what has not come. */
static bool timing_do_call(struct timing *timing, uint32_t strand, size_t end)
{
    const struct run_program *program = timing->program;
    const struct run_timed_call *call = &timing->calls->rows[timing->at[strand]];
    uint32_t place = program->steps[call->first_step].place;
    uint8_t how = timing_mended(timing, program->places[place].site);
    double awaited_s = -INFINITY;
    if (!timing->posted[strand])
        timing_enter(timing, strand, call->first_step, end);
    if (!timing_await_call(timing, strand, call->first_step, end, how, &awaited_s) ||
        !timing_await_edges(timing, strand, how, &awaited_s))
        return false;
    timing->posted[strand] = false;
    double rest_s = (double)call->rest_s;
    if (timing->mend != NULL && timing->mend->rest_scale != NULL && rest_s > 0)
        rest_s *= (double)timing->mend->rest_scale[place];
    double end_s = fmax(timing->now_s[strand], awaited_s) + rest_s;
    if ((how & MEND_LATER) != 0)
        timing->later_s[strand] = end_s;
    else
        timing->now_s[strand] = fmax(end_s, timing->now_s[strand]);
    return true;
}

/* Goes on with a strand as far as it can. */
static void timing_go(struct timing *timing, uint32_t strand)
{
    const struct run_strand *told = &timing->program->strands[strand];
    size_t last = told->first_step + told->n_steps;
    for (; timing->at[strand] < timing->end[strand]; timing->at[strand]++) {
        size_t at = timing->at[strand];
        size_t end = at + 1 < timing->end[strand] ? timing->calls->rows[at + 1].first_step : last;
        if (!timing_do_call(timing, strand, end))
            return;
    }
}

/* Finds the first edges of a strand's calls, and the first that they cause. */
static void timing_find_edges(struct timing *timing, size_t strand)
{
    const struct run_timed_calls *calls = timing->calls;
    size_t low = 0, high = calls->n_edges, first = timing->at[strand];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (calls->edges[middle].call < first)
            low = middle + 1;
        else
            high = middle;
    }
    timing->edge[strand] = low;
    for (low = 0, high = calls->n_edges; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (calls->edges[calls->by_cause[middle]].cause < first)
            low = middle + 1;
        else
            high = middle;
    }
    timing->caused[strand] = low;
}

/* Finds the calls of each strand. Returns false where they do not fit. */
static bool timing_divide(struct timing *timing)
{
    const struct run_program *program = timing->program;
    size_t call = 0;
    for (size_t i = 0; i < program->n_strands; i++) {
        size_t last = program->strands[i].first_step + program->strands[i].n_steps;
        timing->at[i] = call;
        if (program->strands[i].n_steps > 0 &&
            (call == timing->calls->n || timing->calls->rows[call].first_step != program->strands[i].first_step))
            return false;
        while (call < timing->calls->n && timing->calls->rows[call].first_step < last)
            call++;
        timing->end[i] = call;
        timing_find_edges(timing, i);
    }
    return call == timing->calls->n;
}

static void timing_init(struct timing *timing)
{
    const struct run_program *program = timing->program;
    size_t n_edges = timing->calls->n_edges;
    size_t n_objects = 2 * program->n_messages + program->n_collectives + n_edges;
    for (size_t side = 0; side < 2; side++) {
        timing->post_s[side] = xmalloc((program->n_messages + 1) * sizeof *timing->post_s[side]);
        for (size_t i = 0; i < program->n_messages; i++)
            timing->post_s[side][i] = NAN;
    }
    timing->arrival_s = xmalloc((program->n_members + 1) * sizeof *timing->arrival_s);
    for (size_t i = 0; i < program->n_members; i++)
        timing->arrival_s[i] = NAN;
    timing->gatherings = xcalloc(program->n_collectives, sizeof *timing->gatherings);
    timing->at = xcalloc(program->n_strands, sizeof *timing->at);
    timing->end = xcalloc(program->n_strands, sizeof *timing->end);
    timing->now_s = xcalloc(program->n_strands, sizeof *timing->now_s);
    timing->carried_s = xcalloc(program->n_strands, sizeof *timing->carried_s);
    timing->later_s = xcalloc(program->n_strands, sizeof *timing->later_s);
    timing->posted = xcalloc(program->n_strands, sizeof *timing->posted);
    timing->edge = xcalloc(program->n_strands, sizeof *timing->edge);
    timing->caused = xcalloc(program->n_strands, sizeof *timing->caused);
    timing->edge_s = xmalloc((n_edges + 1) * sizeof *timing->edge_s);
    for (size_t i = 0; i < n_edges; i++)
        timing->edge_s[i] = NAN;
    timing->next = xcalloc(program->n_strands, sizeof *timing->next);
    timing->blocked = xmalloc((n_objects + 1) * sizeof *timing->blocked);
    for (size_t i = 0; i < n_objects; i++)
        timing->blocked[i] = TIMING_NOBODY;
    timing->going = TIMING_NOBODY;
    for (size_t i = program->n_strands; i-- > 0;) {
        timing->now_s[i] = program->strands[i].begin_s;
        timing->later_s[i] = -INFINITY;
        timing->next[i] = timing->going;
        timing->going = (uint32_t)i;
    }
}

static void timing_release(struct timing *timing)
{
    free(timing->post_s[0]);
    free(timing->post_s[1]);
    free(timing->arrival_s);
    free(timing->gatherings);
    free(timing->at);
    free(timing->end);
    free(timing->now_s);
    free(timing->carried_s);
    free(timing->later_s);
    free(timing->posted);
    free(timing->edge);
    free(timing->caused);
    free(timing->edge_s);
    free(timing->next);
    free(timing->blocked);
}

/* Returns whether all strands came to their ends. */
static bool timing_run_all(struct timing *timing)
{
    timing_init(timing);
    if (!timing_divide(timing))
        return false;
    while (timing->going != TIMING_NOBODY) {
        uint32_t strand = timing->going;
        timing->going = timing->next[strand];
        timing_go(timing, strand);
    }
    for (size_t i = 0; i < timing->program->n_strands; i++)
        if (timing->at[i] < timing->end[i])
            return false;
    return true;
}

/* The recording itself: when everything was posted. */
struct timing_recording {
    struct run_program *program;
    const struct run_timed_calls *calls;
    double *post_s[2];  /* [n_messages] of send and receive; NaN: never */
    double *arrival_s;  /* [n_members] */
    double *last_s;     /* [n_collectives] */
    size_t *first_call; /* [n_ranks + 1] of each rank; SIZE_MAX: it has several strands */
    size_t *end_call;
    bool *goes; /* [RUN_MAX_KINDS] sends of that kind wait for no receive */
    struct run_timed_edge *edges;
    size_t n_edges;
};

/* Returns the end of a call's steps. */
static size_t timing_steps_end(const struct run_program *program, const struct run_timed_calls *calls, size_t call)
{
    return call + 1 < calls->n ? calls->rows[call + 1].first_step : program->n_steps;
}

static void timing_note_posts(struct timing_recording *recording)
{
    const struct run_program *program = recording->program;
    for (size_t i = 0; i < recording->calls->n; i++) {
        double now_s = recording->calls->rows[i].begin_s;
        size_t end = timing_steps_end(program, recording->calls, i);
        for (size_t k = recording->calls->rows[i].first_step; k < end; k++) {
            const struct run_step *step = &program->steps[k];
            if (step->kind == STEP_SEND || step->kind == STEP_RECEIVE) {
                recording->post_s[step->kind == STEP_RECEIVE][step->object] = now_s;
            } else if (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN) {
                double *last_s = &recording->last_s[program->members[step->object].collective];
                recording->arrival_s[step->object] = now_s;
                *last_s = fmax(*last_s, now_s);
            }
        }
    }
}

static double timing_member_awaited_s(const struct timing_recording *recording, uint32_t member)
{
    const struct run_program *program = recording->program;
    uint32_t number = program->members[member].collective;
    const struct run_collective *collective = &program->collectives[number];
    uint32_t first = collective->first_member;
    double awaited_s = -INFINITY;
    switch ((enum run_dependence)collective->dependence) {
    case DEPENDS_ON_NOBODY:
        break;
    case DEPENDS_OF_ROOT:
        return member == first + collective->root ? recording->last_s[number] : awaited_s;
    case DEPENDS_ON_ALL:
        return recording->last_s[number];
    case DEPENDS_ON_ROOT:
        return collective->root < collective->n_members ? recording->arrival_s[first + collective->root] : awaited_s;
    case DEPENDS_ON_LOWER:
        for (uint32_t m = first; m < member; m++)
            awaited_s = fmax(awaited_s, recording->arrival_s[m]);
        break;
    }
    return awaited_s;
}

/* Finds what an operation waited for. *receive_s: the post of the receive of a send that had no need to wait for it, if
 * that came while the call lasted. */
static double timing_awaited_s(const struct timing_recording *recording, uint32_t operation,
                               const struct run_timed_call *call, double *receive_s)
{
    uint32_t object = run_operation_object(operation);
    enum run_operation_kind kind = run_operation_kind(operation);
    if (kind == OPERATION_MEMBER)
        return timing_member_awaited_s(recording, object);
    const struct run_message *message = &recording->program->messages[object];
    if ((message->flags & MESSAGE_ONE_SIDED) != 0)
        return -INFINITY;
    if (kind == OPERATION_RECEIVE || (message->flags & MESSAGE_AWAITED) != 0)
        return recording->post_s[kind == OPERATION_SEND][object];
    double post_s = recording->post_s[1][object];
    if ((message->flags & MESSAGE_BUFFERED) == 0 && post_s > call->begin_s &&
        post_s <= call->begin_s + (double)call->length_s)
        *receive_s = fmax(*receive_s, post_s);
    return -INFINITY;
}

/* Adds up by kind of message how much later than a send's begin receives were posted, less where the send lasted until
 * then. */
static void timing_sum_over(const struct timing_recording *recording, size_t call, double *over_s)
{
    const struct run_program *program = recording->program;
    double begin_s = recording->calls->rows[call].begin_s, length_s = (double)recording->calls->rows[call].length_s;
    size_t end = timing_steps_end(program, recording->calls, call);
    for (size_t i = recording->calls->rows[call].first_step; i < end; i++)
        for (uint32_t k = 0; program->steps[i].kind == STEP_WAIT && k < program->steps[i].count; k++) {
            uint32_t operation = program->waits[program->steps[i].object + k];
            uint32_t object = run_operation_object(operation);
            if (run_operation_kind(operation) != OPERATION_SEND || !(recording->post_s[1][object] > begin_s))
                continue;
            double late_s = recording->post_s[1][object] - begin_s;
            over_s[program->messages[object].kind] += late_s > length_s ? late_s : -late_s;
        }
}

/* Finds the kinds of messages whose sends go on before late receives more than they wait for them: those that last so
 * long do by chance, as where ranks share processors. None of them is awaited. */
static void timing_find_goers(struct timing_recording *recording)
{
    struct run_program *program = recording->program;
    double *over_s = xcalloc(RUN_MAX_KINDS, sizeof *over_s);
    recording->goes = xcalloc(RUN_MAX_KINDS, sizeof *recording->goes);
    for (size_t i = 0; i < recording->calls->n; i++)
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
    struct run_program *program = recording->program;
    for (size_t i = first; i < end; i++)
        for (uint32_t k = 0; program->steps[i].kind == STEP_WAIT && k < program->steps[i].count; k++) {
            uint32_t operation = program->waits[program->steps[i].object + k];
            struct run_message *message = &program->messages[run_operation_object(operation)];
            if (run_operation_kind(operation) == OPERATION_SEND &&
                (message->flags & (MESSAGE_ONE_SIDED | MESSAGE_BUFFERED)) == 0 && !recording->goes[message->kind] &&
                recording->post_s[1][run_operation_object(operation)] <= until_s)
                message->flags |= (uint16_t)MESSAGE_AWAITED;
        }
}

/* Shortest rest of a call for which a cause is looked for. */
#define TIMING_LEAST_REST_S 50e-6

/* Returns the call of a rank that explains what is left of one between two times: the rank computed for most of it, and
 * then called MPI, there first. SIZE_MAX: none does. */
static size_t timing_progress(const struct timing_recording *recording, uint32_t rank, double from_s, double end_s)
{
    const struct run_timed_call *rows = recording->calls->rows;
    size_t low = recording->first_call[rank], first = low, high = recording->end_call[rank];
    double most_s = TIMING_EXPLAINED * (end_s - from_s);
    if (low == SIZE_MAX)
        return SIZE_MAX;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].begin_s < end_s - most_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low <= first || low == recording->end_call[rank] || rows[low].begin_s > end_s)
        return SIZE_MAX;
    return rows[low - 1].begin_s + (double)rows[low - 1].length_s <= from_s + most_s ? low : SIZE_MAX;
}

/* Looks for such a call of the ranks with whom a call exchanges messages, and notes it. Returns its begin, or
 * -INFINITY. */
static double timing_find_progress(struct timing_recording *recording, size_t number, size_t end, double from_s,
                                   double end_s)
{
    const struct run_program *program = recording->program;
    for (size_t i = recording->calls->rows[number].first_step; i < end; i++)
        for (uint32_t k = 0; program->steps[i].kind == STEP_WAIT && k < program->steps[i].count; k++) {
            uint32_t operation = program->waits[program->steps[i].object + k];
            if (run_operation_kind(operation) == OPERATION_MEMBER)
                continue;
            const struct run_message *message = &program->messages[run_operation_object(operation)];
            if (message->src == message->dst)
                continue;
            size_t cause = timing_progress(
                recording, run_operation_kind(operation) == OPERATION_SEND ? message->dst : message->src, from_s,
                end_s);
            if (cause == SIZE_MAX)
                continue;
            ARRAY_ADD(recording->edges, recording->n_edges, (struct run_timed_edge){number, cause});
            return recording->calls->rows[cause].begin_s;
        }
    return -INFINITY;
}

/* Finds what is left of a call behind what it waited for. Some transports end an eager send only when its receiver has
 * taken it: where that receive explains most of what is left, the send has waited for it. */
static float timing_rest_s(struct timing_recording *recording, size_t number)
{
    const struct run_program *program = recording->program;
    const struct run_timed_call *call = &recording->calls->rows[number];
    size_t end = timing_steps_end(program, recording->calls, number);
    double awaited_s = call->begin_s, receive_s = -INFINITY, end_s = call->begin_s + (double)call->length_s;
    for (size_t i = call->first_step; i < end; i++) {
        const struct run_step *step = &program->steps[i];
        uint32_t object = step->kind == STEP_SPEND ? 0 : step->object;
        if (step->kind == STEP_PROBE)
            awaited_s = fmax(awaited_s,
                             timing_awaited_s(recording, run_operation(object, OPERATION_RECEIVE), call, &receive_s));
        else if (step->kind == STEP_COLLECTIVE)
            awaited_s = fmax(awaited_s, timing_member_awaited_s(recording, object));
        for (uint32_t k = 0; step->kind == STEP_WAIT && k < step->count; k++)
            awaited_s = fmax(awaited_s, timing_awaited_s(recording, program->waits[object + k], call, &receive_s));
    }
    if (receive_s > awaited_s && end_s - receive_s <= TIMING_EXPLAINED * (end_s - awaited_s)) {
        timing_mark_awaited(recording, call->first_step, end, receive_s);
        awaited_s = receive_s;
    }
    if (end_s - awaited_s >= TIMING_LEAST_REST_S)
        awaited_s = fmax(awaited_s, timing_find_progress(recording, number, end, awaited_s, end_s));
    return (float)(end_s - awaited_s);
}

/* Says whether calls begin where strands do, and each has steps. */
static bool timing_fits(const struct run_program *program, const struct run_timed_calls *calls)
{
    size_t call = 0;
    for (size_t i = 0; i < program->n_strands; i++) {
        size_t last = program->strands[i].first_step + program->strands[i].n_steps;
        if (program->strands[i].n_steps > 0 &&
            (call == calls->n || calls->rows[call].first_step != program->strands[i].first_step))
            return false;
        while (call < calls->n && calls->rows[call].first_step < last)
            call++;
    }
    return call == calls->n;
}

/* Finds the calls of ranks with one strand. */
static void timing_note_ranks(struct timing_recording *recording)
{
    const struct run_program *program = recording->program;
    recording->first_call = xmalloc((program->n_ranks + 1) * sizeof *recording->first_call);
    recording->end_call = xcalloc(program->n_ranks, sizeof *recording->end_call);
    for (size_t i = 0; i < program->n_ranks; i++)
        recording->first_call[i] = SIZE_MAX;
    for (size_t i = 0, call = 0; i < program->n_strands; i++) {
        const struct run_strand *strand = &program->strands[i];
        size_t first = call;
        bool alone = (i == 0 || program->strands[i - 1].rank != strand->rank) &&
                     (i + 1 == program->n_strands || program->strands[i + 1].rank != strand->rank);
        while (call < recording->calls->n &&
               recording->calls->rows[call].first_step < strand->first_step + strand->n_steps)
            call++;
        recording->first_call[strand->rank] = alone ? first : SIZE_MAX;
        recording->end_call[strand->rank] = call;
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
    free(calls->rows);
    free(calls->edges);
    free(calls->by_cause);
    *calls = (struct run_timed_calls){0};
}

int run_retime_begin(struct run_program *program, struct run_timed_calls *calls)
{
    struct timing_recording recording = {.program = program, .calls = calls};
    if (!timing_fits(program, calls))
        return -1;
    for (size_t side = 0; side < 2; side++) {
        recording.post_s[side] = xmalloc((program->n_messages + 1) * sizeof *recording.post_s[side]);
        for (size_t i = 0; i < program->n_messages; i++)
            recording.post_s[side][i] = NAN;
    }
    recording.arrival_s = xmalloc((program->n_members + 1) * sizeof *recording.arrival_s);
    for (size_t i = 0; i < program->n_members; i++)
        recording.arrival_s[i] = NAN;
    recording.last_s = xmalloc((program->n_collectives + 1) * sizeof *recording.last_s);
    for (size_t i = 0; i < program->n_collectives; i++)
        recording.last_s[i] = -INFINITY;
    timing_note_posts(&recording);
    timing_note_ranks(&recording);
    timing_find_goers(&recording);
    for (size_t i = 0; i < calls->n; i++)
        calls->rows[i].rest_s = timing_rest_s(&recording, i);
    calls->edges = recording.edges;
    calls->n_edges = recording.n_edges;
    timing_sort_causes(calls);
    free(recording.goes);
    free(recording.first_call);
    free(recording.end_call);
    free(recording.post_s[0]);
    free(recording.post_s[1]);
    free(recording.arrival_s);
    free(recording.last_s);
    return 0;
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
        double end_s = fmax(timing.now_s[i], timing.later_s[i]) + timing.carried_s[i] + strand->tail_s;
        first_s[strand->burst] = fmin(first_s[strand->burst], strand->begin_s);
        last_s[strand->burst] = fmax(last_s[strand->burst], end_s);
    }
    for (size_t i = 0; i < n_bursts; i++)
        sum_s += fmax(last_s[i] - first_s[i], 0);
    free(first_s);
    free(last_s);
    timing_release(&timing);
    return done ? sum_s : (double)NAN;
}
