/* Keeps the table in memory: its words, its rows. */
#include "calibrate/machine/machine.h"
#include "share/base/array.h"

#include <stdlib.h>
#include <string.h>

const char *const domain_name[DOMAIN_COUNT] = {"", "l3", "numa", "package"};
const char *const machine_protocol_name[PROTOCOL_COUNT] = {"any", "short", "eager", "rendezvous"};

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
