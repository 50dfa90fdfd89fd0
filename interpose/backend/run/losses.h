/* Tells at the end of a run that records were lost. */
#ifndef MPISTAIR_BACKEND_LOSSES_H
#define MPISTAIR_BACKEND_LOSSES_H

#include "interpose/spool/event.h"
#include "interpose/backend/run/run.h"

/* Prints one line on stderr from rank 0 with what all processes lost, none where nothing was. Collective over
 * run->comm. header is that of this process's spool; NULL means that it has none (which was told at the start). */
void losses_tell(const struct run *run, const struct spool_header *header);

#endif
