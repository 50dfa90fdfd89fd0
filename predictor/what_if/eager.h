/* Changes a machine to one whose MPI has another eager threshold. */
#ifndef MPISTAIR_PREDICTOR_EAGER_H
#define MPISTAIR_PREDICTOR_EAGER_H

#include "calibrate/machine/machine.h"

/* Sends messages of that many bytes and more by rendezvous, at every level whose protocols the machine tells apart.
 * Returns 0, or -1 with the reason and the machine unchanged: it tells them apart nowhere, or it has a short protocol
 * above that. */
int machine_set_eager_threshold(struct machine *machine, uint64_t bytes, struct error *error);

#endif
