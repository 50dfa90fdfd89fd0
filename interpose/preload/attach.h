/* Loads the backend of the MPI in this process. */
#ifndef MPISTAIR_PRELOAD_ATTACH_H
#define MPISTAIR_PRELOAD_ATTACH_H

/* Loads and starts the backend of the MPI in this process and stores its wrappers into the cells. Does so once; every
 * reason not to record ends in recording_stop() and, except where the user asked for it, in one line on stderr. Call
 * it before MPI is initialised. */
void attach_backend(void);

#endif
