/* Writes a time-independent trace for the replay of SMPI, SimGrid: a line an action, "PROCESS ACTION ...".
 *
 * A process is a thread, as an SMPI process does one thing after the other; where each rank has one thread, it is
 * the rank. Computation is written in ns, for hosts of 1 Gflop/s; what is no computation sleeps. Requests are known
 * by sender, receiver and tag: each message has a tag of its own. A collective of all ranks is itself, others are
 * messages. */
#include <inttypes.h>
#include <limits.h>

#include "predictor/run_export/run_export.h"

struct tit {
    struct export_context *context;
    const struct run_program *program;
    uint32_t process;
    uint64_t open; /* requests that nothing has waited for */
    struct export_clock computed;
};

static FILE *tit_begin_line(struct tit *tit, const char *action)
{
    fprintf(tit->context->stream, "%" PRIu32 " %s", tit->process, action);
    return tit->context->stream;
}

static void tit_compute(struct tit *tit, double seconds)
{
    uint64_t ns = export_ns(&tit->computed, seconds);
    if (ns > 0)
        fprintf(tit_begin_line(tit, "compute"), " %" PRIu64 "\n", ns);
}

static void take_time(struct tit *tit, double seconds)
{
    if (seconds > 0)
        fprintf(tit_begin_line(tit, "sleep"), " %.9f\n", seconds);
}

/* A receive without bytes would look for its message before anything else. */
static void tit_post(struct tit *tit, const char *action, bool receive, uint32_t peer, uint32_t tag, uint64_t bytes)
{
    fprintf(tit_begin_line(tit, action), " %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", peer, tag,
            receive && bytes == 0 ? 1 : bytes);
    tit->open += action[0] == 'i';
}

static void wait_one(struct tit *tit, uint32_t src, uint32_t dst, uint32_t tag)
{
    fprintf(tit_begin_line(tit, "wait"), " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", src, dst, tag);
    tit->open--;
}

/* A message of a process to itself costs nothing, and its two requests could not be told apart. */
static bool is_written(const struct tit *tit, uint32_t message)
{
    const struct export_context *context = tit->context;
    return context->send_strand[message] != EXPORT_NOBODY &&
           context->send_strand[message] != context->receive_strand[message];
}

static void post_step(struct tit *tit, const struct run_step *step, bool blocks)
{
    struct export_context *context = tit->context;
    const struct run_message *message = &tit->program->messages[step->object];
    bool receive = step->kind == STEP_RECEIVE;
    if (!is_written(tit, step->object))
        return;
    const char *action = receive ? blocks ? "recv" : "irecv" : blocks ? "send" : "isend";
    uint32_t peer = receive ? context->send_strand[step->object] : context->receive_strand[step->object];
    tit_post(tit, action, receive, peer, step->object, message->bytes);
    context->limits[LIMIT_SYNCHRONOUS] += !receive && (message->flags & MESSAGE_SYNCHRONOUS) != 0;
    context->limits[LIMIT_ONE_SIDED] += (message->flags & MESSAGE_ONE_SIDED) != 0;
}

/* Returns whether the post at that step and the wait after it are one blocking call. */
static bool blocks(const struct tit *tit, size_t number)
{
    const struct run_step *step = &tit->program->steps[number], *next = step + 1;
    if ((step->kind != STEP_SEND && step->kind != STEP_RECEIVE) || (step->flags & STEP_LEAVES) != 0 ||
        next->kind != STEP_WAIT || next->count != 1 ||
        (tit->program->messages[step->object].flags & (MESSAGE_BUFFERED | MESSAGE_ONE_SIDED)) != 0)
        return false;
    enum run_operation_kind kind = step->kind == STEP_SEND ? OPERATION_SEND : OPERATION_RECEIVE;
    return tit->program->waits[next->object] == run_operation(step->object, kind);
}

/* Waits for the rounds of a nonblocking collective, if write; returns how many requests they are. */
static uint32_t wait_rounds(struct tit *tit, uint32_t member, bool write)
{
    const struct export_context *context = tit->context;
    uint32_t tag = export_collective_tag(context, member), n = 0;
    for (unsigned k = 0; k < exchange_rounds(export_collective(context, member)); k++) {
        struct exchange_round round = exchange_round(tit->program, member, k);
        n += (round.from != EXPORT_NOBODY ? 1U : 0U) + (round.to != EXPORT_NOBODY ? 1U : 0U);
        if (write && round.from != EXPORT_NOBODY)
            wait_one(tit, context->member_strand[round.from], tit->process, tag);
        if (write && round.to != EXPORT_NOBODY)
            wait_one(tit, tit->process, context->member_strand[round.to], tag);
    }
    return n;
}

