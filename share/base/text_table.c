/* libsmartcols computes widths from the lines it holds. A table that is printed in parts shall have the same widths in
 * each: a last line, which is not printed, holds the widest text of every column (text_table_widen). It is always
 * there, since libsmartcols leaves out the end of the last line of a table.
 *
 * libsmartcols takes characters by the locale and would show UTF-8 as \x.. under LC_ALL=C, so it runs with a locale of
 * its own. */
#include "share/base/text_table.h"

#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/terminal.h"

struct text_table {
    struct libscols_table *table;
    struct libscols_line *line;   /* of the next cell */
    struct libscols_line *widest; /* the last line, which holds widths; in the table only while that is printed */
    size_t column;                /* of the next cell */
    bool has_titles, begun, failed;
};

/* Remembers that a call of libsmartcols failed; there is no other reason than memory. */
static void note(struct text_table *table, int result)
{
    table->failed = table->failed || result != 0;
}

struct text_table *text_table_new(void)
{
    struct text_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->table = scols_new_table();
    table->widest = scols_new_line();
    if (table->table == NULL || table->widest == NULL || scols_table_set_column_separator(table->table, "  ") != 0) {
        text_table_release(table);
        return NULL;
    }
    return table;
}

static int their_flags(unsigned flags)
{
    return ((flags & TEXT_RIGHT) != 0 ? SCOLS_FL_RIGHT : 0) | ((flags & TEXT_CUT) != 0 ? SCOLS_FL_TRUNC : 0);
}

void text_table_column(struct text_table *table, const char *title, unsigned flags)
{
    if (table == NULL)
        return;
    table->has_titles = table->has_titles || title != NULL;
    note(table, scols_table_new_column(table->table, title != NULL ? title : "", 0, their_flags(flags)) == NULL);
}

void text_table_set(struct text_table *table, size_t column, unsigned flags)
{
    if (table != NULL && !table->failed)
        note(table, scols_column_set_flags(scols_table_get_column(table->table, column), their_flags(flags)));
}

void text_table_text(struct text_table *table, const char *text)
{
    if (table == NULL || table->failed)
        return;
    if (table->column == 0)
        table->line = scols_table_new_line(table->table, NULL);
    note(table, table->line == NULL || scols_line_set_data(table->line, table->column, text) != 0);
    table->column = (table->column + 1) % scols_table_get_ncols(table->table);
}

void text_table_cell(struct text_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    bool made = vasprintf(&text, format, arguments) >= 0;
    va_end(arguments);
    if (made)
        text_table_text(table, text);
    else if (table != NULL)
        table->failed = true;
    free(made ? text : NULL);
}

static size_t n_characters(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void text_table_widen(struct text_table *table, size_t column, const char *text)
{
    if (table == NULL || table->failed)
        return;
    if (scols_line_get_ncells(table->widest) == 0)
        note(table, scols_line_alloc_cells(table->widest, scols_table_get_ncols(table->table)));
    struct libscols_cell *cell = table->failed ? NULL : scols_line_get_cell(table->widest, column);
    const char *before = cell != NULL ? scols_cell_get_data(cell) : NULL;
    if (cell != NULL && (before == NULL || n_characters(text) > n_characters(before)))
        note(table, scols_cell_set_data(cell, text));
}

size_t text_table_least(const struct text_table *table)
{
    size_t n = table != NULL ? scols_table_get_ncols(table->table) : 0, least = n > 0 ? 2 * (n - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        struct libscols_column *column = scols_table_get_column(table->table, i);
        struct libscols_cell *cell = scols_line_get_cell(table->widest, i);
        const char *title = scols_cell_get_data(scols_column_get_header(column));
        const char *text = cell != NULL && !scols_column_is_trunc(column) ? scols_cell_get_data(cell) : NULL;
        size_t title_width = title != NULL ? n_characters(title) : 0, width = text != NULL ? n_characters(text) : 0;
        least += width > title_width ? width : title_width;
    }
    return least;
}

/* Sets what depends on where it is printed. libsmartcols 2.41 ignores the widths of titles that it does not print,
 * so the widest line has them as well. */
static void prepare(struct text_table *table, FILE *stream)
{
    unsigned columns = terminal_columns(stream);
    for (size_t i = 0; i < scols_table_get_ncols(table->table); i++) {
        const char *title = scols_cell_get_data(scols_column_get_header(scols_table_get_column(table->table, i)));
        text_table_widen(table, i, title != NULL ? title : "");
    }
    scols_table_set_stream(table->table, stream);
    scols_table_set_termforce(table->table, columns > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
    scols_table_set_termwidth(table->table, columns);
    scols_table_enable_noheadings(table->table, table->begun || !table->has_titles);
    if (!terminal_has_colour(stream))
        return;
    scols_table_enable_colors(table->table, 1);
    for (size_t i = 0; i < scols_table_get_ncols(table->table); i++) {
        struct libscols_cell *title = scols_column_get_header(scols_table_get_column(table->table, i));
        note(table, scols_cell_set_color(title, "\033[1m"));
    }
}

/* Prints a table without rows; libsmartcols prints headings above a line only. */
static void print_titles(struct text_table *table, FILE *stream)
{
    char *text = NULL;
    note(table, scols_print_table_to_string(table->table, &text));
    if (text != NULL)
        fprintf(stream, "%.*s\n", (int)strcspn(text, "\n"), text);
    free(text);
}

int text_table_print(struct text_table *table, FILE *stream, struct error *error)
{
    if (table == NULL || table->failed)
        return error_set(error, "no memory for a table");
    prepare(table, stream);
    size_t n = scols_table_get_nlines(table->table);
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = (locale_t)0;
    if (utf8 != (locale_t)0)
        before = uselocale(utf8);
    note(table, scols_table_add_line(table->table, table->widest));
    if (!table->failed && n > 0)
        note(table, scols_table_print_range(table->table, scols_table_get_line(table->table, 0),
                                            scols_table_get_line(table->table, n - 1)));
    else if (!table->failed && !table->begun && table->has_titles)
        print_titles(table, stream);
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    scols_table_remove_lines(table->table);
    table->begun = true;
    table->column = 0;
    return table->failed ? error_set(error, "no memory for a table") : 0;
}

int text_table_end(struct text_table *table, FILE *stream, struct error *error)
{
    int result = text_table_print(table, stream, error);
    text_table_release(table);
    return result;
}

void text_table_release(struct text_table *table)
{
    if (table == NULL)
        return;
    scols_unref_line(table->widest);
    scols_unref_table(table->table);
    free(table);
}
