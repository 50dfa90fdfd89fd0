/* Turns symbols into names of C++ as the source has them. */
#ifndef MPISTAIR_TRACE_DEMANGLE_H
#define MPISTAIR_TRACE_DEMANGLE_H

/* Returns a copy of a symbol's name; for a mangled one what it stands for: "void ring<int>::pass<3>(int)". Where no C++
 * library is at hand, the name stays as it is. Returns NULL without memory; the caller frees. */
char *demangle(const char *symbol);

#endif
