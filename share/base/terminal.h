/* What the terminal behind a stream can show. */
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

#endif
