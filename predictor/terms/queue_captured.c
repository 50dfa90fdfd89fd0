/* +queue-captured and +queue-by-source add to any model what searching the queues of the MPI costs in the order in
 * which receives were posted and messages arrived.
 *
 * A. Bienz, W. D. Gropp and L. N. Olson, Improving Performance Models for Irregular Point-to-Point Communication,
 * EuroMPI 2018 (B), section 4.1, counted instead of bounded. A message that arrives is searched for among the posted
 * receives, a receive that is posted among the unexpected messages; who finds no partner joins his queue.
 *
 *   T_q = P_r c_r(L_r) + P_u c_u(L_u)
 *
 *   P_r, P_u   entries passed in the queue of posted receives,           queue_search.passed    -
 *              of unexpected messages; the partner found counts
 *   L_r, L_u   greatest length that a search of each met                 queue_search.longest   -
 *   c_r, c_u   cost of passing an entry of such a queue                  queue_step,            s
 *                                                                        queue_step_unexpected
 *
 * n messages, all receives posted before: P_r = n in their order, n(n + 1)/2 reversed, of which +queue is the bound.
 * c(L) is measured as +queue's: on a queue of L entries that becomes empty (calibrate/benchmark/queue.c), so L is the
 * length at its longest.
 *
 * The arrivals are inferred, as no MPI tells when a message arrives. Here it does a latency (tau of its class) after
 * its send was posted, and never before an earlier one of the same sender. Without times receives are posted first, and
 * messages arrive in the order of the list. Receives that stood before the round are in the queue when it begins, as
 * they were posted.
 *
 * queue-captured: one list for all senders and communicators, as in MPICH and CrayMPI. queue-by-source: Open MPI's ob1
 * has lists for each communicator and sender, and one for receives from any source; those look through the lists of one
 * sender after the other (pml_ob1_recvfrag.c, match_incomming; pml_ob1_recvreq.c, recv_req_match_wild).
 * Limits: MPIs look at the network only inside calls, so that a message may join the queues later than it arrives;
 * probes, and messages of other rounds that lie in a queue, are not counted; hash tables pass fewer. */
#include <stdlib.h>

#include "predictor/terms/queue_search.h"
#include "predictor/terms/terms.h"
#include "share/base/memory.h"

static int charge_search(const struct machine *machine, const struct queue_search *search, double *queue_s,
                         struct error *error)
{
    for (enum machine_queue queue = MACHINE_QUEUE_POSTED; queue < MACHINE_QUEUE_COUNT; queue++) {
        double step_s;
        if (search->passed[queue] == 0)
            continue;
        if (machine_queue_step_s(machine, queue, (double)search->longest[queue], &step_s, error) != 0)
            return -1;
        *queue_s += (double)search->passed[queue] * step_s;
    }
    return 0;
}

static int add_captured(enum queue_lists lists, const struct pattern *pattern, const struct placement *placement,
                        const struct machine *machine, struct prediction *prediction, struct error *error)
{
    struct traffic traffic;
    if (traffic_init(&traffic, pattern, placement, machine, error) != 0)
        return -1;
    struct queue_search *searches = xcalloc(traffic.n_ranks + 1, sizeof *searches);
    int result = 0;
    queue_search(&traffic, lists, searches);
    for (size_t rank = 0; result == 0 && rank < traffic.n_ranks; rank++)
        result = charge_search(machine, &searches[rank], &prediction->part_s[PART_QUEUE][rank], error);
    free(searches);
    traffic_release(&traffic);
    return result;
}

static int add_one_list(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                        const struct model_options *options, struct prediction *prediction, struct error *error)
{
    (void)options;
    return add_captured(QUEUE_ONE_LIST, pattern, placement, machine, prediction, error);
}

static int add_by_source(const struct pattern *pattern, const struct placement *placement,
                         const struct machine *machine, const struct model_options *options,
                         struct prediction *prediction, struct error *error)
{
    (void)options;
    return add_captured(QUEUE_BY_SOURCE, pattern, placement, machine, prediction, error);
}

const struct model_term queue_captured_term = {.name = "queue-captured",
                                               .summary =
                                                   "that search in the order that was recorded, arrivals inferred",
                                               .post_times = true,
                                               .inferred = true,
                                               .add = add_one_list};
const struct model_term queue_by_source_term = {.name = "queue-by-source",
                                                .summary = "the same with a list for each source, as Open MPI has",
                                                .post_times = true,
                                                .inferred = true,
                                                .add = add_by_source};
