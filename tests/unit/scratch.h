/* Makes a file with given bytes in a folder of the test's own, for readers of files. */
#ifndef MPISTAIR_TESTS_SCRATCH_H
#define MPISTAIR_TESTS_SCRATCH_H

#include <stddef.h>

/* Writes bytes[length] into a new temporary file and returns its path, valid until the next call; ends the test where
 * that fails. */
const char *scratch_write(const char *bytes, size_t length);
const char *scratch_text(const char *text);
/* Returns a path at which there was a file a moment ago, and now there is none; valid until the next call. */
const char *scratch_gone(void);
/* Removes the file of the last call, as a teardown of cmocka. */
int scratch_remove(void **state);

#endif
