/* Tells the user of a job something on stderr. */
#ifndef MPISTAIR_BACKEND_SAY_LINE_H
#define MPISTAIR_BACKEND_SAY_LINE_H

/* Prints "mpistair: " and a line, for messages with names of files: these may have any bytes, of which a terminal sees
 * harmless ones. */
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
