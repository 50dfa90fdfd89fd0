/* What a value may be, by quantity, and what the values of a table must be to each other.
 *
 * A quantity that this version does not know passes: tables of later versions stay readable. */
#include "calibrate/machine/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/order.h"

enum n_rule { N_NONE, N_POSITIVE };
enum range { FROM_ZERO, ABOVE_ZERO, ANY, PROGRESS, SHARE, EITHER };

/* The quantities; units are SI.
 *
 *   gamma, delta                  B equations 3 and 5
 *   injection                     R_N of B equation 2
 *   queue_step                    of the queue of posted receives (n = depth)
 *   bw_cached, cached_bytes       of messages whose buffers are in caches, and the largest of these
 *   buffer                        B of share/doc/MODELS.md, flow: what the transport takes without the receiver
 *   burst                         share/doc/MODELS.md, Whole run: what passes a network card at once after a rest
 *   backlog, backlog_pair         share/doc/MODELS.md, Whole run: what of other pairs of ranks, and of the own one,
 *                                 stands before a network card
 *   overhead_...                  share/doc/MODELS.md, Whole run: what a post costs
 *   progress                      share/doc/MODELS.md, Whole run: 0 neither, 1 the sender, 2 the receiver, 3 both
 *   tau_p2p ...                   share/doc/MODELS.md, Fine-grained messages: what a message of many costs
 *   rate_rma ...                  as well: how fast bytes move by an interface over messages
 *   partitions_early              as well: whether a partition leaves before the last is ready, 0 or 1
 *   memory_...                    D Table 3 and following, memory_contention.c
 *   numa_nodes                    of a socket
 *   tau_gpu ...                   between GPUs (H Tables I, II, IV, as the next two)
 *   tau_to_gpu, tau_from_gpu ...  copies to and from a GPU
 *   injection_gpu                 of GPUs
 *   tau_l3 ...                    of pairs of a socket that share an L3 cache, else a NUMA node, else the package only
 *   drift_small ...               calibrate/fit/drift.h
 */
static const struct quantity {
    const char *name;
    const char *unit;
    enum n_rule n;
    enum range range;
    bool whole;
} checked_quantities[] = {
    {"tau", "s", N_NONE, FROM_ZERO, false},
    {"bw", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"threshold", "B", N_NONE, FROM_ZERO, true},
    {"injection", "B/s", N_NONE, ABOVE_ZERO, false},
    {"gamma", "s", N_NONE, FROM_ZERO, false},
    {"queue_step", "s", N_POSITIVE, FROM_ZERO, false},
    {"delta", "s/B", N_NONE, FROM_ZERO, false},
    {"cores", "1", N_NONE, ABOVE_ZERO, true},
    {"bw_cached", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"cached_bytes", "B", N_NONE, ABOVE_ZERO, true},
    {"buffer", "B", N_NONE, FROM_ZERO, false},
    {"burst", "B", N_NONE, FROM_ZERO, false},
    {"backlog", "B", N_NONE, FROM_ZERO, false},
    {"backlog_pair", "B", N_NONE, FROM_ZERO, false},
    {"overhead_send", "s", N_NONE, FROM_ZERO, false},
    {"overhead_send_byte", "s/B", N_NONE, FROM_ZERO, false},
    {"overhead_receive", "s", N_NONE, FROM_ZERO, false},
    {"progress", "1", N_NONE, PROGRESS, true},
    {"queue_step_unexpected", "s", N_POSITIVE, FROM_ZERO, false},
    {"tau_p2p", "s", N_NONE, FROM_ZERO, false},
    {"tau_rma", "s", N_NONE, FROM_ZERO, false},
    {"tau_partitioned", "s", N_NONE, FROM_ZERO, false},
    {"tau_thread", "s", N_NONE, FROM_ZERO, false},
    {"tau_request", "s", N_NONE, FROM_ZERO, false},
    {"rate_rma", "1", N_NONE, ABOVE_ZERO, false},
    {"rate_partitioned", "1", N_NONE, ABOVE_ZERO, false},
    {"partitions_early", "1", N_NONE, EITHER, true},
    {"tau_l3", "s", N_NONE, FROM_ZERO, false},
    {"bw_l3", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"tau_gpu", "s", N_NONE, FROM_ZERO, false},
    {"bw_gpu", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"tau_to_gpu", "s", N_NONE, FROM_ZERO, false},
    {"bw_to_gpu", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"tau_from_gpu", "s", N_NONE, FROM_ZERO, false},
    {"bw_from_gpu", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"injection_gpu", "B/s", N_NONE, ABOVE_ZERO, false},
    {"tau_numa", "s", N_NONE, FROM_ZERO, false},
    {"bw_numa", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"tau_package", "s", N_NONE, FROM_ZERO, false},
    {"bw_package", "B/s", N_POSITIVE, ABOVE_ZERO, false},
    {"memory_cores_par", "1", N_NONE, ABOVE_ZERO, true},
    {"memory_total_par", "B/s", N_NONE, ABOVE_ZERO, false},
    {"memory_cores_seq", "1", N_NONE, ABOVE_ZERO, true},
    {"memory_total_seq", "B/s", N_NONE, ABOVE_ZERO, false},
    {"memory_total_par2", "B/s", N_NONE, ABOVE_ZERO, false},
    {"memory_alpha", "1", N_NONE, SHARE, false},
    {"memory_loss_left", "B/s", N_NONE, ANY, false},
    {"memory_loss_right", "B/s", N_NONE, ANY, false},
    {"memory_computation", "B/s", N_NONE, ABOVE_ZERO, false},
    {"memory_message", "B/s", N_NONE, ABOVE_ZERO, false},
    {"numa_nodes", "1", N_NONE, ABOVE_ZERO, true},
    {"drift_small", "1", N_NONE, FROM_ZERO, false},
    {"drift_large", "1", N_NONE, FROM_ZERO, false},
    {"disturbed", "1", N_NONE, FROM_ZERO, false},
    {"waited", "1", N_NONE, FROM_ZERO, false},
    {"steal", "1", N_NONE, FROM_ZERO, false},
};

