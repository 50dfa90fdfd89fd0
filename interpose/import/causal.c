/* The k-th receive of a rank from another one with a tag gets the k-th send. A rank goes on until it waits for a
 * send that was not reached, or for members of a collective; who brings that about puts it on the stack of those
 * that can go on. */
#include "interpose/import/causal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"

enum { CALL_NS = 1 }; /* least length of a call */

/* No run is longer: four years. */
#define MOST_NS (UINT64_C(1) << 57)

/* Messages from a rank to another one with one tag. */
struct channel {
    uint64_t *sent_ns; /* [n_sent] */
    size_t n_sent;
    size_t n_received; /* posted receives */
    int32_t waiting;   /* rank that waits for a send, -1: none */
};

/* Where a request's message is: of a send complete at once. */
struct request {
    uint32_t channel; /* MAP_ABSENT: a send */
    size_t number;
};

struct meeting { /* the n-th collective of all ranks */
    int32_t arrived;
    uint16_t function;
    uint64_t latest_ns;
};

struct state {
    struct causal *causal;
    struct map channel_numbers;
    struct channel *channels;
    size_t n_channels;
    struct meeting *meetings;
    size_t n_meetings;
    struct rank_state {
        size_t at; /* next step */
        uint64_t now_ns;
        struct request *requests;
        size_t collectives; /* passed, or arrived at */
        bool is_met;        /* it has arrived at the collective that is its next step */
    } * ranks;
    int32_t *ready; /* [n_ready] a stack; */
    size_t n_ready;
    bool *is_ready;
};

void causal_open(struct causal *causal, const char *path, int32_t n_ranks)
{
    *causal = (struct causal){.path = path, .n_ranks = n_ranks};
    causal->ranks = xcalloc((size_t)n_ranks, sizeof *causal->ranks);
}

void causal_release(struct causal *causal)
{
    for (int32_t i = 0; i < causal->n_ranks; i++) {
        free(causal->ranks[i].steps);
        free(causal->ranks[i].waits);
    }
    free(causal->ranks);
    *causal = (struct causal){0};
}

static void add(struct causal_rank *rank, struct causal_step step)
{
    ARRAY_ADD(rank->steps, rank->n_steps, step);
}

void causal_compute(struct causal *causal, int32_t rank, uint64_t ns, uint64_t line)
{
    add(&causal->ranks[rank], (struct causal_step){.kind = CAUSAL_COMPUTE, .amount = ns, .line = line});
}

uint32_t causal_post(struct causal *causal, int32_t rank, struct causal_step step)
{
    step.request = causal->ranks[rank].n_requests++;
    add(&causal->ranks[rank], step);
    return step.request;
}

void causal_wait(struct causal *causal, int32_t rank, const uint32_t *requests, uint32_t n, uint64_t line)
{
    struct causal_rank *of = &causal->ranks[rank];
    add(of, (struct causal_step){.kind = CAUSAL_WAIT,
                                 .function = n == 1 ? FN_Wait : FN_Waitall,
                                 .requests = n,
                                 .request = (uint32_t)of->n_waits,
                                 .line = line});
    for (uint32_t i = 0; i < n; i++)
        ARRAY_ADD(of->waits, of->n_waits, requests[i]);
}

void causal_collective(struct causal *causal, int32_t rank, uint16_t function, uint64_t bytes, int32_t root,
                       uint64_t line)
{
    add(&causal->ranks[rank],
        (struct causal_step){
            .kind = CAUSAL_COLLECTIVE, .function = function, .amount = bytes, .peer = root, .line = line});
}

static void make_ready(struct state *state, int32_t rank)
{
    if (rank < 0 || state->is_ready[rank])
        return;
    state->is_ready[rank] = true;
    state->ready[state->n_ready++] = rank;
}

static uint32_t channel_of(struct state *state, int32_t src, int32_t dst, int32_t tag)
{
    struct map_key key = {(uint32_t)src, (uint32_t)dst, (uint32_t)tag};
    uint32_t number = map_number(&state->channel_numbers, key, state->n_channels);
    if (number == state->n_channels)
        ARRAY_ADD(state->channels, state->n_channels, (struct channel){.waiting = -1});
    return number;
}

static void post(struct state *state, int32_t rank, const struct causal_step *step)
{
    struct request *request = &state->ranks[rank].requests[step->request];
    if (step->kind == CAUSAL_SEND) {
        uint32_t number = channel_of(state, rank, step->peer, step->tag);
        struct channel *channel = &state->channels[number];
        ARRAY_ADD(channel->sent_ns, channel->n_sent, state->ranks[rank].now_ns);
        make_ready(state, channel->waiting);
        channel->waiting = -1;
        *request = (struct request){MAP_ABSENT, 0};
        return;
    }
    uint32_t number = channel_of(state, step->peer, rank, step->tag);
    *request = (struct request){number, state->channels[number].n_received++};
}

/* Returns whether the message of a request was sent by now; then *end_ns is at least that moment. Else the rank is
 * told when it is. */
static bool is_complete(struct state *state, int32_t rank, struct request request, uint64_t *end_ns)
{
    if (request.channel == MAP_ABSENT)
        return true;
    struct channel *channel = &state->channels[request.channel];
    if (channel->n_sent <= request.number) {
        channel->waiting = rank;
        return false;
    }
    uint64_t sent_ns = channel->sent_ns[request.number];
    *end_ns = sent_ns > *end_ns ? sent_ns : *end_ns;
    return true;
}

