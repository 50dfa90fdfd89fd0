/* Holds the file that has a module's name now against the one that ran. */
#ifndef MPISTAIR_TRACE_MODULE_FILE_H
#define MPISTAIR_TRACE_MODULE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "interpose/trace/state/trace.h"

/* Says whether the file is the one that ran: status and build id (NULL: it has none) are those of the file now. If it
 * is not, or nobody knows, the module gets the reason. A module of whose file the spool told nothing takes over the
 * build id. */
bool module_file_is(struct trace_module *module, const struct stat *status, const char *build_id);

/* Gives the module the reason that its file cannot be read, for which errno stands. */
void module_file_is_missing(struct trace_module *module, int error);

#endif
