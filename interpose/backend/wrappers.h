/* All that the generated wrappers call. */
#ifndef MPISTAIR_BACKEND_WRAPPERS_H
#define MPISTAIR_BACKEND_WRAPPERS_H

#include "interpose/backend/collective.h"
#include "interpose/backend/completion.h"
#include "interpose/backend/control.h"
#include "interpose/backend/creation.h"
#include "interpose/backend/idup.h"
#include "interpose/backend/lifecycle.h"
#include "interpose/backend/operation.h"
#include "interpose/backend/persistent.h"
#include "interpose/backend/partitioned.h"
#include "interpose/backend/persistent_collective.h"
#include "interpose/backend/probe.h"
#include "interpose/backend/recorder.h"
#include "interpose/backend/rma.h"
#include "interpose/backend/session.h"

/* By function number, NULL where the function is not recorded or this MPI lacks it. */
extern mpistair_code *const recorder_wrappers[FN_COUNT];

#endif