/* Returns whether all are there. */
static bool meet(struct state *state, int32_t rank, const struct causal_step *step, uint64_t *end_ns)
{
    struct rank_state *own = &state->ranks[rank];
    if (own->collectives == state->n_meetings)
        ARRAY_ADD(state->meetings, state->n_meetings, (struct meeting){.function = step->function});
    struct meeting *meeting = &state->meetings[own->collectives];
    if (meeting->function != step->function)
        return false;
    if (!own->is_met) {
        own->is_met = true;
        meeting->arrived++;
        meeting->latest_ns = own->now_ns > meeting->latest_ns ? own->now_ns : meeting->latest_ns;
        if (meeting->arrived == state->causal->n_ranks)
            for (int32_t i = 0; i < state->causal->n_ranks; i++)
                make_ready(state, i == rank ? -1 : i);
    }
    if (meeting->arrived < state->causal->n_ranks)
        return false;
    *end_ns = meeting->latest_ns;
    own->collectives++;
    own->is_met = false;
    return true;
}

/* Returns whether the step is done. A step that has to wait is tried again. */
static bool do_step(struct state *state, int32_t rank, struct causal_step *step)
{
    struct rank_state *own = &state->ranks[rank];
    uint64_t end_ns = own->now_ns;
    const struct causal_rank *program = &state->causal->ranks[rank];
    switch (step->kind) {
    case CAUSAL_COMPUTE:
        if (step->amount > MOST_NS || own->now_ns > MOST_NS)
            return false;
        own->now_ns += step->amount;
        return true;
    case CAUSAL_SEND:
    case CAUSAL_RECEIVE:
        if (step->end_ns == 0) { /* not posted yet */
            step->begin_ns = own->now_ns;
            post(state, rank, step);
            step->end_ns = 1;
        }
        if (step->blocking && !is_complete(state, rank, own->requests[step->request], &end_ns))
            return false;
        break;
    case CAUSAL_WAIT:
        step->begin_ns = own->now_ns;
        for (uint32_t i = 0; i < step->requests; i++)
            if (!is_complete(state, rank, own->requests[program->waits[step->request + i]], &end_ns))
                return false;
        break;
    case CAUSAL_COLLECTIVE:
        step->begin_ns = own->now_ns;
        if (!meet(state, rank, step, &end_ns))
            return false;
        break;
    }
    step->end_ns = end_ns > own->now_ns + CALL_NS ? end_ns : own->now_ns + CALL_NS;
    own->now_ns = step->end_ns;
    return true;
}

static int run_all(struct state *state, struct error *error)
{
    const struct causal *causal = state->causal;
    for (int32_t i = causal->n_ranks; i-- > 0;)
        make_ready(state, i);
    while (state->n_ready > 0) {
        int32_t rank = state->ready[--state->n_ready];
        state->is_ready[rank] = false;
        struct causal_rank *program = &causal->ranks[rank];
        while (state->ranks[rank].at < program->n_steps && do_step(state, rank, &program->steps[state->ranks[rank].at]))
            state->ranks[rank].at++;
    }
    for (int32_t i = 0; i < causal->n_ranks; i++) {
        if (state->ranks[i].at == causal->ranks[i].n_steps)
            continue;
        const struct causal_step *step = &causal->ranks[i].steps[state->ranks[i].at];
        return error_set(error, "%s:%" PRIu64 ": rank %" PRId32 " %s", causal->path, step->line, i,
                         step->kind == CAUSAL_COMPUTE ? "computes here beyond 2^57 ns, four years"
                                                      : "waits here for what no rank does");
    }
    return 0;
}

static int write_rank(const struct causal *causal, const struct import_run *run, int32_t rank, uint64_t end_ns,
                      struct error *error)
{
    const struct causal_rank *program = &causal->ranks[rank];
    struct import_process *process = import_begin(run, rank, NULL, error);
    if (!process)
        return -1;
    struct spool_operation **open = xcalloc(program->n_requests, sizeof *open);
    for (size_t i = 0; i < program->n_steps; i++) {
        const struct causal_step *step = &program->steps[i];
        const struct import_call call = {step->function, step->begin_ns, step->end_ns};
        if (step->kind == CAUSAL_SEND || step->kind == CAUSAL_RECEIVE)
            open[step->request] = import_post(process, &call, step->kind == CAUSAL_SEND ? SPOOL_SEND : SPOOL_RECEIVE, 0,
                                              step->peer, step->tag, step->amount, step->blocking);
        else if (step->kind == CAUSAL_COLLECTIVE)
            import_collective(process, &call, 0, step->amount, step->peer);
        for (uint32_t k = 0; step->kind == CAUSAL_WAIT && k < step->requests; k++)
            import_complete(open[program->waits[step->request + k]], step->end_ns);
        if (step->kind == CAUSAL_WAIT)
            import_timed_call(process, &call, step->requests);
    }
    free(open);
    return import_end(process, end_ns, error);
}

int causal_write(struct causal *causal, const struct import_run *run, struct error *error)
{
    size_t n = (size_t)causal->n_ranks;
    struct state state = {.causal = causal,
                          .ranks = xcalloc(n, sizeof *state.ranks),
                          .ready = xcalloc(n, sizeof *state.ready),
                          .is_ready = xcalloc(n, sizeof *state.is_ready)};
    for (size_t i = 0; i < n; i++)
        state.ranks[i].requests = xcalloc(causal->ranks[i].n_requests, sizeof *state.ranks[i].requests);
    int result = run_all(&state, error);
    for (int32_t i = 0; i < causal->n_ranks && result == 0; i++)
        result = write_rank(causal, run, i, state.ranks[i].now_ns, error);
    for (size_t i = 0; i < n; i++)
        free(state.ranks[i].requests);
    for (size_t i = 0; i < state.n_channels; i++)
        free(state.channels[i].sent_ns);
    free(state.channels);
    free(state.meetings);
    free(state.ranks);
    free(state.ready);
    free(state.is_ready);
    map_release(&state.channel_numbers);
    return result;
}
