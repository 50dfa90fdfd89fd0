/* Includes all that the generated wrappers call. */
#ifndef MPISTAIR_BACKEND_WRAPPERS_H
#define MPISTAIR_BACKEND_WRAPPERS_H

#include "interpose/backend/family/collective.h"
#include "interpose/backend/family/completion.h"
#include "interpose/backend/process/control.h"
#include "interpose/backend/family/creation.h"
#include "interpose/backend/family/file.h"
#include "interpose/backend/family/get_status.h"
#include "interpose/backend/family/idup.h"
#include "interpose/backend/process/lifecycle.h"
#include "interpose/backend/family/operation.h"
#include "interpose/backend/family/persistent.h"
#include "interpose/backend/family/partitioned.h"
#include "interpose/backend/family/persistent_collective.h"
#include "interpose/backend/family/probe.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/backend/family/rma.h"
#include "interpose/backend/process/session.h"

/* Holds the wrappers by function number; NULL where the function is not recorded or this MPI lacks it. */
extern mpistair_code *const recorder_wrappers[FN_COUNT];

#endif
