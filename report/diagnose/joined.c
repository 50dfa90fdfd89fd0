/* Goes through the strands' steps, each strand as far as what it waits for has been gone through. See joined.h. */
#include "report/diagnose/joined.h"

#include <stdlib.h>
#include <string.h>

#define NOT_YET UINT32_MAX
#define NOBODY  UINT32_MAX

struct meeting {
    uint32_t n_arrived, depth; /* the largest of those that arrived */
    bool root_arrived;
};

struct depths {
    const struct run_program *program;
    struct pair_sums *pairs;
    size_t *step;             /* [n_strands] at which each is */
    uint32_t *depth;          /* [n_strands] */
    uint32_t *done;           /* [n_strands] what of its step is done: operations that came, 1 for an arrival */
    uint32_t *message_depth;  /* [n_messages] of its sender, NOT_YET until it is sent */
    uint32_t *last_depth;     /* [n_rank_pairs] of the pair's last message */
    struct meeting *meetings; /* [n_collectives] */
    uint32_t *blocked;        /* [n_messages + n_collectives] the last strand that waits for it */
    uint32_t *next;           /* [n_strands] the one before it; of those that can go on as well */
    uint32_t going;           /* the first of those that can go on */
};

static void wake(struct depths *depths, size_t object)
{
    uint32_t strand = depths->blocked[object];
    depths->blocked[object] = NOBODY;
    while (strand != NOBODY) {
        uint32_t next = depths->next[strand];
        depths->next[strand] = depths->going;
        depths->going = strand;
        strand = next;
    }
}

/* Lets a strand wait for an object. Returns false, for the caller to return. */
static bool block(struct depths *depths, uint32_t strand, size_t object)
{
    depths->next[strand] = depths->blocked[object];
    depths->blocked[object] = strand;
    return false;
}

static void deepen(struct depths *depths, uint32_t strand, uint32_t depth)
{
    depths->depth[strand] = depth > depths->depth[strand] ? depth : depths->depth[strand];
}

static void send(struct depths *depths, uint32_t strand, const struct run_step *step)
{
    const struct run_message *message = &depths->program->messages[step->object];
    uint32_t depth = depths->depth[strand], site = depths->program->places[step->place].site;
    uint32_t pair =
        map_find(&depths->pairs->ranks, (struct map_key){(uint64_t)message->src << 32 | message->dst, site, 0});
    if (pair != MAP_ABSENT) {
        depths->pairs->rank_pairs[pair].joined += depths->last_depth[pair] == depth;
        depths->last_depth[pair] = depth;
    }
    depths->message_depth[step->object] = depth;
    wake(depths, step->object);
}

/* Each of these returns false where the strand must wait first. */

static bool receive(struct depths *depths, uint32_t strand, uint32_t object)
{
    const struct run_message *message = &depths->program->messages[object];
    if (depths->message_depth[object] == NOT_YET && (message->flags & MESSAGE_ONE_SIDED) == 0)
        return block(depths, strand, object);
    if (message->src != message->dst && depths->message_depth[object] != NOT_YET)
        deepen(depths, strand, depths->message_depth[object] + 1);
    return true;
}

static void arrive(struct depths *depths, uint32_t strand, uint32_t member)
{
    uint32_t number = depths->program->members[member].collective;
    const struct run_collective *collective = &depths->program->collectives[number];
    struct meeting *meeting = &depths->meetings[number];
    meeting->n_arrived++;
    meeting->depth = depths->depth[strand] > meeting->depth ? depths->depth[strand] : meeting->depth;
    meeting->root_arrived = meeting->root_arrived || member == collective->first_member + collective->root;
    wake(depths, depths->program->n_messages + number);
}

static bool meet(struct depths *depths, uint32_t strand, uint32_t member)
{
    uint32_t number = depths->program->members[member].collective;
    const struct run_collective *collective = &depths->program->collectives[number];
    const struct meeting *meeting = &depths->meetings[number];
    bool all = meeting->n_arrived == collective->n_members;
    bool is_root = member == collective->first_member + collective->root;
    switch ((enum run_dependence)collective->dependence) {
    case DEPENDS_ON_ALL:
        break;
    case DEPENDS_ON_ROOT:
        all = all || meeting->root_arrived;
        break;
    case DEPENDS_OF_ROOT:
        all = all || !is_root;
        break;
    case DEPENDS_ON_LOWER: /* nobody says which have come; what those have counts */
    case DEPENDS_ON_NOBODY:
        all = true;
    }
    if (!all)
        return block(depths, strand, depths->program->n_messages + number);
    bool alone = collective->dependence == DEPENDS_ON_NOBODY || collective->n_members < 2 ||
                 (collective->dependence == DEPENDS_OF_ROOT && !is_root) ||
                 (collective->dependence == DEPENDS_ON_ROOT && is_root);
    if (!alone)
        deepen(depths, strand, meeting->depth + 1);
    return true;
}

