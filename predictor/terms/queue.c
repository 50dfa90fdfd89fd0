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
#include "predictor/models/model.h"
#include "predictor/pattern/traffic.h"

static int queue_add(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    const struct traffic *traffic = input->traffic;
    for (size_t rank = 0; rank < prediction->n_ranks; rank++) {
        uint64_t messages = 0;
        double step_s;
        for (size_t c = 0; c < traffic->n_classes; c++)
            messages += traffic->messages[INCOMING][rank * traffic->n_classes + c];
        double n = (double)messages;
        if (messages == 0)
            continue;
        if (machine_queue_step_s(input->machine, MACHINE_QUEUE_POSTED, n, &step_s, error) != 0)
            return -1;
        prediction->part_s[PART_QUEUE][rank] += step_s / 2 * n * n; /* B3 */
    }
    return 0;
}

const struct model_term queue_term = {
    .name = "queue", .summary = "the search of the queues of receives, at most", .add = queue_add};
