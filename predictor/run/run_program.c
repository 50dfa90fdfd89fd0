/* Builds, checks and releases programs of runs. The arrays grow at the powers of two; pages that nobody writes cost
 * no memory. Whoever walks a checked program, the engine and the algorithms of collectives, needs no check of an index.
 */
#include "predictor/run/run_program.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

const char *const run_part_name[RUN_PART_COUNT] = {
    [RUN_COMPUTATION] = "computation",
    [RUN_LATE_SENDER] = "late_sender",
    [RUN_LATE_RECEIVER] = "late_receiver",
    [RUN_LATENCY] = "latency",
    [RUN_BANDWIDTH] = "bandwidth",
    [RUN_CONTENTION] = "contention",
    [RUN_QUEUE] = "queue",
    [RUN_PROGRESS] = "progress",
    [RUN_COLLECTIVE_WAIT] = "collective_wait",
    [RUN_COLLECTIVE_TRANSFER] = "collective_transfer",
    [RUN_OTHER] = "other",
};

void run_program_swap_shared(struct run_program *program)
{
    for (size_t i = 0; i < program->n_shared; i++) {
        struct run_shared *shared = &program->shared[i];
        double *at = shared->is_tail ? &program->strands[shared->of].tail_s : &program->steps[shared->of].compute_s;
        double seconds = *at;
        *at = shared->seconds;
        shared->seconds = seconds;
    }
}

void run_program_release(struct run_program *program)
{
    FREE_ALL(program->ranks, program->strands, program->steps, program->messages, program->waits, program->collectives,
             program->members, program->places, program->sites, program->measured, program->between_polls_s,
             program->moved_polls_s, program->shared, program->burst_s);
    if (program->release_texts != NULL)
        program->release_texts(program->texts);
    *program = (struct run_program){.measured_run_s = NAN};
}

void run_program_ranks(struct run_program *program, size_t n_ranks)
{
    struct run_rank *ranks = xmalloc((n_ranks + 1) * sizeof *ranks);
    for (size_t rank = 0; rank < n_ranks; rank++)
        ranks[rank] = (struct run_rank){.run_s = NAN, .wait_s = NAN};
    free(program->ranks);
    program->ranks = ranks;
    program->n_ranks = n_ranks;
    program->measured_run_s = NAN;
}

uint32_t run_program_threads(const struct run_program *program, size_t *strand)
{
    const struct run_strand *first = &program->strands[*strand], *end = program->strands + program->n_strands;
    const struct run_strand *s = first;
    uint32_t most = 0;
    for (uint32_t n = 0; s < end && s->rank == first->rank; s++) {
        n = s > first && s->burst == s[-1].burst ? n + 1 : 1;
        most = n > most ? n : most;
    }
    *strand += (size_t)(s - first);
    return most;
}

void run_program_strand(struct run_program *program, uint32_t rank, double begin_s)
{
    ARRAY_ADD(program->strands, program->n_strands,
              (struct run_strand){.first_step = program->n_steps, .begin_s = begin_s, .rank = rank});
}

int run_program_step(struct run_program *program, const struct run_step *step)
{
    if (program->n_strands == 0 || program->n_steps == RUN_MAX_STEPS)
        return -1;
    ARRAY_ADD(program->steps, program->n_steps, *step);
    program->strands[program->n_strands - 1].n_steps++;
    return 0;
}

int run_program_message(struct run_program *program, const struct run_message *message)
{
    if (program->n_messages == RUN_MAX_OBJECTS)
        return -1;
    ARRAY_ADD(program->messages, program->n_messages, *message);
    return 0;
}

void run_program_wait(struct run_program *program, uint32_t operation)
{
    ARRAY_ADD(program->waits, program->n_waits, operation);
}

void run_program_collective(struct run_program *program, const struct run_collective *collective)
{
    ARRAY_ADD(program->collectives, program->n_collectives, *collective);
}

int run_program_member(struct run_program *program, const struct run_member *member)
{
    if (program->n_members == RUN_MAX_OBJECTS)
        return -1;
    ARRAY_ADD(program->members, program->n_members, *member);
    return 0;
}

void run_program_site(struct run_program *program, const char *function, int64_t callsite)
{
    ARRAY_ADD(program->sites, program->n_sites, (struct run_site){.function = function, .callsite = callsite});
}

void run_program_place(struct run_program *program, uint32_t rank, uint32_t site)
{
    ARRAY_ADD(program->places, program->n_places, (struct run_place){.rank = rank, .site = site});
}

/* Has a byte a message and a member: which of its ends a step has posted. */
struct posted {
    const struct run_program *program;
    uint8_t *messages; /* bits 1: send, 2: receive */
    uint8_t *members;
    size_t step;
    uint32_t *bursts; /* [n_messages] where the first end was posted */
    uint32_t rank;    /* of the step */
    uint32_t burst;
    struct error *error;
};

static bool is_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0;
}

