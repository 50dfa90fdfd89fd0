/* All that the generated wrappers call. */
#ifndef MPISTAIR_BACKEND_WRAPPERS_H
#define MPISTAIR_BACKEND_WRAPPERS_H

#include "interpose/backend/call/call.h"
#include "interpose/backend/family/access.h"
#include "interpose/backend/family/collective.h"
#include "interpose/backend/family/completion.h"
#include "interpose/backend/family/creation.h"
#include "interpose/backend/family/operation.h"
#include "interpose/backend/family/persistent.h"
#include "interpose/backend/family/probe.h"
#include "interpose/backend/family/summed.h"
#include "interpose/backend/process/lifecycle.h"

/* The wrappers by function number; NULL where the function is not recorded or this MPI lacks it. */
extern mpistair_code *const recorder_wrappers[FN_COUNT];
/* The same where no call has a record. */
extern mpistair_code *const recorder_sum_wrappers[FN_COUNT];

#endif
