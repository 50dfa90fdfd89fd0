/* Lists what identifies a calibration: an interrupted one is continued only by a call that asks for the same. */
#ifndef MPISTAIR_CALIBRATE_ASKED_H
#define MPISTAIR_CALIBRATE_ASKED_H

#include "calibrate/job/calibration.h"
#include "calibrate/samples/text_list.h"

/* Fills lines `launcher WORDS`, `mpi NAME`, the options that change what is measured, MPISTAIR_PLACEMENT, and the
 * settings of MPI libraries in the environment (OMPI_MCA_*, UCX_*, ...). Returns 0, or -1 without memory; the caller
 * calls text_list_release either way. */
int asked_list(const struct calibration *calibration, struct text_list *asked);

#endif
