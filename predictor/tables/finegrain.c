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
#include "predictor/tables/finegrain.h"

#include <math.h>

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

double finegrain_speedup_percent(double bsp_s, double fine_s)
{
    return bsp_s > 0 ? 100 * (bsp_s - fine_s) / bsp_s : 0;
}

const char *const finegrain_interface_name[FINEGRAIN_INTERFACE_COUNT] = {"p2p", "rma", "partitioned", "persistent"};

const char *finegrain_quantity(enum finegrain_interface by)
{
    static const char *const quantities[FINEGRAIN_INTERFACE_COUNT] = {"tau_p2p", "tau_rma", "tau_partitioned",
                                                                      "tau_p2p"};
    return quantities[by];
}

/* Returns a quantity of the protocol, else that of any protocol, else that of any level; NaN where there is none. */
static double finegrain_value(const struct machine *machine, enum level level, enum machine_protocol protocol,
                              const char *quantity)
{
    double value = machine_value(machine, level, protocol, quantity, NAN);
    if (isnan(value))
        value = machine_value(machine, level, PROTOCOL_ANY, quantity, NAN);
    return isnan(value) ? machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, quantity, NAN) : value;
}

/* Returns what a message by an interface costs; NaN where the table does not tell it. Puts and partitions have no
 * protocols of messages: theirs is of the protocol, else of the nearest smaller one, else of the nearest larger one. */
static double own_tau_s(const struct machine *machine, enum level level, const struct machine_protocols *protocols,
                        enum machine_protocol protocol, enum finegrain_interface by)
{
    double seconds = finegrain_value(machine, level, protocol, finegrain_quantity(by));
    size_t at = 0;
    if (by == FINEGRAIN_P2P || by == FINEGRAIN_PERSISTENT)
        return seconds;
    while (at + 1 < protocols->n && protocols->protocol[at] != protocol)
        at++;
    for (size_t i = at; i-- > 0 && isnan(seconds);)
        seconds = finegrain_value(machine, level, protocols->protocol[i], finegrain_quantity(by));
    for (size_t i = at + 1; i < protocols->n && isnan(seconds); i++)
        seconds = finegrain_value(machine, level, protocols->protocol[i], finegrain_quantity(by));
    return seconds;
}

/* Returns how fast bytes move by an interface over messages; 1 where the table does not tell it. */
static double rate_of(const struct machine *machine, enum level level, enum finegrain_interface by)
{
    static const char *const quantities[FINEGRAIN_INTERFACE_COUNT] = {
        [FINEGRAIN_RMA] = "rate_rma", [FINEGRAIN_PARTITIONED] = "rate_partitioned"};
    double rate = quantities[by] != NULL ? finegrain_value(machine, level, PROTOCOL_ANY, quantities[by]) : NAN;
    return isnan(rate) ? 1 : rate;
}

/* Sets the cost of a message of so many bytes, and the rate at which moved_bytes that leave together move, of one of
 * the ranks that share the level. */
static int message_costs(const struct machine *machine, enum level level, const struct machine_protocols *protocols,
                         enum finegrain_interface by, uint32_t ppn, uint64_t bytes, uint64_t moved_bytes, double *tau_s,
                         double *bytes_per_s, struct finegrain_notes *notes, struct error *error)
{
    struct machine_bandwidth bandwidth;
    enum machine_protocol protocol = machine_protocol_of(protocols, bytes);
    if (machine_bandwidth(machine, level, machine_protocol_of(protocols, moved_bytes), &bandwidth, error) != 0)
        return -1;
    *bytes_per_s = machine_bandwidth_at(&bandwidth, ppn, &notes->extrapolated) / ppn;
    machine_bandwidth_release(&bandwidth);
    *tau_s = own_tau_s(machine, level, protocols, protocol, by);
    if (!isnan(*tau_s))
        return 0;
    notes->tau_missing[by] = true;
    return machine_tau_s(machine, level, protocol, tau_s, error);
}

/* Returns gamma n^2 of B3 over n posted receives; 0 where the table does not tell it. */
static double queue_s(const struct machine *machine, double n, struct finegrain_notes *notes)
{
    double step_s;
    if (machine_queue_step_s(machine, MACHINE_QUEUE_POSTED, n, &step_s, NULL) == 0)
        return step_s / 2 * n * n;
    notes->queue_missing = true;
    return 0;
}

/* Returns a quantity as finegrain_value; 0 where the table does not tell it. */
static double value_or_0(const struct machine *machine, enum level level, enum machine_protocol protocol,
                         const char *quantity)
{
    double value = finegrain_value(machine, level, protocol, quantity);
    return isnan(value) ? 0 : value;
}

int finegrain_costs(const struct machine *machine, enum level level, enum finegrain_interface by, uint32_t ppn,
                    struct finegrain_problem *problem, struct finegrain_notes *notes, struct error *error)
{
    bool matched = by == FINEGRAIN_P2P || by == FINEGRAIN_PERSISTENT;
    uint64_t part_bytes = problem->bytes / problem->parts;
    struct machine_protocols protocols;
    if (machine_protocols(machine, level, &protocols, error) != 0)
        return -1;
    enum machine_protocol of_parts = machine_protocol_of(&protocols, part_bytes);
    problem->is_late =
        by == FINEGRAIN_PARTITIONED && finegrain_value(machine, level, of_parts, "partitions_early") <= 0;
    /* Partitions that leave together are one message; each costs its call alone, as the smallest ones tell. */
    uint64_t called_bytes = problem->is_late ? 0 : part_bytes;
    uint64_t moved_bytes = problem->is_late ? problem->bytes : part_bytes;
    if (message_costs(machine, level, &protocols, FINEGRAIN_P2P, ppn, problem->bytes, problem->bytes, &problem->tau_s,
                      &problem->bytes_per_s, notes, error) != 0 ||
        message_costs(machine, level, &protocols, by, ppn, called_bytes, moved_bytes, &problem->tau_fine_s,
                      &problem->fine_bytes_per_s, notes, error) != 0)
        return -1;
    problem->fine_bytes_per_s *= rate_of(machine, level, by);
    notes->is_late = notes->is_late || problem->is_late;
    double n = (double)problem->peers;
    problem->queue_s = queue_s(machine, n, notes);
    problem->queue_fine_s = 0;
    if (matched)
        problem->queue_fine_s = queue_s(machine, n * problem->parts, notes);
    else if (problem->is_late) /* what a request costs beside its partitions; else the two sides met before */
        problem->queue_fine_s = n * value_or_0(machine, level, PROTOCOL_ANY, "tau_request");
    if (matched && problem->parts > 1) { /* what threads that send at once cost each other */
        notes->tau_thread_missing =
            notes->tau_thread_missing || isnan(finegrain_value(machine, level, of_parts, "tau_thread"));
        problem->tau_fine_s += value_or_0(machine, level, of_parts, "tau_thread");
    }
    return 0;
}
