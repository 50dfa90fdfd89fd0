/* The table in memory: its words and rows. */
#include "calibrate/machine/machine.h"

#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/memory_quantity.h"
#include "share/base/array.h"

const char *const domain_name[DOMAIN_COUNT] = {"", "l3", "numa", "package"};
const char *const machine_protocol_name[PROTOCOL_COUNT] = {"any", "short", "eager", "rendezvous"};

const struct memory_quantity memory_quantities[MEMORY_PARAMETER_COUNT] = {
    [MEMORY_CORES_PAR] = {"memory_cores_par", "1"},     [MEMORY_TOTAL_PAR] = {"memory_total_par", "B/s"},
    [MEMORY_CORES_SEQ] = {"memory_cores_seq", "1"},     [MEMORY_TOTAL_SEQ] = {"memory_total_seq", "B/s"},
    [MEMORY_TOTAL_PAR2] = {"memory_total_par2", "B/s"}, [MEMORY_ALPHA] = {"memory_alpha", "1"},
    [MEMORY_LOSS_LEFT] = {"memory_loss_left", "B/s"},   [MEMORY_LOSS_RIGHT] = {"memory_loss_right", "B/s"},
    [MEMORY_ONE_CORE] = {"memory_computation", "B/s"},  [MEMORY_ONE_MESSAGE] = {"memory_message", "B/s"},
};

int machine_parse_protocol(const char *name, enum machine_protocol *protocol)
{
    for (int i = 0; i < PROTOCOL_COUNT; i++) {
        if (strcmp(name, machine_protocol_name[i]) == 0) {
            *protocol = (enum machine_protocol)i;
            return 0;
        }
    }
    return -1;
}

bool machine_name_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strspn(name, letters);
    return length > 0 && name[length] == '\0' && length < sizeof((struct machine *)NULL)->name;
}

void machine_append(struct machine *machine, const struct machine_parameter *parameter)
{
    array_grow(&machine->parameters, machine->n_parameters, sizeof *machine->parameters);
    machine->parameters[machine->n_parameters++] = *parameter;
}

void machine_release(struct machine *machine)
{
    free(machine->parameters);
    *machine = (struct machine){0};
}
