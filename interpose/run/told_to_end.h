/* Tells where the spools are when a signal ends `mpistair run` after its job: whoever sent it, as a batch system does
 * at the end of the time, still gets a trace of them. */
#ifndef MPISTAIR_RUN_TOLD_TO_END_H
#define MPISTAIR_RUN_TOLD_TO_END_H

/* Makes SIGINT, SIGTERM and SIGHUP print how the trace of that folder is made before they end the process. Signals that
 * are ignored stay so. */
void told_to_end_begin(const char *spools, const char *output);
/* Lets signals end the process as before. */
void told_to_end_end(void);

#endif
