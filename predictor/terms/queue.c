/* +queue adds to any model what searching the queues of the MPI costs at most.
 *
 * A. Bienz, W. D. Gropp and L. N. Olson, Improving Performance Models for Irregular Point-to-Point Communication,
 * EuroMPI 2018 (B), equation 3:
 *
 *   T_q = gamma n^2
 *
 *   n       incoming messages of the rank in the round, over all levels    messages   -
 *   gamma   half of what one step through a queue costs                    step_s/2   s
 *
 * gamma = c(n)/2, c from the machine's table over depth (`queue_step`), or its `gamma`. It is an upper bound: in the
 * worst order n(n+1)/2 entries are passed, in order n (share/doc/MODELS.md, Queue search). Limits: it knows neither
 * the order of arrival nor an MPI that finds messages by hashing. */
#include <stdlib.h>

#include "predictor/models/model.h"
#include "share/base/memory.h"

static int queue_add(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                     const struct model_options *options, struct prediction *prediction, struct error *error)
{
    (void)placement;
    (void)options;
    uint64_t *messages = xcalloc(prediction->n_ranks + 1, sizeof *messages);
    int result = 0;
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (pattern->src[k] != pattern->dst[k])
            messages[pattern->dst[k]]++;
    for (size_t rank = 0; result == 0 && rank < prediction->n_ranks; rank++) {
        double n = (double)messages[rank], step_s;
        if (messages[rank] == 0)
            continue;
        result = machine_queue_step_s(machine, MACHINE_QUEUE_POSTED, n, &step_s, error);
        if (result == 0)
            prediction->part_s[PART_QUEUE][rank] += step_s / 2 * n * n; /* B3 */
    }
    free(messages);
    return result;
}

const struct model_term queue_term = {
    .name = "queue", .summary = "the search of the queues of receives, at most", .add = queue_add};
