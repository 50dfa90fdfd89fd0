/* Writes the text form so that reading it again gives equal values. */
#include "calibrate/machine/machine.h"

#include <math.h>

static void write_optional(FILE *file, double value)
{
    if (isnan(value))
        fputs(" -", file);
    else
        fprintf(file, " %.17g", value);
}

int machine_write(FILE *file, const struct machine *machine)
{
    fprintf(file, "name %s\nsource %s\n", machine->name, machine->source);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        fprintf(file, "%s %s %s ", level_text(row->level), machine_protocol_name[row->protocol], row->quantity);
        if (row->n == MACHINE_NO_N)
            fputc('-', file);
        else
            fprintf(file, "%llu", (unsigned long long)row->n);
        fprintf(file, " %.17g %s", row->value, row->unit);
        bool known = !isnan(row->ci_low) || !isnan(row->ci_high) || row->samples > 0 || row->method[0] != '\0';
        if (known) {
            fputs(" #:", file);
            write_optional(file, row->ci_low);
            write_optional(file, row->ci_high);
            if (row->samples > 0)
                fprintf(file, " %llu", (unsigned long long)row->samples);
            else
                fputs(" -", file);
            fprintf(file, " %s", row->method[0] != '\0' ? row->method : "-");
        }
        fputc('\n', file);
    }
    return ferror(file) ? -1 : 0;
}
