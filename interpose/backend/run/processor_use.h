/* Reads how much of its node's processors this process has had so far. */
#ifndef MPISTAIR_BACKEND_PROCESSOR_USE_H
#define MPISTAIR_BACKEND_PROCESSOR_USE_H

#include "interpose/spool/event.h"

struct spool_processor_use processor_use(void);

#endif
