/* Steps of one round hang together by their parents (union and find), and in a list from the step that represents
 * it. */
#include "interpose/trace/stream/round_set.h"

uint32_t round_root(struct trace_step *steps, uint32_t step)
{
    while (steps[step].parent != step) {
        steps[step].parent = steps[steps[step].parent].parent;
        step = steps[step].parent;
    }
    return step;
}

void round_free_steps(struct rounds *rounds, uint32_t root)
{
    struct trace_step *steps = rounds->trace->steps;
    uint32_t last = steps[root].last;
    for (uint32_t i = root; i != TRACE_NONE; i = steps[i].next)
        steps[i].number = 0;
    steps[last].next = rounds->first_free;
    rounds->first_free = root;
}
