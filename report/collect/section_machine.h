/* Finds the machine whose table sections take that predict by themselves. */
#ifndef MPISTAIR_REPORT_SECTION_MACHINE_H
#define MPISTAIR_REPORT_SECTION_MACHINE_H

#include "calibrate/machine/machine.h"
#include "report/collect/report.h"

/* Loads the machine: the one that was asked for, else that of the best model, else the first that is stored. *name
 * lives as long as the report, and is "" where there is none. Returns 0, 1 where there is none, or -1 with the reason;
 * after 0 alone machine_release is due. */
int section_machine_load(struct report *report, sqlite3 *database, const struct report_choice *choice,
                         const char **name, struct machine *machine, struct error *error);

#endif