static int check_tables(const struct run_program *p, struct error *error)
{
    for (size_t i = 0; i < p->n_places; i++)
        if (p->places[i].rank >= p->n_ranks || p->places[i].site >= p->n_sites)
            return error_set(error, "place %zu: rank %u of %zu, site %u of %zu", i, p->places[i].rank, p->n_ranks,
                             p->places[i].site, p->n_sites);
    for (size_t i = 0; i < p->n_messages; i++)
        if (p->messages[i].src >= p->n_ranks || p->messages[i].dst >= p->n_ranks)
            return error_set(error, "message %zu: from rank %u to rank %u; expected ranks below %zu", i,
                             p->messages[i].src, p->messages[i].dst, p->n_ranks);
    return 0;
}

static int check_collectives(const struct run_program *p, struct error *error)
{
    for (size_t i = 0; i < p->n_collectives; i++) {
        const struct run_collective *c = &p->collectives[i];
        if (c->n_members == 0 || (size_t)c->first_member + c->n_members > p->n_members)
            return error_set(error, "collective %zu: members %u to %zu of %zu", i, c->first_member,
                             (size_t)c->first_member + c->n_members, p->n_members);
        if ((c->root >= c->n_members && c->root != UINT32_MAX) || c->dependence > DEPENDS_ON_NOBODY ||
            c->kind >= COLLECTIVE_KIND_COUNT)
            return error_set(error, "collective %zu: root %u of %u members, dependence %u, kind %u", i, c->root,
                             c->n_members, c->dependence, c->kind);
        for (uint32_t k = 0; k < c->n_members; k++)
            if (p->members[c->first_member + k].collective != i)
                return error_set(error, "member %u of collective %zu is of collective %u", k, i,
                                 p->members[c->first_member + k].collective);
    }
    for (size_t i = 0; i < p->n_members; i++) {
        const struct run_member *m = &p->members[i];
        if (m->rank >= p->n_ranks || m->collective >= p->n_collectives || !is_time(m->after_s) || !is_time(m->bytes))
            return error_set(error, "member %zu: rank %u of %zu, collective %u of %zu, %g s, %g bytes", i, m->rank,
                             p->n_ranks, m->collective, p->n_collectives, m->after_s, m->bytes);
        const struct run_collective *c = &p->collectives[m->collective];
        if (i < c->first_member || i - c->first_member >= c->n_members)
            return error_set(error, "member %zu is not among those of its collective %u", i, m->collective);
    }
    return 0;
}

static int check_strands(const struct run_program *p, struct error *error)
{
    size_t next = 0;
    uint32_t rank = 0;
    for (size_t i = 0; i < p->n_strands; i++) {
        const struct run_strand *s = &p->strands[i];
        if (i == 0 ? s->rank != 0 : s->rank != rank && s->rank != rank + 1)
            return error_set(error, "strand %zu is of rank %u; expected strands by rank, one or more of each", i,
                             s->rank);
        if (s->burst > (p->n_bursts > 0 ? p->n_bursts - 1 : 0) ||
            (i > 0 && s->rank == rank && s->burst < p->strands[i - 1].burst))
            return error_set(error, "strand %zu is in burst %u of %zu, behind one in burst %u", i, s->burst,
                             p->n_bursts, i > 0 ? p->strands[i - 1].burst : 0);
        rank = s->rank;
        if (s->first_step != next || s->n_steps > p->n_steps - next)
            return error_set(error, "strand %zu: steps %zu and %zu more; expected them from %zu on, of %zu", i,
                             s->first_step, s->n_steps, next, p->n_steps);
        next += s->n_steps;
        if (!is_time(s->begin_s) || !is_time(s->tail_s))
            return error_set(error, "strand %zu begins at %g s and ends with %g s", i, s->begin_s, s->tail_s);
        if (s->tail_s > 0 && (s->tail_place >= p->n_places || p->places[s->tail_place].rank != rank))
            return error_set(error, "strand %zu ends at place %u, which rank %u does not have", i, s->tail_place, rank);
    }
    if (next != p->n_steps || (p->n_ranks > 0 && (p->n_strands == 0 || rank + (size_t)1 != p->n_ranks)))
        return error_set(error, "%zu steps in strands of %zu, the last strand of rank %u of %zu", next, p->n_steps,
                         rank, p->n_ranks);
    return 0;
}

static int post_message(struct posted *posted, uint32_t object, bool receive)
{
    const struct run_program *p = posted->program;
    const char *end = receive ? "receive" : "send";
    if (object >= p->n_messages)
        return error_set(posted->error, "step %zu posts message %u of %zu", posted->step, object, p->n_messages);
    const struct run_message *m = &p->messages[object];
    if (m->kind != 0 && m->kind >= p->n_kinds)
        return error_set(posted->error, "message %u is of kind %u of %zu", object, m->kind, p->n_kinds);
    if (posted->rank != (receive ? m->dst : m->src) || (receive && (m->flags & MESSAGE_ONE_SIDED) != 0))
        return error_set(posted->error, "step %zu of rank %u posts the %s of message %u from %u to %u%s", posted->step,
                         posted->rank, end, object, m->src, m->dst,
                         (m->flags & MESSAGE_ONE_SIDED) != 0 ? ", which is one-sided" : "");
    uint8_t bit = receive ? 2 : 1;
    if (posted->messages[object] & bit)
        return error_set(posted->error, "step %zu posts the %s of message %u a second time", posted->step, end, object);
    if (posted->messages[object] != 0 && posted->bursts[object] != posted->burst)
        return error_set(posted->error, "step %zu posts the %s of message %u in burst %u, its other end is in burst %u",
                         posted->step, end, object, posted->burst, posted->bursts[object]);
    posted->bursts[object] = posted->burst;
    posted->messages[object] |= bit;
    return 0;
}

