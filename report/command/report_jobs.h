/* `mpistair report` of several traces: a line a job. */
#ifndef MPISTAIR_REPORT_JOBS_H
#define MPISTAIR_REPORT_JOBS_H

#include <stddef.h>

#include "report/render/sections.h"

/* Writes a line for each trace, in that order, to the file named output (NULL: standard output). Of a trace that cannot
 * be read the reason is printed instead. Returns an exit code: EXIT_WORK_FAILED if any could not be read. */
int report_jobs(char **traces, size_t n, int format, const char *output);

#endif
