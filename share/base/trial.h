/* Tries in another process what may crash, or never end, on damaged files: libraries that trust what they read. */
#ifndef MPISTAIR_BASE_TRIAL_H
#define MPISTAIR_BASE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

/* Lets another process attempt it, without a word to stderr, for that many seconds and with so many bytes more of
 * memory (0: no limit). Returns 1 if the attempt returned true, 0 if it returned false or did not return, -1 if there
 * is no other process. */
int trial_run(bool (*attempt)(const void *argument), const void *argument, unsigned seconds, size_t bytes);

#endif
