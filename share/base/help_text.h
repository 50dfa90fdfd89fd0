/* Wraps help texts to the width of the terminal. */
#ifndef MPISTAIR_BASE_HELP_TEXT_H
#define MPISTAIR_BASE_HELP_TEXT_H

#include <stdio.h>

/* Prints text in lines of at most width columns. Lines that begin without a blank form paragraphs, which are wrapped
 * anew. A line that begins with a blank or with "usage:" stays a line; what does not fit goes on below its last column,
 * where columns are two blanks apart ("  postal    one message after another"). An empty line stays. */
void help_text_print(FILE *stream, const char *text, unsigned width);

/* Prints words as one paragraph, '\n' counting as a blank, from column on; `at` columns of the first line are taken
 * already. Ends the line. */
void help_text_fill(FILE *stream, const char *text, unsigned at, unsigned column, unsigned width);

/* Prints a line on standard output as help_text_print() does, at the width of the terminal. */
void help_text_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
