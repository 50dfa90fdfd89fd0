/* Makes names of functions short enough for a table. */
#ifndef MPISTAIR_TRACE_SHORT_NAME_H
#define MPISTAIR_TRACE_SHORT_NAME_H

/* Returns a copy of a function's name without result, parameters, and marks of clones and versions:
 * "ring<double>::pass<3>" for "double ring<double>::pass<3>(double, int) [clone .isra.0]". In a name that is still
 * long, "<...>" stands for template arguments. A name of C or Fortran stays as it is but for such a mark. The caller
 * frees. */
char *short_name(const char *function);

#endif
