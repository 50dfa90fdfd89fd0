/* Says what is lost where a trace takes the place of another: predictions and replays are in the file, too. */
#ifndef MPISTAIR_TRACE_REPLACED_H
#define MPISTAIR_TRACE_REPLACED_H

/* Prints a note on stderr if there is a file at path: what it is and holds, as "recorded 2026-01-31 12:00, 8 ranks, 3
 * predictions, 1 replay". when is "is replaced", or what else happens to it. */
void replaced_note(const char *path, const char *when);

#endif
