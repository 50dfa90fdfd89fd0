/* Writes GOAL, the text of which LogGOPSim's txt2bin makes schedules.
 *
 * An operation is a line with a label; it begins after what it requires has ended, and after what it irequires has
 * begun. Labels tell what they are: sM and rM are the send and the receive of message M, cN the computation before
 * step N, qN what step N spends in MPI, xM_K and yM_K what member M of a collective sends and receives in round K, wM
 * the recorded rest of it, iM and eM begin and end of a nonblocking one, bT and tT begin and end of thread T. A label
 * must stand before what refers to it, so the references of a rank with several threads stand at its end. */
#include <inttypes.h>
#include <stdlib.h>

#include "predictor/run_export/run_export.h"
#include "share/base/array.h"
#include "share/base/memory.h"

enum { MAX_PROCESSORS = 256 }; /* that LogGOPSim can number */

struct label {
    char kind;
    uint32_t number;
    uint32_t round; /* of x and y */
};
struct link {
    struct label label;
    bool begun; /* irequires */
};
struct goal {
    struct export_context *context;
    const struct run_program *program;
    struct link *links; /* [n_links] what the next operation waits for */
    size_t n_links;
    FILE *late; /* references, where they may be to labels below */
    char *late_text;
    size_t late_bytes;
    uint32_t rank;
    unsigned processor; /* the number of the thread */
    bool threads;
    struct export_clock computed, spent;
};

static void print_label(FILE *stream, struct label label)
{
    if (label.kind == 'x' || label.kind == 'y')
        fprintf(stream, "%c%" PRIu32 "_%" PRIu32, label.kind, label.number, label.round);
    else
        fprintf(stream, "%c%" PRIu32, label.kind, label.number);
}

static void print_link(FILE *stream, struct label label, const struct link *link)
{
    print_label(stream, label);
    fputs(link->begun ? " irequires " : " requires ", stream);
    print_label(stream, link->label);
    fputc('\n', stream);
}

static void add_link(struct goal *goal, struct label label, bool begun)
{
    array_grow(&goal->links, goal->n_links, sizeof *goal->links);
    goal->links[goal->n_links++] = (struct link){label, begun};
}

/* Makes the next operation wait for the end of that one, too. */
static void wait_for(struct goal *goal, struct label label)
{
    for (size_t i = 0; i < goal->n_links; i++) {
        struct link *link = &goal->links[i];
        if (link->label.kind == label.kind && link->label.number == label.number && link->label.round == label.round) {
            link->begun = false;
            return;
        }
    }
    add_link(goal, label, false);
}

/* Ends an operation's line, and writes what it waits for. */
static void end_line(struct goal *goal, struct label label)
{
    FILE *stream = goal->context->stream;
    if (goal->processor > 0)
        fprintf(stream, " cpu %u", goal->processor);
    fputc('\n', stream);
    for (size_t i = 0; i < goal->n_links; i++)
        print_link(goal->threads ? goal->late : stream, label, &goal->links[i]);
}

/* Makes what follows in the thread wait for that operation alone. */
static void goal_go_on(struct goal *goal, struct label label, bool begun)
{
    goal->n_links = 0;
    add_link(goal, label, begun);
}

static void goal_begin_line(struct goal *goal, struct label label)
{
    print_label(goal->context->stream, label);
    fputs(": ", goal->context->stream);
}

static void write_calc(struct goal *goal, struct label label, uint64_t ns)
{
    goal_begin_line(goal, label);
    fprintf(goal->context->stream, "calc %" PRIu64, ns);
    end_line(goal, label);
}

static void calc(struct goal *goal, struct label label, uint64_t ns)
{
    if (ns == 0)
        return;
    write_calc(goal, label, ns);
    goal_go_on(goal, label, false);
}

/* LogGOPSim counts the bytes after the first one: there must be one. */
static void goal_message_line(struct goal *goal, struct label label, bool receive, uint64_t bytes, uint32_t peer,
                              uint32_t tag)
{
    goal_begin_line(goal, label);
    fprintf(goal->context->stream, "%s %" PRIu64 "b %s %" PRIu32 " tag %" PRIu32, receive ? "recv" : "send",
            bytes > 0 ? bytes : 1, receive ? "from" : "to", peer, tag);
    end_line(goal, label);
}

static void goal_post(struct goal *goal, const struct run_step *step)
{
    const struct run_message *message = &goal->program->messages[step->object];
    bool receive = step->kind == STEP_RECEIVE, self = message->src == message->dst;
    struct label label = {.kind = receive ? 'r' : 's', .number = step->object};
    if (self && receive) /* is complete with its send */
        return;
    if (self) {
        write_calc(goal, label, 0);
    } else {
        goal_message_line(goal, label, receive, message->bytes, receive ? message->src : message->dst, step->object);
        goal->context->limits[LIMIT_SYNCHRONOUS] += !receive && (message->flags & MESSAGE_SYNCHRONOUS) != 0;
        goal->context->limits[LIMIT_ONE_SIDED] += (message->flags & MESSAGE_ONE_SIDED) != 0;
    }
    goal_go_on(goal, label, true);
}

