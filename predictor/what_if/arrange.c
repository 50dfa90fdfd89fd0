/* Orders the places by rule; rank r takes the r-th of them. The eager threshold is the value of the rows
 * `LEVEL rendezvous threshold - BYTES B`; the tau and bandwidth of a protocol stay as they were measured, and for sizes
 * that it did not serve then, the same lines are drawn on. */
#include "predictor/what_if/arrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/pattern/group.h"
#include "share/base/memory.h"

const char *const arrangement_name[ARRANGE_COUNT] = {
    [ARRANGE_FILL] = "fill",
    [ARRANGE_ROUND_ROBIN_NODES] = "round-robin-nodes",
    [ARRANGE_ROUND_ROBIN_SOCKETS] = "round-robin-sockets",
};

/* Describes a place by the three numbers by which it is sorted. */
struct slot {
    size_t key[3];
    uint32_t holder; /* the rank that has it now */
};

static int compare_slots(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    for (size_t i = 0; i < 3; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

void placement_copy_rank(struct placement *to, size_t to_rank, const struct placement *from, size_t from_rank)
{
    to->node[to_rank] = from->node[from_rank];
    to->socket[to_rank] = from->socket[from_rank];
    to->numa[to_rank] = from->numa[from_rank];
    to->l3[to_rank] = from->l3[from_rank];
}

void placement_exchange(struct placement *placement, size_t a, size_t b)
{
    uint32_t *const arrays[] = {placement->node, placement->socket, placement->numa, placement->l3};
    for (size_t i = 0; i < 4; i++) {
        uint32_t place = arrays[i][a];
        arrays[i][a] = arrays[i][b];
        arrays[i][b] = place;
    }
}

bool placement_same(const struct placement *placement, size_t a, size_t b)
{
    return placement->node[a] == placement->node[b] && placement->socket[a] == placement->socket[b];
}

void placement_copy(struct placement *to, const struct placement *from)
{
    for (size_t rank = 0; rank < from->n_ranks; rank++)
        placement_copy_rank(to, rank, from, rank);
}

size_t placement_moved(const struct placement *a, const struct placement *b)
{
    size_t moved = 0;
    for (size_t rank = 0; rank < a->n_ranks; rank++)
        moved += a->node[rank] != b->node[rank] || a->socket[rank] != b->socket[rank];
    return moved;
}

static void sort_slots(struct slot *slots, const struct grouping *sockets, const struct placement *placement,
                       enum arrangement arrangement)
{
    size_t n = 0, in_node = 0;
    for (size_t group = 0; group < sockets->n_groups; group++) {
        size_t begin = sockets->first[group];
        uint32_t node = placement->node[sockets->member[begin]];
        if (begin > 0 && placement->node[sockets->member[begin - 1]] != node)
            in_node = 0;
        for (size_t i = begin; i < sockets->first[group + 1]; i++, in_node++) {
            struct slot slot = {.key = {node, group, i}, .holder = sockets->member[i]};
            if (arrangement == ARRANGE_ROUND_ROBIN_NODES)
                memcpy(slot.key, (size_t[]){in_node, node, 0}, sizeof slot.key);
            else if (arrangement == ARRANGE_ROUND_ROBIN_SOCKETS)
                memcpy(slot.key, (size_t[]){node, i - begin, group}, sizeof slot.key);
            slots[n++] = slot;
        }
    }
    qsort(slots, n, sizeof *slots, compare_slots);
}

void placement_arrange(const struct placement *slots, enum arrangement arrangement, struct placement *arranged)
{
    struct grouping sockets;
    struct slot *order = xmalloc((slots->n_ranks + 1) * sizeof *order);
    grouping_init(&sockets, slots, GROUP_BY_SOCKET);
    sort_slots(order, &sockets, slots, arrangement);
    for (size_t rank = 0; rank < slots->n_ranks; rank++)
        placement_copy_rank(arranged, rank, slots, order[rank].holder);
    grouping_release(&sockets);
    free(order);
}

static bool is_threshold(const struct machine_parameter *row, enum machine_protocol protocol)
{
    return row->protocol == protocol && strcmp(row->quantity, "threshold") == 0;
}

/* Checks the smallest size that uses the middle protocol, where a level has three: it must stay below. */
static int check_short(const struct machine *machine, uint64_t bytes, struct error *error)
{
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_threshold(row, PROTOCOL_EAGER) && row->value >= (double)bytes)
            return error_set(
                error,
                "an eager threshold of %llu bytes: machine '%s' uses the short protocol up to %.0f bytes at "
                "level %s; expected more",
                (unsigned long long)bytes, machine->name, row->value, level_text(row->level));
    }
    return 0;
}

int machine_set_eager_threshold(struct machine *machine, uint64_t bytes, struct error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < machine->n_parameters; i++)
        n += is_threshold(&machine->parameters[i], PROTOCOL_RENDEZVOUS);
    if (n == 0)
        return error_set(
            error,
            "an eager threshold of %llu bytes: machine '%s' has no row `threshold` of protocol rendezvous, so "
            "nothing would change",
            (unsigned long long)bytes, machine->name);
    if (check_short(machine, bytes, error) != 0)
        return -1;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        struct machine_parameter *row = &machine->parameters[i];
        if (!is_threshold(row, PROTOCOL_RENDEZVOUS))
            continue;
        row->value = (double)bytes;
        row->ci_low = row->ci_high = NAN;
    }
    return 0;
}

static void scale(struct machine_parameter *row, double factor)
{
    row->value *= factor;
    row->ci_low *= factor;
    row->ci_high *= factor;
}

void machine_change_network(struct machine *machine, double added_s, double slower)
{
    for (size_t i = 0; i < machine->n_parameters; i++) {
        struct machine_parameter *row = &machine->parameters[i];
        if (row->level != LEVEL_INTER_NODE)
            continue;
        if (strcmp(row->quantity, "tau") == 0) {
            double tau_s = added_s * (row->protocol == PROTOCOL_RENDEZVOUS ? 3 : 1);
            row->value += tau_s;
            row->ci_low += tau_s;
            row->ci_high += tau_s;
        } else if (strcmp(row->quantity, "bw") == 0 || strcmp(row->quantity, "injection") == 0) {
            scale(row, 1 / slower);
        } else if (strcmp(row->quantity, "delta") == 0) {
            scale(row, slower);
        }
    }
}
