/* Names of functions as the source has them, and short enough for a table. */
#ifndef MPISTAIR_TRACE_SOURCE_NAME_H
#define MPISTAIR_TRACE_SOURCE_NAME_H

/* Returns a copy of a symbol's name; for a mangled one what it stands for: "void ring<int>::pass<3>(int)" of C++,
 * "halo::exchange" or "exchange" of Fortran. file is the source of the code, NULL if that is not known: names that a C
 * program may have as well are taken for Fortran's where it does not say otherwise. Where no C++ library is at hand,
 * names of C++ stay as they are. The caller frees. */
char *demangle(const char *symbol, const char *file);

/* Returns a copy of a function's name without result, parameters, and marks of clones and versions:
 * "ring<double>::pass<3>" for "double ring<double>::pass<3>(double, int) [clone .isra.0]". In a name that is still
 * long, "<...>" stands for template arguments. A name of C or Fortran stays as it is but for such a mark. The caller
 * frees. */
char *short_name(const char *function);

#endif