static void wait_operations(struct goal *goal, const struct run_step *step)
{
    for (uint32_t i = 0; i < step->count; i++) {
        uint32_t operation = goal->program->waits[step->object + i], object = run_operation_object(operation);
        enum run_operation_kind kind = run_operation_kind(operation);
        if (kind == OPERATION_MEMBER) {
            wait_for(goal, (struct label){.kind = 'e', .number = object});
            continue;
        }
        const struct run_message *message = &goal->program->messages[object];
        bool at_once = kind == OPERATION_SEND && (message->flags & MESSAGE_BUFFERED) != 0;
        bool at_send = kind == OPERATION_SEND || message->src == message->dst;
        if (!at_once && goal->context->send_strand[object] != EXPORT_NOBODY)
            wait_for(goal, (struct label){.kind = at_send ? 's' : 'r', .number = object});
    }
}

/* Writes the rounds of a member. Afterwards the thread waits for the last one. */
static void goal_exchange(struct goal *goal, uint32_t member, bool nonblocking)
{
    const struct run_program *p = goal->program;
    const struct run_collective *collective = export_collective(goal->context, member);
    uint32_t tag = export_collective_tag(goal->context, member);
    for (unsigned k = 0; k < exchange_rounds(collective); k++) {
        struct exchange_round round = exchange_round(p, member, k);
        struct label sent = {'x', member, k}, received = {'y', member, k};
        if (round.from != EXPORT_NOBODY)
            goal_message_line(goal, received, true, round.received_bytes, p->members[round.from].rank, tag);
        if (round.to != EXPORT_NOBODY)
            goal_message_line(goal, sent, false, round.sent_bytes, p->members[round.to].rank, tag);
        if (round.to == EXPORT_NOBODY && round.from == EXPORT_NOBODY)
            continue;
        goal->n_links = 0;
        if (round.to != EXPORT_NOBODY)
            wait_for(goal, sent);
        if (round.from != EXPORT_NOBODY)
            wait_for(goal, received);
    }
    bool recorded = exchange_as_recorded(collective);
    goal->context->limits[recorded ? LIMIT_RECORDED : LIMIT_COLLECTIVES] += member == collective->first_member;
    if (recorded && !nonblocking)
        calc(goal, (struct label){.kind = 'w', .number = member}, export_ns(&goal->spent, p->members[member].after_s));
}

/* Begins a nonblocking collective: its messages follow from each other, the thread goes on at once. */
static void begin_exchange(struct goal *goal, uint32_t member)
{
    struct label begin = {.kind = 'i', .number = member}, end = {.kind = 'e', .number = member};
    write_calc(goal, begin, 0);
    goal_go_on(goal, begin, false);
    goal_exchange(goal, member, true);
    write_calc(goal, end, 0);
    goal_go_on(goal, begin, false);
}

static void goal_write_step(struct goal *goal, size_t number)
{
    const struct run_step *step = &goal->program->steps[number];
    calc(goal, (struct label){.kind = 'c', .number = (uint32_t)number}, export_ns(&goal->computed, step->compute_s));
    switch (step->kind) {
    case STEP_SEND:
    case STEP_RECEIVE:
        goal_post(goal, step);
        break;
    case STEP_WAIT:
        wait_operations(goal, step);
        break;
    case STEP_COLLECTIVE:
        goal_exchange(goal, step->object, false);
        break;
    case STEP_BEGIN:
        begin_exchange(goal, step->object);
        break;
    default:
        calc(goal, (struct label){.kind = 'q', .number = (uint32_t)number},
             export_ns(&goal->spent, export_idle_step(goal->context, step)));
    }
}

static void write_strand(struct goal *goal, uint32_t number)
{
    const struct run_strand *strand = &goal->program->strands[number];
    struct export_clock begin = {0};
    goal->computed = goal->spent = (struct export_clock){0};
    goal->n_links = 0;
    calc(goal, (struct label){.kind = 'b', .number = number},
         export_ns(&begin, strand->begin_s - goal->context->begin_s));
    for (size_t i = 0; i < strand->n_steps; i++)
        goal_write_step(goal, strand->first_step + i);
    /* A wait at the very end needs an operation that waits. */
    uint64_t tail_ns = export_ns(&goal->computed, strand->tail_s);
    if (tail_ns > 0 || goal->n_links > 0)
        write_calc(goal, (struct label){.kind = 't', .number = number}, tail_ns);
}

static void write_rank(struct goal *goal)
{
    struct export_context *context = goal->context;
    uint32_t first = context->first_strand[goal->rank], end = context->first_strand[goal->rank + 1];
    goal->threads = end - first > 1;
    goal->late = or_no_memory(open_memstream(&goal->late_text, &goal->late_bytes));
    fprintf(context->stream, "rank %" PRIu32 " {\n", goal->rank);
    goal->processor = 0;
    goal->n_links = 0;
    for (uint32_t i = context->one_sided[goal->rank]; i != EXPORT_NOBODY; i = context->next_one_sided[i])
        if (goal->program->messages[i].src != goal->rank)
            goal_message_line(goal, (struct label){.kind = 'r', .number = i}, true, goal->program->messages[i].bytes,
                              goal->program->messages[i].src, i);
    for (uint32_t strand = first; strand < end; strand++) {
        goal->processor = (strand - first) % MAX_PROCESSORS;
        write_strand(goal, strand);
    }
    if (fclose(goal->late) != 0)
        no_memory(0);
    fputs(goal->late_text, context->stream);
    free(goal->late_text);
    fputs("}\n", context->stream);
}

void goal_write(struct export_context *context)
{
    struct goal goal = {.context = context, .program = context->program};
    fprintf(context->stream, "num_ranks %zu\n", context->program->n_ranks);
    for (; goal.rank < context->program->n_ranks; goal.rank++)
        write_rank(&goal);
    free(goal.links);
}
