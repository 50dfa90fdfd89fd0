/* The queries of share/sql: NAME.sql, whose first line is a comment that says what it answers. */
#ifndef MPISTAIR_REPORT_NAMED_QUERY_H
#define MPISTAIR_REPORT_NAMED_QUERY_H

#include <stdbool.h>
#include <stdio.h>

#include "share/base/error.h"

/* Letters, digits, '_' and '-' alone: such an argument is a name, everything else SQL. */
bool named_query_is_name(const char *text);
/* The query's text, to be freed by the caller. 0, or -1 with the reason. */
int named_query_read(const char *name, char **sql, struct error *error);
/* All names with their descriptions, sorted. 0, or -1 with the reason. */
int named_query_list(FILE *stream, struct error *error);

#endif