/* Waits for an operation, if write; returns how many requests it is. */
static uint32_t wait_operation(struct tit *tit, uint32_t operation, bool write)
{
    struct export_context *context = tit->context;
    uint32_t object = run_operation_object(operation);
    enum run_operation_kind kind = run_operation_kind(operation);
    uint32_t owner = kind == OPERATION_MEMBER ? context->member_strand[object]
                     : kind == OPERATION_SEND ? context->send_strand[object]
                                              : context->receive_strand[object];
    if (owner != tit->process) {
        context->limits[LIMIT_FOREIGN] += write && owner != EXPORT_NOBODY;
        return 0;
    }
    if (kind == OPERATION_MEMBER)
        return wait_rounds(tit, object, write);
    if (!is_written(tit, object) ||
        (kind == OPERATION_SEND && (tit->program->messages[object].flags & MESSAGE_BUFFERED) != 0))
        return 0;
    if (write)
        wait_one(tit, context->send_strand[object], context->receive_strand[object], object);
    return 1;
}

static void wait_step(struct tit *tit, const struct run_step *step)
{
    const uint32_t *waits = tit->program->waits + step->object;
    uint64_t n = 0;
    for (uint32_t i = 0; i < step->count; i++)
        n += wait_operation(tit, waits[i], false);
    bool all = n > 1 && n == tit->open;
    if (all) {
        fputs("\n", tit_begin_line(tit, "waitall"));
        tit->open = 0;
    }
    for (uint32_t i = 0; !all && i < step->count; i++)
        wait_operation(tit, waits[i], true);
}

static void tit_exchange(struct tit *tit, uint32_t member, bool nonblocking)
{
    const struct export_context *context = tit->context;
    const struct run_collective *collective = export_collective(context, member);
    uint32_t tag = export_collective_tag(context, member);
    for (unsigned k = 0; k < exchange_rounds(collective); k++) {
        struct exchange_round round = exchange_round(tit->program, member, k);
        bool both = nonblocking || (round.to != EXPORT_NOBODY && round.from != EXPORT_NOBODY);
        uint32_t to = round.to != EXPORT_NOBODY ? context->member_strand[round.to] : 0;
        uint32_t from = round.from != EXPORT_NOBODY ? context->member_strand[round.from] : 0;
        if (round.from != EXPORT_NOBODY)
            tit_post(tit, both ? "irecv" : "recv", true, from, tag, round.received_bytes);
        if (round.to != EXPORT_NOBODY)
            tit_post(tit, both ? "isend" : "send", false, to, tag, round.sent_bytes);
        if (both && !nonblocking) {
            wait_one(tit, from, tit->process, tag);
            wait_one(tit, tit->process, to, tag);
        }
    }
}

/* Returns the bytes of a block: of each member, but the root of a Scatter hands in what the others get. */
static double block_bytes(const struct run_program *p, const struct run_collective *c)
{
    bool from_root = c->kind == COLLECTIVE_SCATTER && c->root == 0 && c->n_members > 1;
    return p->members[c->first_member + from_root].bytes;
}

/* Returns whether SMPI has the collective: of all ranks, in their order, with the same bytes each. */
static bool same_for_all(const struct export_context *context, const struct run_collective *c)
{
    const struct run_program *p = context->program;
    if (p->n_strands != p->n_ranks || c->n_members != p->n_ranks || exchange_as_recorded(c) ||
        block_bytes(p, c) > INT_MAX)
        return false;
    for (uint32_t i = 0; i < c->n_members; i++) {
        const struct run_member *member = &p->members[c->first_member + i];
        bool hands_in_all = c->kind == COLLECTIVE_SCATTER && i == c->root;
        if (member->rank != i ||
            (!hands_in_all && (member->bytes < block_bytes(p, c) || member->bytes > block_bytes(p, c))))
            return false;
    }
    return true;
}

static bool is_native(const struct export_context *context, uint32_t member)
{
    uint8_t *seen = &context->collectives[context->program->members[member].collective];
    if ((*seen & (COLLECTIVE_NATIVE | COLLECTIVE_MESSAGES | COLLECTIVE_BEGUN)) == 0)
        *seen |= same_for_all(context, export_collective(context, member)) ? COLLECTIVE_NATIVE : COLLECTIVE_MESSAGES;
    return (*seen & COLLECTIVE_NATIVE) != 0;
}

