/* Steps that share a message are of one round, and so on transitively (union and find), unless a synchronising
 * collective that both ranks took part in lies between them: then the message belongs to the round of its receive, and
 * the sender has its posting call there. Messages of a rank to itself make no round. A ping-pong by blocking calls is
 * therefore a round a message, a ring of Sendrecv one a shift, a halo exchange one a step.
 *
 * Rounds are numbered by their begin. Two are of the same kind if they have the same messages, as a multiset of
 * (source, destination, bytes): compared by two independent 64-bit sums over their hashes, their number and their
 * bytes.
 */
#include "round.h"

#include <stdlib.h>

#include "epochs.h"
#include "in_mpi.h"
#include "map.h"

struct rounder {
    struct trace *trace;
    struct epochs epochs;
    uint32_t *parent;     /* [n_steps] union and find */
    uint32_t *round_of;   /* [n_steps] of the representative */
    struct map_key *sums; /* [n_rounds] of the messages' hashes */
    uint64_t *bytes;      /* [n_rounds] */
    struct map members;   /* (round, rank) -> round_processes */
};

static uint32_t find_root(uint32_t *parent, uint32_t step)
{
    while (parent[step] != step) {
        parent[step] = parent[parent[step]];
        step = parent[step];
    }
    return step;
}

/* The step that a message belongs to: the receive's, else the send's; TRACE_NONE: no round. */
static uint32_t message_step(const struct trace *trace, const struct trace_operation *receive)
{
    if (receive->direction != SPOOL_RECEIVE || receive->partner == TRACE_NONE ||
        receive->rank == (uint32_t)receive->peer_world)
        return TRACE_NONE;
    if ((receive->flags | trace->operations[receive->partner].flags) & SPOOL_OFF)
        return TRACE_NONE;
    return receive->step != TRACE_NONE ? receive->step : trace->operations[receive->partner].step;
}

static void join_steps(struct rounder *rounder)
{
    const struct trace *trace = rounder->trace;
    for (uint32_t i = 0; i < trace->n_steps; i++)
        rounder->parent[i] = i;
    for (size_t i = 0; i < trace->n_operations; i++) {
        const struct trace_operation *receive = &trace->operations[i];
        if (message_step(trace, receive) == TRACE_NONE || receive->step == TRACE_NONE)
            continue;
        uint32_t sent = trace->operations[receive->partner].step;
        if (sent == TRACE_NONE)
            continue;
        uint32_t one = find_root(rounder->parent, receive->step), other = find_root(rounder->parent, sent);
        if (one != other && !epochs_separate(&rounder->epochs, &trace->steps[receive->step], &trace->steps[sent])) {
            if (one < other)
                rounder->parent[other] = one;
            else
                rounder->parent[one] = other;
        }
    }
}

