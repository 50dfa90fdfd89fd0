/* node-aware takes messages within a node one after the other, those between nodes through an injection limit.
 *
 * A. Bienz, W. D. Gropp and L. N. Olson, Improving Performance Models for Irregular Point-to-Point Communication,
 * EuroMPI 2018 (B), equations 1 and 2 with the parameters of its Table 1, per protocol:
 *
 *   T = sum over on-node messages of (alpha + s / R_b) + sum over protocols of (M alpha + ppn V / min(R_N, ppn R_b))
 *
 * over the outgoing messages of a rank. A. Bienz, L. N. Olson, W. D. Gropp and S. Lockhart, Modeling Data Movement
 * Performance on Heterogeneous Architectures, HPEC 2021, prints equation 2 with `max` for `min` and a trailing `beta *
 * s`, both misprints (share/doc/MODELS.md, node-aware).
 *
 *   alpha   latency of a message                                    message_class.tau_s     s
 *   R_b     bandwidth of one pair, BW(1)                            single_bytes_per_s      B/s
 *   R_N     rate at which a node injects data; infinite for short   injection_bytes_per_s   B/s
 *           and eager messages
 *   ppn     ranks of the node that send between nodes               senders                 -
 *   M, V    outgoing messages between nodes of a protocol, bytes    traffic.messages, bytes
 *
 * Limits: it knows no receiver, so incast is beyond it; all ranks of a node are taken to send V at once. */
#include <math.h>
#include <stdlib.h>

#include "predictor/models/model.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/traffic.h"
#include "share/base/memory.h"

/* Counts the ranks of each node with a message between nodes: senders[n_groups]. */
static void count_senders(const struct traffic *traffic, const struct grouping *nodes, uint32_t *senders)
{
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        for (size_t c = 0; c < traffic->n_classes; c++)
            if (traffic->classes[c].level == LEVEL_INTER_NODE &&
                traffic->messages[OUTGOING][rank * traffic->n_classes + c] > 0) {
                senders[nodes->of[rank]]++;
                break;
            }
}

static double transfer_s(const struct message_class *class, double bytes, double single_bytes_per_s,
                         double injection_bytes_per_s, double ppn)
{
    if (class->level != LEVEL_INTER_NODE)
        return bytes / single_bytes_per_s; /* B1 */
    if (!(bytes > 0))
        return 0;
    double together = ppn * single_bytes_per_s;
    return ppn * bytes / (together < injection_bytes_per_s ? together : injection_bytes_per_s); /* B2 */
}

static void node_aware_predict(const struct model_input *input, struct prediction *prediction)
{
    const struct traffic *traffic = input->traffic;
    struct grouping nodes;
    uint32_t *senders = xcalloc(input->placement->n_ranks + 1, sizeof *senders);
    grouping_init(&nodes, input->placement, GROUP_BY_NODE);
    double single_bytes_per_s[MAX_CLASSES], injection_bytes_per_s[MAX_CLASSES];
    prediction->extrapolated = traffic_single_bandwidth(traffic, single_bytes_per_s);
    for (size_t c = 0; c < traffic->n_classes; c++)
        injection_bytes_per_s[c] = machine_value(input->machine, traffic->classes[c].level,
                                                 traffic->classes[c].protocol, "injection", INFINITY);
    count_senders(traffic, &nodes, senders);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        prediction->part_s[PART_LATENCY][rank] = traffic_latency_s(traffic, rank, OUTGOING, ALL_LEVELS);
        for (size_t c = 0; c < traffic->n_classes; c++) {
            double bytes = traffic->bytes[OUTGOING][rank * traffic->n_classes + c];
            prediction_add_transfer(prediction, rank, bytes / single_bytes_per_s[c],
                                    transfer_s(&traffic->classes[c], bytes, single_bytes_per_s[c],
                                               injection_bytes_per_s[c], senders[nodes.of[rank]]));
        }
    }
    free(senders);
    grouping_release(&nodes);
}

const struct model node_aware_model = {.name = "node-aware",
                                       .summary = "what a node sends to others has a limit; sends only",
                                       .predict = node_aware_predict};
