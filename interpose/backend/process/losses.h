/* Tells at the end of a run that records were lost. */
#ifndef MPISTAIR_BACKEND_LOSSES_H
#define MPISTAIR_BACKEND_LOSSES_H

#include "interpose/spool/event.h"
#include "interpose/backend/process/run.h"

/* Collective over run->comm: one line on stderr from rank 0 with what all processes lost, none where nothing was.
 * header: of this process's spool; NULL: it has none (which was told at the start). */
void losses_tell(const struct run *run, const struct spool_header *header);

#endif