static const char *const native_name[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_BARRIER] = "barrier",     [COLLECTIVE_BCAST] = "bcast",
    [COLLECTIVE_REDUCE] = "reduce",       [COLLECTIVE_ALLREDUCE] = "allreduce",
    [COLLECTIVE_GATHER] = "gather",       [COLLECTIVE_SCATTER] = "scatter",
    [COLLECTIVE_ALLGATHER] = "allgather", [COLLECTIVE_ALLTOALL] = "alltoall",
    [COLLECTIVE_SCAN] = "scan",           [COLLECTIVE_REDUCE_SCATTER] = "reducescatter",
};

static void write_native(struct tit *tit, uint32_t member)
{
    const struct run_collective *c = export_collective(tit->context, member);
    uint64_t bytes = (uint64_t)block_bytes(tit->program, c);
    uint32_t root = c->root == UINT32_MAX ? 0 : c->root;
    FILE *stream = tit_begin_line(tit, native_name[c->kind]);
    switch (c->kind) {
    case COLLECTIVE_BCAST:
        fprintf(stream, " %" PRIu64 " %" PRIu32, bytes, root);
        break;
    case COLLECTIVE_REDUCE:
        fprintf(stream, " %" PRIu64 " 0 %" PRIu32, bytes, root);
        break;
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_SCAN:
        fprintf(stream, " %" PRIu64 " 0", bytes);
        break;
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
        fprintf(stream, " %" PRIu64 " %" PRIu64 " %" PRIu32, bytes, bytes, root);
        break;
    case COLLECTIVE_ALLGATHER:
        fprintf(stream, " %" PRIu64 " %" PRIu64, bytes, bytes);
        break;
    case COLLECTIVE_ALLTOALL:
        fprintf(stream, " %" PRIu64 " %" PRIu64, bytes / c->n_members, bytes / c->n_members);
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        for (uint32_t i = 0; i < c->n_members; i++)
            fprintf(stream, " %" PRIu64, bytes / c->n_members + (i < bytes % c->n_members));
        fputs(" 0", stream);
        break;
    default:
        break;
    }
    fputc('\n', stream);
}

static void write_member(struct tit *tit, uint32_t member, bool nonblocking)
{
    struct export_context *context = tit->context;
    const struct run_collective *collective = export_collective(context, member);
    if (is_native(context, member)) {
        write_native(tit, member);
        return;
    }
    tit_exchange(tit, member, nonblocking);
    bool recorded = exchange_as_recorded(collective);
    if (recorded && !nonblocking)
        take_time(tit, tit->program->members[member].after_s);
    if (member == collective->first_member)
        context->limits[recorded ? LIMIT_RECORDED : nonblocking ? LIMIT_NONBLOCKING : LIMIT_COLLECTIVES]++;
}

/* Returns how many steps it wrote. */
static size_t tit_write_step(struct tit *tit, size_t number)
{
    const struct run_step *step = &tit->program->steps[number];
    bool both = blocks(tit, number);
    tit_compute(tit, step->compute_s);
    switch (step->kind) {
    case STEP_SEND:
    case STEP_RECEIVE:
        post_step(tit, step, both);
        break;
    case STEP_WAIT:
        wait_step(tit, step);
        break;
    case STEP_COLLECTIVE:
    case STEP_BEGIN:
        write_member(tit, step->object, step->kind == STEP_BEGIN);
        break;
    default:
        take_time(tit, export_idle_step(tit->context, step));
    }
    return both ? 2 : 1;
}

static void write_process(struct export_context *context, uint32_t process)
{
    const struct run_program *p = context->program;
    const struct run_strand *strand = &p->strands[process];
    struct tit tit = {.context = context, .program = p, .process = process};
    fputs("\n", tit_begin_line(&tit, "init"));
    if (p->n_strands != p->n_ranks)
        fprintf(context->stream, "# a thread of rank %" PRIu32 "\n", strand->rank);
    bool first = context->first_strand[strand->rank] == process;
    context->limits[LIMIT_THREADS] += !first;
    for (uint32_t i = first ? context->one_sided[strand->rank] : EXPORT_NOBODY; i != EXPORT_NOBODY;
         i = context->next_one_sided[i])
        if (is_written(&tit, i))
            tit_post(&tit, "irecv", true, context->send_strand[i], i, p->messages[i].bytes);
    take_time(&tit, strand->begin_s - context->begin_s);
    for (size_t i = strand->first_step; i < strand->first_step + strand->n_steps;)
        i += tit_write_step(&tit, i);
    tit_compute(&tit, strand->tail_s);
    fputs("\n", tit_begin_line(&tit, "finalize"));
}

void tit_write(struct export_context *context)
{
    for (size_t i = 0; i < context->program->n_strands; i++)
        write_process(context, (uint32_t)i);
}
