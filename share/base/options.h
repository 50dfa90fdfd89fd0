/* Holds what the options of report, query and doctor have in common. */
#ifndef MPISTAIR_BASE_OPTIONS_H
#define MPISTAIR_BASE_OPTIONS_H

#include <stddef.h>

/* Returns the place of value among names[n], or n after saying on stderr what was expected. */
size_t option_choice(const char *command, const char *option, const char *value, const char *const *names, size_t n);
/* Says why getopt_long, called with opterr 0 and a leading ':', gave ':' or '?'; returns EXIT_WRONG_USAGE. */
int option_refused(const char *command, int option, char **argv);

#endif