static int compare_rounds(const void *left, const void *right)
{
    const struct trace_round *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

/* Numbers the components that have messages by their begin. kind holds the representative until kinds are known. */
static int number_rounds(struct rounder *rounder)
{
    struct trace *trace = rounder->trace;
    for (size_t i = 0; i < trace->n_steps; i++)
        rounder->round_of[i] = TRACE_NONE;
    for (size_t i = 0; i < trace->n_operations; i++) {
        uint32_t step = message_step(trace, &trace->operations[i]);
        if (step == TRACE_NONE)
            continue;
        uint32_t root = find_root(rounder->parent, step);
        if (rounder->round_of[root] != TRACE_NONE)
            continue;
        struct trace_round *grown = trace_grow(trace->rounds, trace->n_rounds, sizeof *grown);
        if (grown == NULL)
            return -1;
        trace->rounds = grown;
        rounder->round_of[root] = (uint32_t)trace->n_rounds;
        trace->rounds[trace->n_rounds++] = (struct trace_round){INT64_MAX, INT64_MIN, root};
    }
    for (uint32_t i = 0; i < trace->n_steps; i++) {
        uint32_t round = rounder->round_of[find_root(rounder->parent, i)];
        if (round == TRACE_NONE)
            continue;
        struct trace_round *whole = &trace->rounds[round];
        const struct trace_step *step = &trace->steps[i];
        whole->begin_ns = step->begin_ns < whole->begin_ns ? step->begin_ns : whole->begin_ns;
        whole->end_ns = step->end_ns > whole->end_ns ? step->end_ns : whole->end_ns;
    }
    if (trace->n_rounds > 1)
        qsort(trace->rounds, trace->n_rounds, sizeof *trace->rounds, compare_rounds);
    for (uint32_t i = 0; i < trace->n_rounds; i++)
        rounder->round_of[trace->rounds[i].kind] = i;
    for (uint32_t i = 0; i < trace->n_steps; i++)
        trace->steps[i].round = rounder->round_of[find_root(rounder->parent, i)];
    return 0;
}

/* Widens the row of a rank in a round, and the round. */
static int add_member(struct rounder *rounder, uint32_t round, uint32_t rank, int64_t begin_ns, int64_t end_ns)
{
    struct trace *trace = rounder->trace;
    struct trace_round *whole = &trace->rounds[round];
    whole->begin_ns = begin_ns < whole->begin_ns ? begin_ns : whole->begin_ns;
    whole->end_ns = end_ns > whole->end_ns ? end_ns : whole->end_ns;
    uint32_t *index = map_at(&rounder->members, (struct map_key){round, rank, 0});
    if (index == NULL)
        return -1;
    if (*index == MAP_ABSENT) {
        struct trace_round_process *grown = trace_grow(trace->round_processes, trace->n_round_processes, sizeof *grown);
        if (grown == NULL)
            return -1;
        trace->round_processes = grown;
        *index = (uint32_t)trace->n_round_processes++;
        trace->round_processes[*index] =
            (struct trace_round_process){.begin_ns = begin_ns, .end_ns = end_ns, .round = round, .rank = rank};
        return 0;
    }
    struct trace_round_process *member = &trace->round_processes[*index];
    member->begin_ns = begin_ns < member->begin_ns ? begin_ns : member->begin_ns;
    member->end_ns = end_ns > member->end_ns ? end_ns : member->end_ns;
    return 0;
}

/* Rows of the ranks, the round of each message, and the sums that tell kinds apart. */
static int fill_rounds(struct rounder *rounder)
{
    struct trace *trace = rounder->trace;
    for (size_t i = 0; i < trace->n_operations; i++)
        trace->message_rounds[i] = TRACE_NONE;
    for (size_t i = 0; i < trace->n_steps; i++) {
        const struct trace_step *step = &trace->steps[i];
        if (step->round != TRACE_NONE &&
            add_member(rounder, step->round, step->rank, step->begin_ns, step->end_ns) != 0)
            return -1;
    }
    for (size_t i = 0; i < trace->n_operations; i++) {
        const struct trace_operation *receive = &trace->operations[i];
        uint32_t step = message_step(trace, receive);
        if (step == TRACE_NONE)
            continue;
        const struct trace_operation *send = &trace->operations[receive->partner];
        uint32_t round = trace->steps[step].round;
        trace->message_rounds[i] = round;
        struct map_key key = {(uint64_t)send->rank << 32 | receive->rank, send->bytes, 1};
        rounder->sums[round].a += map_hash(key);
        key.c = 2;
        rounder->sums[round].b += map_hash(key);
        rounder->sums[round].c++;
        rounder->bytes[round] += send->bytes;
        bool there = send->step != TRACE_NONE && trace->steps[send->step].round == round;
        if (!there && add_member(rounder, round, send->rank, send->post_ns, send->post_end_ns) != 0)
            return -1;
        there = receive->step != TRACE_NONE;
        if (!there && add_member(rounder, round, receive->rank, receive->post_ns, receive->post_end_ns) != 0)
            return -1;
    }
    return 0;
}

static int find_kinds(struct rounder *rounder)
{
    struct trace *trace = rounder->trace;
    struct map index = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < trace->n_rounds; i++) {
        uint32_t *kind = map_at(&index, rounder->sums[i]);
        struct trace_kind *grown = kind == NULL ? NULL : trace_grow(trace->kinds, trace->n_kinds, sizeof *grown);
        if (grown == NULL) {
            result = -1;
            break;
        }
        trace->kinds = grown;
        if (*kind == MAP_ABSENT) {
            *kind = (uint32_t)trace->n_kinds;
            trace->kinds[trace->n_kinds++] =
                (struct trace_kind){.messages = rounder->sums[i].c, .bytes = rounder->bytes[i]};
        }
        trace->kinds[*kind].rounds++;
        trace->rounds[i].kind = *kind;
    }
    map_release(&index);
    return result;
}

int rounds_find(struct trace *trace, struct error *error)
{
    struct rounder rounder = {.trace = trace};
    int result = -1;
    rounder.parent = malloc((trace->n_steps + 1) * sizeof *rounder.parent);
    rounder.round_of = malloc((trace->n_steps + 1) * sizeof *rounder.round_of);
    trace->message_rounds = malloc((trace->n_operations + 1) * sizeof *trace->message_rounds);
    if (rounder.parent == NULL || rounder.round_of == NULL || trace->message_rounds == NULL ||
        epochs_build(&rounder.epochs, trace) != 0)
        goto out;
    join_steps(&rounder);
    if (number_rounds(&rounder) != 0)
        goto out;
    rounder.sums = calloc(trace->n_rounds + 1, sizeof *rounder.sums);
    rounder.bytes = calloc(trace->n_rounds + 1, sizeof *rounder.bytes);
    if (rounder.sums == NULL || rounder.bytes == NULL || fill_rounds(&rounder) != 0 || find_kinds(&rounder) != 0)
        goto out;
    result = in_mpi_measure(trace);
out:
    epochs_release(&rounder.epochs);
    map_release(&rounder.members);
    free(rounder.parent);
    free(rounder.round_of);
    free(rounder.sums);
    free(rounder.bytes);
    return result == 0 ? 0 : error_set(error, "no memory for the rounds of %zu steps", trace->n_steps);
}
