/* Cells are kept until they are printed, since a column is as wide as its widest text. The width of a column stays for
 * the parts that follow, so that a table that is printed in parts has the same widths in each (text_table_widen).
 *
 * Widths are those of a terminal, by the C library: a Chinese character takes two columns, an accent of its own none.
 * The C library knows this in a locale of UTF-8 alone, which need not be that of the user. */
#include "share/base/text_table.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "share/base/memory.h"
#include "share/base/terminal.h"
#include "share/base/utf8.h"

static const char separator[] = "  ";

struct column {
    char *title;
    unsigned flags;
    size_t title_width, width; /* width: of the widest text so far, at least 1 */
    size_t shown;              /* on this terminal */
};

struct text_table {
    struct column *columns; /* [n_columns] */
    size_t n_columns;
    char **cells; /* [n_cells] row by row */
    size_t n_cells, room;
    bool has_titles, begun;
    locale_t utf8;
};

struct text_table *text_table_new(void)
{
    struct text_table *table = xcalloc(1, sizeof *table);
    table->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return table;
}

/* Returns the bytes of the text that fit into so many columns, and how many those take. */
static size_t fitting(const struct text_table *table, const char *text, size_t columns, size_t *taken)
{
    locale_t before = table->utf8 != (locale_t)0 ? uselocale(table->utf8) : (locale_t)0;
    size_t bytes = 0, left = strlen(text), length;
    for (*taken = 0; left > 0; bytes += length, left -= length) {
        wchar_t c;
        mbstate_t state = {0};
        length = utf8_length((const unsigned char *)text + bytes, left);
        length = length > 0 ? length : 1;
        int width = mbrtowc(&c, text + bytes, length, &state) == length ? wcwidth(c) : 1;
        if (*taken + (width >= 0 ? (size_t)width : 1) > columns)
            break;
        *taken += width >= 0 ? (size_t)width : 1;
    }
    if (before != (locale_t)0)
        uselocale(before);
    return bytes;
}

static size_t width_of(const struct text_table *table, const char *text)
{
    size_t width;
    fitting(table, text, SIZE_MAX, &width);
    return width;
}

/* Returns a copy without control characters, which would move what stands beside it. */
static char *cleaned(const char *text)
{
    size_t length = strlen(text);
    char *copy = xmalloc(length + 1);
    utf8_clean(copy, text, length);
    return copy;
}

void text_table_column(struct text_table *table, const char *title, unsigned flags)
{
    table->has_titles = table->has_titles || title != NULL;
    table->columns = xreallocarray(table->columns, table->n_columns + 1, sizeof *table->columns);
    struct column *column = &table->columns[table->n_columns++];
    *column = (struct column){.title = cleaned(title != NULL ? title : ""), .flags = flags};
    column->title_width = width_of(table, column->title);
    column->width = column->title_width > 0 ? column->title_width : 1;
}

struct text_table *text_table_of(const char *titles)
{
    struct text_table *table = text_table_new();
    char *copy = xstrdup(titles), *rest = copy;
    for (char *title; (title = strsep(&rest, "|")) != NULL;)
        text_table_column(table, title + (title[0] == '<'), title[0] == '<' ? TEXT_LEFT : TEXT_RIGHT);
    free(copy);
    return table;
}

void text_table_set(struct text_table *table, size_t column, unsigned flags)
{
    table->columns[column].flags = flags;
}

void text_table_text(struct text_table *table, const char *text)
{
    if (table->n_cells == table->room) {
        table->room = 2 * table->room + 64;
        table->cells = xreallocarray(table->cells, table->room, sizeof *table->cells);
    }
    char *cell = cleaned(text);
    text_table_widen(table, table->n_cells % table->n_columns, cell);
    table->cells[table->n_cells++] = cell;
}

void text_table_cell(struct text_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        no_memory(0);
    va_end(arguments);
    text_table_text(table, text);
    free(text);
}

void text_table_real(struct text_table *table, double value, int digits, const char *unit)
{
    if (isnan(value))
        text_table_text(table, "-");
    else
        text_table_cell(table, "%.*f%s", digits, value, unit);
}

void text_table_widen(struct text_table *table, size_t column, const char *text)
{
    size_t width = width_of(table, text);
    if (width > table->columns[column].width)
        table->columns[column].width = width;
}

size_t text_table_least(const struct text_table *table)
{
    size_t least = table->n_columns > 0 ? (sizeof separator - 1) * (table->n_columns - 1) : 0;
    for (const struct column *column = table->columns; column < table->columns + table->n_columns; column++)
        least += (column->flags & TEXT_CUT) != 0 ? column->title_width : column->width;
    return least;
}

/* Sets the widths for a terminal of so many columns (0: there is none): cuts the widest column that may be cut, again
 * and again, but none below its title or to nothing. */
static void choose_widths(struct text_table *table, size_t columns)
{
    size_t total = table->n_columns > 0 ? (sizeof separator - 1) * (table->n_columns - 1) : 0;
    for (size_t i = 0; i < table->n_columns; i++)
        total += table->columns[i].shown = table->columns[i].width;
    for (struct column *widest; columns > 0 && total > columns; widest->shown--, total--) {
        widest = NULL;
        for (struct column *column = table->columns; column < table->columns + table->n_columns; column++)
            if ((column->flags & TEXT_CUT) != 0 && column->shown > column->title_width && column->shown > 1 &&
                (widest == NULL || column->shown > widest->shown))
                widest = column;
        if (widest == NULL)
            return;
    }
}

static void print_cell(const struct text_table *table, FILE *stream, size_t i, const char *text, bool bold)
{
    const struct column *column = &table->columns[i];
    bool last = i + 1 == table->n_columns;
    bool right = (column->flags & TEXT_RIGHT) != 0 && !(last && text[0] == '\0');
    size_t width, bytes = fitting(table, text, (column->flags & TEXT_CUT) != 0 ? column->shown : SIZE_MAX, &width);
    int blanks = width < column->shown ? (int)(column->shown - width) : 0;
    fprintf(stream, "%s%*s", bold ? "\033[1m" : "", right ? blanks : 0, "");
    fwrite(text, 1, bytes, stream);
    fprintf(stream, "%*s%s%s", right || last ? 0 : blanks, "", bold ? "\033[0m" : "", last ? "\n" : separator);
}

void text_table_print(struct text_table *table, FILE *stream)
{
    choose_widths(table, terminal_columns(stream));
    for (size_t i = 0; i < table->n_columns && table->has_titles && !table->begun; i++)
        print_cell(table, stream, i, table->columns[i].title, terminal_has_colour(stream));
    for (size_t i = 0; i < table->n_cells; i++) {
        print_cell(table, stream, i % table->n_columns, table->cells[i], false);
        free(table->cells[i]);
    }
    table->n_cells = 0;
    table->begun = true;
}

void text_table_end(struct text_table *table, FILE *stream)
{
    text_table_print(table, stream);
    text_table_release(table);
}

void text_table_release(struct text_table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    for (size_t i = 0; i < table->n_columns; i++)
        free(table->columns[i].title);
    if (table->utf8 != (locale_t)0)
        freelocale(table->utf8);
    free(table->cells);
    free(table->columns);
    free(table);
}