static const struct quantity *quantity_find(const char *name)
{
    for (size_t i = 0; i < sizeof checked_quantities / sizeof checked_quantities[0]; i++)
        if (strcmp(name, checked_quantities[i].name) == 0)
            return &checked_quantities[i];
    return NULL;
}

const char *machine_unit(const char *quantity)
{
    const struct quantity *found = quantity_find(quantity);
    return found != NULL ? found->unit : "1";
}

int machine_check_parameter(const struct machine_parameter *parameter, struct error *error)
{
    const struct quantity *quantity = quantity_find(parameter->quantity);
    if (strcmp(parameter->method, MACHINE_MOCK) == 0)
        return error_set(error,
                         "%s was measured on a mock of a driver, not on a machine: calibrate on the machine "
                         "itself, or remove the row",
                         parameter->quantity);
    if (!isfinite(parameter->value))
        return error_set(error, "%s: the value is not a finite number", parameter->quantity);
    if (quantity == NULL)
        return 0;
    if (strcmp(parameter->unit, quantity->unit) != 0)
        return error_set(error, "%s in '%s', expected '%s'", quantity->name, parameter->unit, quantity->unit);
    if (quantity->n == N_NONE && parameter->n != MACHINE_NO_N)
        return error_set(error, "%s has no n, expected '-' instead of %llu", quantity->name,
                         (unsigned long long)parameter->n);
    if (quantity->n == N_POSITIVE && (parameter->n == MACHINE_NO_N || parameter->n == 0))
        return error_set(error, "%s needs an n from 1 on", quantity->name);
    if (quantity->range == SHARE && !(parameter->value > 0 && parameter->value <= 1))
        return error_set(error, "%s of %g, expected a share above 0 and at most 1", quantity->name, parameter->value);
    if ((parameter->value < 0 && quantity->range != ANY) || (quantity->range == ABOVE_ZERO && !(parameter->value > 0)))
        return error_set(error, "%s of %g, expected a value %s 0", quantity->name, parameter->value,
                         quantity->range == ABOVE_ZERO ? "above" : "not below");
    if (quantity->range == PROGRESS && parameter->value > 3)
        return error_set(error, "%s of %g, expected 0 (neither), 1 (the sender), 2 (the receiver) or 3 (both)",
                         quantity->name, parameter->value);
    if (quantity->range == EITHER && parameter->value > 1)
        return error_set(error, "%s of %g, expected 0 (no) or 1 (yes)", quantity->name, parameter->value);
    if (quantity->whole && (floor(parameter->value) < parameter->value || parameter->value > 9007199254740992.0))
        return error_set(error, "%s of %g, expected a whole number", quantity->name, parameter->value);
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct machine_parameter *x = *(const struct machine_parameter *const *)a;
    const struct machine_parameter *y = *(const struct machine_parameter *const *)b;
    return ORDER(x->level, y->level) ?: ORDER(x->protocol, y->protocol) ?: strcmp(x->quantity, y->quantity)
                                       ?: ORDER(x->n, y->n);
}

