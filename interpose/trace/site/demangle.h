/* Names of C++ as the source has them. */
#ifndef MPISTAIR_TRACE_DEMANGLE_H
#define MPISTAIR_TRACE_DEMANGLE_H

/* A copy of a symbol's name, of a mangled one what it stands for: "void ring<int>::pass<3>(int)". The name as it is
 * where no C++ library is at hand. NULL without memory; the caller frees. */
char *demangle(const char *symbol);

#endif
