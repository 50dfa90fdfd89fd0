/* Finds out which question is asked, and lets it be answered. */
#ifndef MPISTAIR_PREDICTOR_ASK_TABLE_H
#define MPISTAIR_PREDICTOR_ASK_TABLE_H

#include "predictor/tables/table_question.h"

enum { TABLE_ROWS = MEMORY_ROWS + FINEGRAIN_ROWS + GPU_ROWS };
/* Sets the defaults of all options, and writes their rows. */
void table_option_rows(struct table_options *options, struct option_row rows[TABLE_ROWS]);
/* Checks them once all are read: at most one question may be asked. Returns 0, or the exit code after the reason was
 * printed. */
int table_options_check(struct table_options *options);
/* Returns the option that asks a question; NULL where none does. */
const char *table_options_asked(const struct table_options *options);
/* Answers what is asked. Returns the exit code, after the reason was printed. */
int table_answer(const struct table_question *question);

#endif
