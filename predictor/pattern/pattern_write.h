/* Writes the output of `mpistair pattern`. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_PATTERN_WRITE_H
#define MPISTAIR_PREDICTOR_PATTERN_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "predictor/pattern/pattern.h"
#include "predictor/pattern/pattern_statistics.h"

/* Writes name.P.csv and name.L.csv, each replaced only when it is complete. Returns 0, or -1 with the reason. */
int pattern_write(const char *name, const struct pattern *pattern, const struct placement *placement,
                  struct error *error);
/* Shows the rows of T Tables II to IV, for people or as JSON. Returns 0, or -1 with the reason. */
int pattern_show(FILE *stream, const struct pattern_statistics *statistics, bool json, struct error *error);

#endif
