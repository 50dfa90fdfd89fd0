/* What the records of DUMPI hold. */
#ifndef MPISTAIR_IMPORT_DUMPI_H
#define MPISTAIR_IMPORT_DUMPI_H

#include <stddef.h>

enum { DUMPI_FUNCTIONS = 294 };

struct dumpi_function {
    const char *name;
    const char *layout; /* NULL: its records cannot be read */
};
extern const struct dumpi_function dumpi_functions[DUMPI_FUNCTIONS];

#endif
