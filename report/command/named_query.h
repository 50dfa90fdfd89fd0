/* Finds the queries of share/sql: NAME.sql, whose first line is a comment that says what it answers. */
#ifndef MPISTAIR_REPORT_NAMED_QUERY_H
#define MPISTAIR_REPORT_NAMED_QUERY_H

#include <stdbool.h>
#include <stdio.h>

#include "share/base/error.h"

/* Says whether the text has letters, digits, '_' and '-' alone: such an argument is a name, everything else SQL. */
bool named_query_is_name(const char *text);
/* Reads the query's text, which the caller frees. Returns 0, or -1 with the reason. */
int named_query_read(const char *name, char **sql, struct error *error);
/* Prints all names with their descriptions, sorted. Returns 0, or -1 with the reason. */
int named_query_list(FILE *stream, struct error *error);

#endif
