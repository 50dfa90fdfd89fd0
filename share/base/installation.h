/* Finds the parts of this installation from where the running program lies, so that a build folder, an installed tree
 * and a moved tree all work. The environment variables MPISTAIR_SHARE and MPISTAIR_LIB replace what is found. */
#ifndef MPISTAIR_BASE_INSTALLATION_H
#define MPISTAIR_BASE_INSTALLATION_H

#include <stddef.h>

#include "share/base/error.h"

enum installation_part {
    INSTALLATION_PRELOAD,   /* libmpistair.so */
    INSTALLATION_PROGRAM,   /* a calibration program, by name */
    INSTALLATION_COLLECTOR, /* a program that collects spools, by name */
    INSTALLATION_SHARE,     /* a file of share/, by its path there, as "sql/schema.sql" */
};

/* Writes the path of an existing file into path[size]. name is unused for INSTALLATION_PRELOAD. Returns 0, or -1 with
 * what was looked for and where. */
int installation_find(enum installation_part part, const char *name, char *path, size_t size, struct error *error);

/* Finds the file that a user names: a path (with a '/', or that ends in suffix) as it is, else the shipped file
 * folder/NAME with that suffix, as "machines", ".tbl". Returns 0, or -1 if there is none of that name. */
int installation_named(const char *folder, const char *suffix, const char *name_or_path, char *path, size_t size);

/* Calls each for every shipped file folder/NAME with that suffix, in the order of the names, until one returns not 0.
 * Returns that, 0, or -1 with the reason where there is no such folder. */
int installation_each(const char *folder, const char *suffix,
                      int (*each)(void *context, const char *name, const char *path, struct error *error),
                      void *context, struct error *error);

#endif