static int post_member(struct posted *posted, uint32_t object)
{
    const struct run_program *p = posted->program;
    if (object >= p->n_members || p->members[object].rank != posted->rank)
        return error_set(posted->error, "step %zu of rank %u enters a collective as member %u, which it is not",
                         posted->step, posted->rank, object);
    if (posted->members[object]++ != 0)
        return error_set(posted->error, "step %zu enters a collective as member %u a second time", posted->step,
                         object);
    return 0;
}

static int check_wait(const struct posted *posted, const struct run_step *step)
{
    const struct run_program *p = posted->program;
    if ((size_t)step->object + step->count > p->n_waits)
        return error_set(posted->error, "step %zu waits for operations %u to %zu of %zu", posted->step, step->object,
                         (size_t)step->object + step->count, p->n_waits);
    for (uint32_t i = 0; i < step->count; i++) {
        uint32_t operation = p->waits[step->object + i], object = run_operation_object(operation);
        enum run_operation_kind kind = run_operation_kind(operation);
        bool mine = kind == OPERATION_MEMBER  ? object < p->n_members && p->members[object].rank == posted->rank
                    : object >= p->n_messages ? false
                    : kind == OPERATION_SEND  ? p->messages[object].src == posted->rank
                                              : kind == OPERATION_RECEIVE && p->messages[object].dst == posted->rank;
        if (!mine)
            return error_set(posted->error, "step %zu of rank %u waits for operation %u (kind %d of %u), not its own",
                             posted->step, posted->rank, i, kind, object);
    }
    return 0;
}

static int check_object(struct posted *posted, const struct run_step *step)
{
    switch (step->kind) {
    case STEP_SEND:
    case STEP_RECEIVE:
        return post_message(posted, step->object, step->kind == STEP_RECEIVE);
    case STEP_WAIT:
        return check_wait(posted, step);
    case STEP_PROBE:
        if (step->object < posted->program->n_messages && posted->program->messages[step->object].dst == posted->rank)
            return 0;
        return error_set(posted->error, "step %zu of rank %u probes for message %u, which is not for it", posted->step,
                         posted->rank, step->object);
    case STEP_COLLECTIVE:
    case STEP_BEGIN:
        return post_member(posted, step->object);
    case STEP_SPEND:
        return is_time(step->spent_s) ? 0
                                      : error_set(posted->error, "step %zu spends %g s", posted->step, step->spent_s);
    default:
        return error_set(posted->error, "step %zu is of kind %u", posted->step, step->kind);
    }
}

static int check_strand_steps(struct posted *posted, const struct run_strand *strand)
{
    const struct run_program *p = posted->program;
    bool inside = false;
    posted->rank = strand->rank;
    posted->burst = strand->burst;
    for (size_t i = strand->first_step; i < strand->first_step + strand->n_steps; i++) {
        const struct run_step *step = &p->steps[i];
        bool enters = (step->flags & STEP_ENTERS) != 0;
        posted->step = i;
        if (enters == inside)
            return error_set(posted->error, "step %zu %s", i,
                             inside ? "begins a call inside another one" : "is in no call");
        inside = (step->flags & STEP_LEAVES) == 0;
        if (!is_time(step->compute_s) || (!enters && step->compute_s > 0))
            return error_set(posted->error, "step %zu computes %g s%s", i, step->compute_s,
                             enters ? "" : " inside a call");
        if (step->place >= p->n_places || p->places[step->place].rank != strand->rank)
            return error_set(posted->error, "step %zu is at place %u, which rank %u does not have", i, step->place,
                             strand->rank);
        if (check_object(posted, step) != 0)
            return -1;
    }
    return inside ? error_set(posted->error, "the last call of a strand of rank %u does not end", strand->rank) : 0;
}

int run_program_check(const struct run_program *program, struct error *error)
{
    if (check_tables(program, error) != 0 || check_collectives(program, error) != 0 ||
        check_strands(program, error) != 0)
        return -1;
    struct posted posted = {.program = program, .error = error};
    posted.messages = xcalloc(program->n_messages, 1);
    posted.members = xcalloc(program->n_members, 1);
    posted.bursts = xmalloc((program->n_messages + 1) * sizeof *posted.bursts);
    int result = 0;
    for (size_t i = 0; result == 0 && i < program->n_strands; i++)
        result = check_strand_steps(&posted, &program->strands[i]);
    FREE_ALL(posted.messages, posted.members, posted.bursts);
    return result;
}
