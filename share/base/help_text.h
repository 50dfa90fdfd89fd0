/* Sets text for people to the width of their terminal. */
#ifndef MPISTAIR_BASE_HELP_TEXT_H
#define MPISTAIR_BASE_HELP_TEXT_H

#include <stdio.h>

/* Prints text in lines of at most width columns. Paragraphs are lines without blanks in front; they are filled anew. A
 * line with blanks in front, or that begins with "usage:", stands by itself; what does not fit on it goes on below its
 * last column, where columns are two blanks apart ("  postal    one message after another"). An empty line stays. */
void help_text_print(FILE *stream, const char *text, unsigned width);

/* Prints the words of one line, '\n' being a blank too, from column on; `at` columns of the first line are taken
 * already. Ends the line. */
void help_text_fill(FILE *stream, const char *text, unsigned at, unsigned column, unsigned width);

/* Prints a line on standard output as help_text_print() does, at the width of the terminal. */
void help_text_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
