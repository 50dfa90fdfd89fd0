/* Turns symbols into names of C++ and Fortran as the source has them. */
#ifndef MPISTAIR_TRACE_DEMANGLE_H
#define MPISTAIR_TRACE_DEMANGLE_H

/* Returns a copy of a symbol's name; for a mangled one what it stands for: "void ring<int>::pass<3>(int)" of C++,
 * "halo::exchange" or "exchange" of Fortran. file is the source of the code, NULL if that is not known: names that a C
 * program may have as well are taken for Fortran's where it does not say otherwise. Where no C++ library is at hand,
 * names of C++ stay as they are. The caller frees. */
char *demangle(const char *symbol, const char *file);

#endif
