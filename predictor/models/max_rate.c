/* max-rate lets a bandwidth grow with the number of competing ranks up to a limit.
 *
 * W. Gropp, L. N. Olson and P. Samfass, Modeling MPI communication performance on SMP nodes, EuroMPI 2016, in the
 * variant per process of Thune, Reinemo, Skeie and Cai, Detailed Modeling of Heterogeneous and Contention-Constrained
 * Point-to-Point MPI Communication, IEEE TPDS 34(5), 2023 (T), equation 10:
 *
 *   T_i = M_i tau + max(min(V_total, N V_i) / BW_max, V_i / BW_SP)
 *
 * for every level and group (one socket for the levels within a node, one node between nodes), added over the levels.
 *
 *   M_i       incoming messages of rank i               traffic.messages[INCOMING]   -
 *   V_i       their bytes                               volume                       B
 *   V_total   incoming bytes of the group               total                        B
 *   N         ranks of the group with V_i > 0           competitors                  -
 *   BW_SP     bandwidth of one pair, BW(1)              single_bytes_per_s           B/s
 *   BW_max    the last value of the table, or R_N       limit_bytes_per_s            B/s
 *   tau       latency of a message                      message_class.tau_s          s
 *
 * With several protocols at a level each message has its own tau, and both bandwidths are V_i / sum_p(V_p / BW_p)
 * (share/doc/MODELS.md, Several protocols in one round).
 * Limits: a rank that finishes leaves nothing to the others; senders do not count; levels do not disturb each other. */
#include "predictor/models/model.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/traffic.h"

static void predict_group(const struct traffic *traffic, const uint32_t *members, size_t n_members, unsigned level,
                          const double *single_bytes_per_s, const double *limit_bytes_per_s,
                          struct prediction *prediction)
{
    double total = 0, competitors = 0;
    for (size_t i = 0; i < n_members; i++) {
        double volume = traffic_bytes(traffic, members[i], INCOMING, level);
        total += volume;
        competitors += volume > 0 ? 1 : 0;
    }
    for (size_t i = 0; i < n_members; i++) {
        uint32_t rank = members[i];
        double volume = traffic_bytes(traffic, rank, INCOMING, level);
        prediction->part_s[PART_LATENCY][rank] += traffic_latency_s(traffic, rank, INCOMING, level);
        if (!(volume > 0))
            continue;
        /* This is the second term of T10: V / BW = sum_p V_p / BW_p =: t, so X / BW = X / V * t. */
        double shared = total < competitors * volume ? total : competitors * volume;
        double limit_s = shared / volume * traffic_transfer_s(traffic, rank, INCOMING, level, limit_bytes_per_s);
        double single_s = traffic_transfer_s(traffic, rank, INCOMING, level, single_bytes_per_s);
        prediction_add_transfer(prediction, rank, single_s, limit_s > single_s ? limit_s : single_s);
    }
}

static void max_rate_predict(const struct model_input *input, struct prediction *prediction)
{
    const struct traffic *traffic = input->traffic;
    double single_bytes_per_s[MAX_CLASSES], limit_bytes_per_s[MAX_CLASSES];
    prediction->extrapolated = traffic_single_bandwidth(traffic, single_bytes_per_s);
    for (size_t c = 0; c < traffic->n_classes; c++)
        limit_bytes_per_s[c] = machine_bandwidth_most(&traffic->classes[c].bandwidth);
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct grouping grouping;
        grouping_init(&grouping, input->placement, level == LEVEL_INTER_NODE ? GROUP_BY_NODE : GROUP_BY_SOCKET);
        for (size_t g = 0; g < grouping.n_groups; g++)
            predict_group(traffic, grouping.member + grouping.first[g], grouping.first[g + 1] - grouping.first[g],
                          LEVEL_BIT(level), single_bytes_per_s, limit_bytes_per_s, prediction);
        grouping_release(&grouping);
    }
}

const struct model max_rate_model = {
    .name = "max-rate", .summary = "ranks share a bandwidth up to a limit; receives only", .predict = max_rate_predict};
