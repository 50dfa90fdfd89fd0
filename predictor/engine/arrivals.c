/* All messages are sorted once by queue and size. The selected ones are sorted by begin with a stable sort, which
 * leaves equal begins as they were: what begins together in a queue is in the order of its sizes. */
#include "predictor/engine/arrivals.h"

#include <stdlib.h>

#include "predictor/engine/moves.h"

int arrivals_init(struct arrivals *arrivals, const struct traffic *traffic, unsigned levels, enum direction direction,
                  const uint32_t *queue_of, size_t n_queues)
{
    const struct pattern *pattern = traffic->pattern;
    *arrivals = (struct arrivals){.traffic = traffic, .timed = pattern->send_s != NULL || pattern->recv_s != NULL};
    if (pattern->n_messages > UINT32_MAX)
        return -1;
    return size_order_init(&arrivals->order, traffic, levels, direction, queue_of, n_queues);
}

static void run_release(struct radix_run *run)
{
    free(run->key);
    free(run->id);
}

static int run_init(struct radix_run *run, size_t n)
{
    *run = (struct radix_run){malloc((n + 1) * sizeof *run->key), malloc((n + 1) * sizeof *run->id)};
    return run->key != NULL && run->id != NULL ? 0 : -1;
}

void arrivals_release(struct arrivals *arrivals)
{
    run_release(&arrivals->selected);
    run_release(&arrivals->spare);
    size_order_release(&arrivals->order);
    *arrivals = (struct arrivals){0};
}

static int reserve(struct arrivals *arrivals, size_t n)
{
    if (n <= arrivals->capacity)
        return 0;
    run_release(&arrivals->selected);
    run_release(&arrivals->spare);
    arrivals->capacity = 0;
    int selected = run_init(&arrivals->selected, n), spare = run_init(&arrivals->spare, n);
    if (selected != 0 || spare != 0)
        return -1;
    arrivals->capacity = n;
    return 0;
}

int arrivals_select(struct arrivals *arrivals, size_t first_queue, size_t end_queue)
{
    const struct size_order *order = &arrivals->order;
    arrivals->from = order->first[first_queue];
    arrivals->n = order->first[end_queue] - arrivals->from;
    if (!arrivals->timed)
        return 0;
    if (reserve(arrivals, arrivals->n) != 0)
        return -1;
    for (size_t i = 0; i < arrivals->n; i++) {
        size_t place = arrivals->from + i;
        arrivals->selected.key[i] = radix_key(moves_begin_s(arrivals->traffic, order->message[place]));
        arrivals->selected.id[i] = (uint32_t)place;
    }
    radix_sort(arrivals->selected, arrivals->n, arrivals->spare);
    return 0;
}
