/* flow-window is flow over TCP, as the model is (predictor/models/flow_window.c, which says where its numbers come
 * from): NICs serve of each message in its turn what its connection's window lets through, and a send is over when
 * its buffer, which grows with the window, has room for the rest. Within a node it is serial. See run_law.h. */
#include "predictor/models/flow.h"
#include "predictor/run/run_law.h"
#include "predictor/run/run_nics.h"

static double packet_bytes(double carried)
{
    return flow_limited(&flow_window_packet, carried);
}

static double room_bytes(double carried)
{
    return flow_limited(&flow_window_buffer, carried);
}

const struct run_path law_flow_window_path = {.find = run_nics_find,
                                              .set = run_nics_set,
                                              .nic_set = law_flow_nic_set,
                                              .nic_rate = law_flow_nic_rate,
                                              .packet_bytes = packet_bytes,
                                              .room_bytes = room_bytes};
