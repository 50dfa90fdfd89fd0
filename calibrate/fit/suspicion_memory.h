/* Finds what does not fit together in the rows of memory contention of one level. */
#ifndef MPISTAIR_CALIBRATE_SUSPICION_MEMORY_H
#define MPISTAIR_CALIBRATE_SUSPICION_MEMORY_H

#include "calibrate/fit/suspicion_say.h"

/* Says whether the width of a row's interval does not say how well the model is known: a loss may be next to 0, and a
 * number of cores any of many whose totals are alike. */
bool suspicion_memory_excuses(const struct machine_parameter *row);
/* Reports each doubt about the level's rows; none where it has no such rows. */
void suspicion_find_memory(struct suspicions *found, enum level level);

#endif
