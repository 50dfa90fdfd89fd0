/* Runs gnuplot as a child process: a script goes in, a picture comes out. */
#ifndef MPISTAIR_CALIBRATE_GNUPLOT_H
#define MPISTAIR_CALIBRATE_GNUPLOT_H

#include <stdio.h>

#include "share/base/error.h"

/* Runs the script; the picture goes to the stream `picture`, at its end. No shell and no start-up file of the user has
 * a part in it. Returns 0, or -1 with the reason: gnuplot is not there (and which package has it), or what it
 * complained of. */
int gnuplot_run(const char *script, FILE *picture, struct error *error);

/* Writes text as a gnuplot string: in single quotes, where nothing is substituted, with quotes doubled. So that the
 * picture stays well-formed XML, control characters become blanks, bytes that are no UTF-8 '?', and `]]>` is parted.
 * length is the most bytes of text that are written. */
void gnuplot_string(FILE *script, const char *text, size_t length);

#endif
