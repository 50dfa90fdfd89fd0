/* What the terminal behind a stream can show, and text that is wrapped to its width. */
#ifndef MPISTAIR_BASE_TERMINAL_H
#define MPISTAIR_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Returns the columns of the terminal that stream writes to: COLUMNS of the environment, else what the terminal says; 0
 * where it is no terminal or its width is not known. */
unsigned terminal_columns(FILE *stream);

/* Returns whether colour is wanted on stream: a terminal that is not dumb, with NO_COLOR unset or empty. */
bool terminal_has_colour(FILE *stream);

/* Returns the columns of a page of text for people, as --help: the terminal's, from 40 to 100; 80 where there is
 * none. */
unsigned terminal_page(FILE *stream);

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
