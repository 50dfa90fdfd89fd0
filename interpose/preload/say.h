/* Prints the one line that the recorder may write, on stderr and from one process of the job. */
#ifndef MPISTAIR_PRELOAD_SAY_H
#define MPISTAIR_PRELOAD_SAY_H

/* Prints `mpistair: text`, if this process is rank 0 as far as the launcher's environment tells, or if it tells
 * nothing. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
