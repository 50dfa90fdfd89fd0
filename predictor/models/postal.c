/* postal predicts every message alone.
 *
 * R. W. Hockney and C. R. Jesshope, Parallel Computers Two, 1988; A. Bar-Noy and S. Kipnis, Designing broadcasting
 * algorithms in the postal model, SPAA 1992; as printed in Thune, Reinemo, Skeie and Cai, Detailed Modeling of
 * Heterogeneous and Contention-Constrained Point-to-Point MPI Communication, IEEE TPDS 34(5), 2023 (T), equation 1, and
 * in Bienz, Gropp and Olson, Improving Performance Models for Irregular Point-to-Point Communication, EuroMPI 2018 (B),
 * equation 1, with values per protocol.
 *
 *   tau, alpha     start-up latency of a message         message_class.tau_s    s
 *   s              size of a message                     pattern.bytes          B
 *   BW_SP, 1/beta  bandwidth of one pair, BW(1)          single_bytes_per_s     B/s
 *
 * Domain: a rank with one message at a time. If a rank has several, their times are added up, incoming and outgoing
 * apart, and the larger sum counts (share/doc/MODELS.md, postal). The model knows no contention, so it is a lower bound
 * where ranks share a bandwidth. */
#include "predictor/models/model.h"
#include "predictor/pattern/traffic.h"

static void postal_predict(const struct model_input *input, struct prediction *prediction)
{
    const struct traffic *traffic = input->traffic;
    double single_bytes_per_s[MAX_CLASSES];
    prediction->extrapolated = traffic_single_bandwidth(traffic, single_bytes_per_s);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        for (enum direction direction = INCOMING; direction < DIRECTION_COUNT; direction++) {
            /* T1 and B1 are added over the messages: sum of tau + s / BW_SP. */
            double latency_s = traffic_latency_s(traffic, rank, direction, ALL_LEVELS);
            double bandwidth_s = traffic_transfer_s(traffic, rank, direction, ALL_LEVELS, single_bytes_per_s);
            if (latency_s + bandwidth_s >
                prediction->part_s[PART_LATENCY][rank] + prediction->part_s[PART_BANDWIDTH][rank]) {
                prediction->part_s[PART_LATENCY][rank] = latency_s;
                prediction->part_s[PART_BANDWIDTH][rank] = bandwidth_s;
            }
        }
    }
}

const struct model postal_model = {.name = "postal",
                                   .summary = "each message alone: its latency and its bytes over the bandwidth",
                                   .predict = postal_predict};
