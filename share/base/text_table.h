/* Prints tables for people: columns are as wide as they need, two blanks apart. On a terminal the
 * headings are bold (not with NO_COLOR) and the columns that may be cut end at its edge; elsewhere nothing is cut.
 * JSON and CSV for programs: json.h, csv.h.
 *
 *     struct text_table *table = text_table_new();
 *     text_table_column(table, "model", TEXT_LEFT);
 *     text_table_column(table, "error", TEXT_RIGHT);
 *     text_table_cell(table, "%s", name);
 *     text_table_cell(table, "%.1f %%", 100 * error);
 *     text_table_end(table, stdout);
 */
#ifndef MPISTAIR_BASE_TEXT_TABLE_H
#define MPISTAIR_BASE_TEXT_TABLE_H

#include <stdio.h>

struct text_table;

/* How a column is set. TEXT_CUT: text that may be cut where the terminal is too narrow. */
enum { TEXT_LEFT = 0, TEXT_RIGHT = 1, TEXT_CUT = 2 };

/* Returns a table without columns. */
struct text_table *text_table_new(void);
/* Returns one with columns of those titles, which '|' divides: on the right, or on the left where '<' stands before. */
struct text_table *text_table_of(const char *titles);
/* Adds a column, before the first cell. title is copied; a table whose titles are all NULL has no line of headings. */
void text_table_column(struct text_table *table, const char *title, unsigned flags);
/* Changes how a column is set. */
void text_table_set(struct text_table *table, size_t column, unsigned flags);
/* Sets the next cell; behind the last column a new row begins. */
void text_table_cell(struct text_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_table_text(struct text_table *table, const char *text);
/* A number with so many digits behind the point, and its unit, as " %"; "-" for NaN. */
void text_table_real(struct text_table *table, double value, int digits, const char *unit);

/* Makes a column at least as wide as text, for a table that is printed in parts: see text_table_print. */
void text_table_widen(struct text_table *table, size_t column, const char *text);
/* Returns the columns of the narrowest terminal for the table: columns that may be cut are as wide as their titles, the
 * others as text_table_widen() and their titles say. */
size_t text_table_least(const struct text_table *table);
/* Prints the rows there are and forgets them. Headings stand above the first part only. */
void text_table_print(struct text_table *table, FILE *stream);
/* Prints as well, and releases the table. */
void text_table_end(struct text_table *table, FILE *stream);
void text_table_release(struct text_table *table);

#endif
