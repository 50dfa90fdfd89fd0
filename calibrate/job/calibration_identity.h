/* What identifies a calibration: an interrupted one is continued only by a call that asks for the same. */
#ifndef MPISTAIR_CALIBRATION_IDENTITY_H
#define MPISTAIR_CALIBRATION_IDENTITY_H

#include "calibrate/job/calibration.h"
#include "calibrate/samples/text_list.h"

/* Returns lines `launcher WORDS`, `mpi NAME`, the options that change what is measured, MPISTAIR_PLACEMENT, and the
 * settings of MPI libraries in the environment (OMPI_MCA_*, UCX_*, ...), for text_list_release. */
struct text_list calibration_identity(const struct calibration *calibration);

#endif
