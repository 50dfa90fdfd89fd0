/* A rank that waits until all its threads are done sends late what was ready early; one that sends early sends more
 * messages. This file weighs the one against the other.
 *
 * W. P. Marts, D. A. Kruse, M. G. F. Dosanjh, W. Schonbein, S. Levy and P. G. Bridges, CMB: a configurable messaging
 * benchmark to explore fine-grained communication (M), describes both ways (sections II.A and II.B) and measures them;
 * it has no model. This one is ours (share/doc/MODELS.md, Fine-grained messages).
 *
 *   p         peers                                               peers                          -
 *   s         bytes to each                                       bytes                          B
 *   K         parts of a buffer, bins of neighbouring threads     parts                          -
 *   tau       of a message with a whole buffer                    tau_s                          s
 *   tau_f     of a message with a part                            tau_fine_s                     s
 *   BW        rate of a rank                                      bytes_per_s, fine_bytes_per_s  B/s
 *   Q_1, Q_K  search of the queues of receives, or requests       queue_s, queue_fine_s          s
 *   a_t       when thread t is done                               arrivals_s                     s
 *   r_j       when part j is ready, j by r_j                      ready_s                        s
 *   c         what a part costs                                   part_s                         s
 *
 *   c    = p (tau_f + s/(K BW)) + Q_K/K
 *   e_j  = max(e_(j-1), r_j) + c            e_0 = 0, or r_K where parts leave only when the last one is ready
 *   BSP  = max a_t + p (tau + s/BW) + Q_1
 *   fine = e_K
 *
 * Domain: parts leave one after the other, in the order in which they get ready; nobody else uses what they use.
 * Limits: the receiver has its buffers ready, and other ranks are as late as this one. */
#include "predictor/finegrain/finegrain.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/statistics.h"

/* Returns the bytes of one part to all peers, in s. */
static double part_bytes_s(const struct finegrain_problem *problem)
{
    return (double)problem->peers * ((double)problem->bytes / problem->parts / problem->fine_bytes_per_s);
}

double finegrain_part_s(const struct finegrain_problem *problem)
{
    return (double)problem->peers * problem->tau_fine_s + part_bytes_s(problem) +
           problem->queue_fine_s / problem->parts;
}

/* Sets ready_s[parts], ascending: a part is ready when the last thread of its bin is done. */
static void order_parts(const struct finegrain_problem *problem, double *ready_s)
{
    uint32_t bin = problem->threads / problem->parts;
    for (uint32_t part = 0; part < problem->parts; part++) {
        ready_s[part] = 0;
        for (uint32_t i = 0; i < bin; i++)
            ready_s[part] = fmax(ready_s[part], problem->arrivals_s[part * bin + i]);
    }
    sort_doubles(ready_s, problem->parts);
}

void finegrain_predict(const struct finegrain_problem *problem, double *scratch_s, struct finegrain_times *times)
{
    double part_s = finegrain_part_s(problem);
    order_parts(problem, scratch_s);
    double last_s = scratch_s[problem->parts - 1], end_s = problem->is_late ? last_s : 0;
    for (uint32_t part = 0; part < problem->parts; part++)
        end_s = fmax(end_s, scratch_s[part]) + part_s;
    times->last_s = last_s;
    times->fine_s = end_s;
    times->bsp_s = last_s + (double)problem->peers * (problem->tau_s + (double)problem->bytes / problem->bytes_per_s) +
                   problem->queue_s;
    times->bound_s = last_s + part_bytes_s(problem);
}

double finegrain_laggard_s(const struct finegrain_problem *problem, double compute_s, double delay_s)
{
    double part_s = finegrain_part_s(problem);
    double begin_s = compute_s + (problem->is_late ? delay_s : 0);
    return fmax(begin_s + (problem->parts - 1) * part_s, compute_s + delay_s) + part_s;
}

double finegrain_speedup_percent(double bsp_s, double fine_s)
{
    return bsp_s > 0 ? 100 * (bsp_s - fine_s) / bsp_s : 0;
}
