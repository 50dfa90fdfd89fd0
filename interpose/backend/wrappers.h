/* All that the generated wrappers call. */
#ifndef MPISTAIR_BACKEND_WRAPPERS_H
#define MPISTAIR_BACKEND_WRAPPERS_H

#include "collective.h"
#include "completion.h"
#include "control.h"
#include "creation.h"
#include "idup.h"
#include "lifecycle.h"
#include "operation.h"
#include "persistent.h"
#include "partitioned.h"
#include "persistent_collective.h"
#include "probe.h"
#include "recorder.h"
#include "rma.h"
#include "session.h"

/* By function number, NULL where the function is not recorded or this MPI lacks it. */
extern mpistair_code *const recorder_wrappers[FN_COUNT];

#endif
