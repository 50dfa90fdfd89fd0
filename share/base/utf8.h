/* Recognises UTF-8 in text from outside. */
#ifndef MPISTAIR_BASE_UTF8_H
#define MPISTAIR_BASE_UTF8_H

#include <stddef.h>

/* Returns the length of the well-formed UTF-8 character at bytes[left], left > 0 (Unicode 15, table 3-7), 0 if there is
 * none. */
size_t utf8_length(const unsigned char *bytes, size_t left);

#endif
