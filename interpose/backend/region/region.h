/* Regions with names: which one a thread is in, and when it was in which.
 *
 * Each thread has a stack of the regions that it is in. A region is a name within another region, and has a number in
 * the process. The number of the innermost one stands in the site of each call (spool_site_region), so that all that is
 * summed by call site is summed by region. A region that is left is a record of 32 bytes in the thread's lane, stored
 * when it is entered: so one is there that a kill cuts off, and chunks with such records are folded like all others.
 *
 * There are SPOOL_REGIONS numbers; whatever comes beyond is one region, SPOOL_OTHER. What is unbalanced is made up for
 * and counted (enum spool_region_fault). */
#ifndef MPISTAIR_BACKEND_REGION_H
#define MPISTAIR_BACKEND_REGION_H

#include "interpose/backend/recorder/state.h"

/* What the preload library calls. */
extern const struct mpistair_region_calls region_calls;

/* Ends the regions of the calling thread, as the recording ends. */
void region_end_recording(void);

/* Reads MPISTAIR_PCONTROL: `names` says that the program calls MPI_Pcontrol as for IPM, (1, NAME) to begin a region and
 * (-1, NAME) to end it. Rank 0 reports another value. */
void region_open(int rank);

/* Does what MPI_Pcontrol does to regions: from FIRST_MARK on it sets the region "mark NUMBER", the negative number ends
 * it. word is the argument behind the number, whatever the program gave. Returns whether that was all. */
int region_pcontrol(int number, const void *word);

#endif