bool machine_find_repeated(const struct machine *machine, size_t *first, size_t *again)
{
    bool found = false;
    const struct machine_parameter **sorted = xcalloc(machine->n_parameters, sizeof *sorted);
    for (size_t i = 0; i < machine->n_parameters; i++)
        sorted[i] = &machine->parameters[i];
    qsort(sorted, machine->n_parameters, sizeof *sorted, compare_keys);
    for (size_t i = 1; !found && i < machine->n_parameters; i++) {
        if (compare_keys(&sorted[i - 1], &sorted[i]) != 0)
            continue;
        size_t a = (size_t)(sorted[i - 1] - machine->parameters), b = (size_t)(sorted[i] - machine->parameters);
        *first = a < b ? a : b;
        *again = a < b ? b : a;
        found = true;
    }
    free(sorted);
    return found;
}

static int check_repeated(const struct machine *machine, struct error *error)
{
    size_t first, again;
    if (!machine_find_repeated(machine, &first, &again))
        return 0;
    const struct machine_parameter *row = &machine->parameters[again];
    char n[24] = "-";
    if (row->n != MACHINE_NO_N)
        snprintf(n, sizeof n, "%llu", (unsigned long long)row->n);
    return error_set(error, "'%s %s %s %s' appears twice", level_text(row->level), machine_protocol_name[row->protocol],
                     row->quantity, n);
}

static int check_protocols(const struct machine *machine, enum level level, struct error *error)
{
    bool used[PROTOCOL_COUNT] = {false};
    double threshold_bytes[PROTOCOL_COUNT] = {-1, -1, -1, -1};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (row->level != level)
            continue;
        if (strcmp(row->quantity, "tau") == 0 || strcmp(row->quantity, "bw") == 0)
            used[row->protocol] = true;
        if (strcmp(row->quantity, "threshold") == 0)
            threshold_bytes[row->protocol] = row->value;
    }
    const char *name = level_text(level);
    int first = PROTOCOL_COUNT, previous = PROTOCOL_COUNT;
    for (int p = PROTOCOL_SHORT; p < PROTOCOL_COUNT; p++) {
        if (!used[p])
            continue;
        if (used[PROTOCOL_ANY])
            return error_set(error, "level %s has values for protocol 'any' and for '%s', expected one or the other",
                             name, machine_protocol_name[p]);
        if (first != PROTOCOL_COUNT && threshold_bytes[p] < 0)
            return error_set(error, "level %s has values for '%s' and '%s', expected a row '%s %s threshold - BYTES B'",
                             name, machine_protocol_name[first], machine_protocol_name[p], name,
                             machine_protocol_name[p]);
        if (previous != PROTOCOL_COUNT && !(threshold_bytes[p] > threshold_bytes[previous]))
            return error_set(error, "level %s: the threshold of '%s' is %g B, expected more than that of '%s', %g B",
                             name, machine_protocol_name[p], threshold_bytes[p], machine_protocol_name[previous],
                             threshold_bytes[previous]);
        if (first == PROTOCOL_COUNT)
            first = p;
        previous = p;
    }
    if (threshold_bytes[PROTOCOL_ANY] >= 0)
        return error_set(error, "level %s has a threshold for protocol 'any', which serves every size", name);
    return 0;
}

int machine_check(const struct machine *machine, struct error *error)
{
    if (check_repeated(machine, error) != 0)
        return -1;
    for (int level = 0; level < LEVEL_COUNT; level++)
        if (check_protocols(machine, (enum level)level, error) != 0)
            return -1;
    return 0;
}
