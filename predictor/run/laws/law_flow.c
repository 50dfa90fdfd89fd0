/* flow lets every message between nodes have what both NICs on its way give it, as the model does
 * (predictor/models/flow.c), by what moves there now. Within a node it is staircase.
 *
 * flow-window is flow over TCP, as the model is (predictor/models/flow_window.c, which says where its numbers come
 * from): NICs serve of each message in its turn what its connection's window lets through, and a send is over when
 * its buffer, which grows with the window, has room for the rest. Within a node it is serial. See run_law.h. */
#include <math.h>

#include "predictor/models/flow.h"
#include "predictor/run/laws/run_law.h"

static double nic_set(const struct run_share *share, const struct run_nic *nic)
{
    double inverse = 0;
    for (size_t c = 0; c < share->rates->n_classes; c++)
        if (nic->of_class[c] > 0)
            inverse += nic->of_class[c] / share->rates->classes[c].bytes_per_s[nic->n_ranks];
    if (run_nics_have_buckets(share) && !nic->is_empty)
        return fmax(share->rates->burst_bytes_per_s / nic->weight, 1 / inverse);
    return 1 / inverse;
}

static double flow_nic_rate(const struct run_share *share, const struct run_nic *nic, const struct run_class *class)
{
    (void)share;
    (void)class;
    return nic->rate;
}

const struct run_path law_flow_path = {
    .find = run_nics_find, .set = run_nics_set, .nic_set = nic_set, .nic_rate = flow_nic_rate};

static double packet_bytes(double carried)
{
    return flow_limited(&flow_window_packet, carried);
}

static double flow_room_bytes(double carried)
{
    return flow_limited(&flow_window_buffer, carried);
}

const struct run_path law_flow_window_path = {.find = run_nics_find,
                                              .set = run_nics_set,
                                              .nic_set = nic_set,
                                              .nic_rate = flow_nic_rate,
                                              .packet_bytes = packet_bytes,
                                              .room_bytes = flow_room_bytes};
