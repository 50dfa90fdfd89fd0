/* Gives the rows `LEVEL rendezvous threshold - BYTES B` another value. The tau and bandwidth of a protocol stay as they
 * were measured; for sizes that it did not serve then, the same lines are drawn on. */
#include "predictor/what_if/eager.h"

#include <math.h>
#include <string.h>

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
