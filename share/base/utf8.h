/* Recognises UTF-8 in text from outside, and makes such text harmless. */
#ifndef MPISTAIR_BASE_UTF8_H
#define MPISTAIR_BASE_UTF8_H

#include <stddef.h>

/* Returns the length of the well-formed UTF-8 character at bytes[left], left > 0 (Unicode 15, table 3-7), 0 if there is
 * none. */
size_t utf8_length(const unsigned char *bytes, size_t left);

/* Writes bytes[length] to text[length + 1] as valid UTF-8 without control characters, and returns its length, which is
 * no longer. Tabs and ends of lines become blanks, other control characters and invalid UTF-8 become '?'. text may be
 * bytes. */
size_t utf8_clean(char *text, const char *bytes, size_t length);

#endif
