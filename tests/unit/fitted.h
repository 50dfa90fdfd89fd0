/* Fits one benchmark's samples in tests, onto a table that may have rows already. */
#ifndef MPISTAIR_TESTS_FITTED_H
#define MPISTAIR_TESTS_FITTED_H

#include <stddef.h>

#include "calibrate/fit/fits.h"

/* Sorts, fits and releases the samples; notes[size] gets what the fit says. Returns the machine with the rows that it
 * added, all of which the checks of a table accept, for the caller to release; ends the test where that fails. */
struct machine fitted_onto(struct machine machine, fit_benchmark *fit, struct samples *samples, char *notes,
                           size_t size);

#endif
