/* What `mpistair calibrate --memory` has of its own: its options and its fit. */
#ifndef MPISTAIR_CALIBRATE_CMD_CALIBRATE_MEMORY_H
#define MPISTAIR_CALIBRATE_CMD_CALIBRATE_MEMORY_H

#include <stdbool.h>
#include <stdio.h>

#include "calibrate/job/calibration.h"
#include "calibrate/samples/raw_file.h"
#include "calibrate/machine/machine.h"
#include "share/base/error.h"

struct memory_call {
    bool is_asked;
    int placements; /* the place of the word in "model|all" */
    struct memory_request request;
    bool memory_given[3];   /* --placements, --skip-beyond-peak, --allow-cpu-copy are there */
    bool messages_given[6]; /* --quick, --launches, --shared-link, --cached, --gpu, --path are there */
};

/* Checks that no option is of the other kind of calibration, and completes the request. Returns OPTIONS_READ, or
 * EXIT_WRONG_USAGE after saying what was expected. */
int memory_call_check(struct memory_call *call);

/* Gives the complete samples their name, and fits them to the machine. Returns 0, or -1 with the reason. */
int memory_call_fit(struct raw_file *raw, struct machine *machine, FILE *remarks, struct error *error);

#endif