static bool await(struct depths *depths, uint32_t strand, const struct run_step *step)
{
    for (; depths->done[strand] < step->count; depths->done[strand]++) {
        uint32_t operation = depths->program->waits[step->object + depths->done[strand]];
        uint32_t object = run_operation_object(operation);
        enum run_operation_kind kind = run_operation_kind(operation);
        if (kind == OPERATION_RECEIVE && !receive(depths, strand, object))
            return false;
        if (kind == OPERATION_MEMBER && !meet(depths, strand, object))
            return false;
    }
    return true;
}

static bool act(struct depths *depths, uint32_t strand, const struct run_step *step)
{
    switch ((enum run_step_kind)step->kind) {
    case STEP_SEND:
        send(depths, strand, step);
        return true;
    case STEP_WAIT:
        return await(depths, strand, step);
    case STEP_PROBE:
        return receive(depths, strand, step->object);
    case STEP_COLLECTIVE:
        if (depths->done[strand]++ == 0)
            arrive(depths, strand, step->object);
        return meet(depths, strand, step->object);
    case STEP_BEGIN:
        arrive(depths, strand, step->object);
        return true;
    case STEP_RECEIVE:
    case STEP_SPEND:
        break;
    }
    return true;
}

static void go_through(struct depths *depths)
{
    const struct run_program *program = depths->program;
    while (depths->going != NOBODY) {
        uint32_t strand = depths->going;
        const struct run_strand *told = &program->strands[strand];
        depths->going = depths->next[strand];
        for (; depths->step[strand] < told->first_step + told->n_steps; depths->step[strand]++) {
            if (!act(depths, strand, &program->steps[depths->step[strand]]))
                break;
            depths->done[strand] = 0;
        }
    }
}

int joined_count(const struct run_program *program, struct pair_sums *pairs)
{
    size_t n_objects = program->n_messages + program->n_collectives, n_strands = program->n_strands;
    struct depths depths = {.program = program,
                            .pairs = pairs,
                            .step = malloc((n_strands + 1) * sizeof *depths.step),
                            .depth = calloc(n_strands + 1, sizeof *depths.depth),
                            .done = calloc(n_strands + 1, sizeof *depths.done),
                            .message_depth = malloc((program->n_messages + 1) * sizeof *depths.message_depth),
                            .last_depth = malloc((pairs->n_rank_pairs + 1) * sizeof *depths.last_depth),
                            .meetings = calloc(program->n_collectives + 1, sizeof *depths.meetings),
                            .blocked = malloc((n_objects + 1) * sizeof *depths.blocked),
                            .next = malloc((n_strands + 1) * sizeof *depths.next),
                            .going = NOBODY};
    bool whole = depths.step != NULL && depths.depth != NULL && depths.done != NULL && depths.message_depth != NULL &&
                 depths.last_depth != NULL && depths.meetings != NULL && depths.blocked != NULL && depths.next != NULL;
    if (whole) {
        memset(depths.message_depth, 0xff, program->n_messages * sizeof *depths.message_depth);
        memset(depths.last_depth, 0xff, pairs->n_rank_pairs * sizeof *depths.last_depth);
        memset(depths.blocked, 0xff, n_objects * sizeof *depths.blocked);
        for (uint32_t strand = 0; strand < n_strands; strand++) {
            depths.step[strand] = program->strands[strand].first_step;
            depths.next[strand] = depths.going;
            depths.going = strand;
        }
        go_through(&depths);
    }
    free(depths.step);
    free(depths.depth);
    free(depths.done);
    free(depths.message_depth);
    free(depths.last_depth);
    free(depths.meetings);
    free(depths.blocked);
    free(depths.next);
    return whole ? 0 : -1;
}
