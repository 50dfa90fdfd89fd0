/* Reads text files that a user wrote, by lines or whole. Errors name the file, and the line where there is one. */
#ifndef MPISTAIR_BASE_TEXT_FILE_H
#define MPISTAIR_BASE_TEXT_FILE_H

#include <stddef.h>

#include "share/base/error.h"

/* Calls take for every line, without its end. take may write into the line. A take that returns non-zero ends the
 * reading and sets error itself, without place: `path:line: ` is put in front. Refuses a zero byte and lines of more
 * than max_bytes. Returns 0 or -1. */
int text_file_lines(const char *path, size_t max_bytes, int (*take)(void *context, char *line, struct error *error),
                    void *context, struct error *error);

/* Returns the file as a string for free(), cut behind max_bytes; NULL with the reason where it is empty or cannot be
 * read. */
char *text_file_read(const char *path, size_t max_bytes, struct error *error);

#endif
