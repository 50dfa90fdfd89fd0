/* Opens the files, finds out who posts what, and notes on stderr what a format cannot express. */
#include "predictor/run_export/run_export.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/output_file.h"

static const char *const limit_text[LIMIT_COUNT] = {
    [LIMIT_COLLECTIVES] = "collectives, as messages",
    [LIMIT_RECORDED] = "collectives of recorded length, as messages without bytes and that time",
    [LIMIT_NONBLOCKING] = "nonblocking collectives, as rounds that do not wait for each other",
    [LIMIT_ONE_SIDED] = "one-sided transfers, as messages whose sender does not wait for the delivery",
    [LIMIT_SYNCHRONOUS] = "synchronous sends, as plain ones",
    [LIMIT_PROBES] = "probes, left out",
    [LIMIT_SPENDING] = "calls without messages, as time",
    [LIMIT_THREADS] = "further threads, as processes of their own",
    [LIMIT_FOREIGN] = "waits for what another thread posted, left out",
};

static void context_release(struct export_context *context)
{
    FREE_ALL(context->first_strand, context->send_strand, context->receive_strand, context->member_strand,
             context->collectives, context->one_sided, context->next_one_sided);
}

static uint32_t *nobodies(size_t n)
{
    uint32_t *numbers = xcalloc(n, sizeof *numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = EXPORT_NOBODY;
    return numbers;
}

static void find_posts(struct export_context *context)
{
    const struct run_program *p = context->program;
    context->begin_s = p->n_strands > 0 ? p->strands[0].begin_s : 0;
    for (size_t i = p->n_strands; i-- > 0;) {
        const struct run_strand *strand = &p->strands[i];
        context->first_strand[strand->rank] = (uint32_t)i;
        context->begin_s = fmin(context->begin_s, strand->begin_s);
        for (size_t k = strand->first_step; k < strand->first_step + strand->n_steps; k++) {
            const struct run_step *step = &p->steps[k];
            if (step->kind == STEP_SEND)
                context->send_strand[step->object] = (uint32_t)i;
            else if (step->kind == STEP_RECEIVE)
                context->receive_strand[step->object] = (uint32_t)i;
            else if (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN)
                context->member_strand[step->object] = (uint32_t)i;
            if (step->kind == STEP_BEGIN)
                context->collectives[p->members[step->object].collective] = COLLECTIVE_BEGUN;
        }
    }
    context->first_strand[p->n_ranks] = (uint32_t)p->n_strands;
    for (size_t i = p->n_messages; i-- > 0;) {
        const struct run_message *message = &p->messages[i];
        if ((message->flags & MESSAGE_ONE_SIDED) == 0 || context->send_strand[i] == EXPORT_NOBODY)
            continue;
        context->receive_strand[i] = context->first_strand[message->dst];
        context->next_one_sided[i] = context->one_sided[message->dst];
        context->one_sided[message->dst] = (uint32_t)i;
    }
}

/* A message or a collective that not all post has no place in a format: whoever read it would wait without end. */
static int check_posts(const struct export_context *context, struct error *error)
{
    const struct run_program *p = context->program;
    if (p->n_messages + p->n_collectives > INT_MAX)
        return error_set(error, "%zu messages and collectives: expected at most %d, as each has a tag of its own",
                         p->n_messages + p->n_collectives, INT_MAX);
    for (size_t i = 0; i < p->n_messages; i++)
        if ((context->send_strand[i] == EXPORT_NOBODY) != (context->receive_strand[i] == EXPORT_NOBODY))
            return error_set(error, "message %zu from rank %u to rank %u is posted at one end only", i,
                             p->messages[i].src, p->messages[i].dst);
    for (size_t i = 0; i < p->n_members; i++)
        if (context->member_strand[i] == EXPORT_NOBODY)
            return error_set(error, "rank %u does not come to a collective that it is a member of", p->members[i].rank);
    return 0;
}

static int context_init(struct export_context *context, const struct run_program *p, struct error *error)
{
    *context = (struct export_context){.program = p};
    context->first_strand = nobodies(p->n_ranks + 1);
    context->send_strand = nobodies(p->n_messages);
    context->receive_strand = nobodies(p->n_messages);
    context->next_one_sided = nobodies(p->n_messages);
    context->one_sided = nobodies(p->n_ranks);
    context->member_strand = nobodies(p->n_members);
    context->collectives = xcalloc(p->n_collectives, 1);
    find_posts(context);
    return check_posts(context, error);
}

static void print_limits(const struct export_context *context, const char *path)
{
    const char *between = ": not as it was: ";
    bool any = false;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        any = any || context->limits[i] > 0;
    if (!any)
        return;
    struct error shown;
    error_set(&shown, "%s", strcmp(path, "-") == 0 ? "standard output" : path); /* bytes fit for a terminal */
    fprintf(stderr, "mpistair: %s", shown.text);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (context->limits[i] > 0) {
            fprintf(stderr, "%s%" PRIu64 " %s", between, context->limits[i], limit_text[i]);
            if (i == LIMIT_SPENDING)
                fprintf(stderr, " (%.6g s)", context->spent_s);
            between = "; ";
        }
    fprintf(stderr, "\n");
}

double export_idle_step(struct export_context *context, const struct run_step *step)
{
    if (step->kind == STEP_PROBE) {
        context->limits[LIMIT_PROBES]++;
        return 0;
    }
    context->limits[LIMIT_SPENDING] += step->spent_s > 0;
    context->spent_s += step->spent_s;
    return step->spent_s;
}

static int write_one(struct export_context *context, const char *path, void (*write)(struct export_context *context),
                     struct error *error)
{
    struct output_file output;
    if (output_file_open(&output, path, error) != 0)
        return -1;
    context->stream = output.stream;
    context->spent_s = 0;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        context->limits[i] = 0;
    write(context);
    if (output_file_commit(&output, error) != 0)
        return -1;
    print_limits(context, path);
    return 0;
}

int run_export(const struct run_program *program, const char *goal, const char *tit, struct error *error)
{
    struct export_context context;
    if (goal == NULL && tit == NULL)
        return 0;
    if (program->n_bursts > 0)
        return error_set(
            error,
            "--goal, --tit: only %zu bursts of the run are known, and a file for a simulator would need all of it",
            program->n_bursts);
    int code = context_init(&context, program, error);
    if (code == 0 && goal != NULL)
        code = write_one(&context, goal, goal_write, error);
    if (code == 0 && tit != NULL)
        code = write_one(&context, tit, tit_write, error);
    context_release(&context);
    return code;
}
