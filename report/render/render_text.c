/* Writes a document as text of 80 columns. Columns of a table are aligned by characters, with two blanks between them;
 * the widest column of words goes on in further lines where there is no room. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/render/render.h"

#include "share/base/memory.h"

enum { PAGE_WIDTH = 80, BAR_MIN_WIDTH = 12, LEAST_WRAPPED = 20 };

void render_padded(FILE *stream, const char *text, size_t width, bool right)
{
    size_t own = render_width(text);
    int blanks = own < width ? (int)(width - own) : 0;
    if (right)
        fprintf(stream, "%*s%s", blanks, "", text);
    else
        fprintf(stream, "%s%*s", text, blanks, "");
}

static void text_bar(FILE *stream, const struct document_bar *bar, double end, size_t width)
{
    if (!(end > 0))
        return;
    size_t measured = isnan(bar->measured) ? 0 : (size_t)lround(bar->measured / end * (double)width);
    size_t mark = isnan(bar->modelled) ? width : (size_t)lround(bar->modelled / end * (double)(width - 1));
    for (size_t i = 0; i < width && (i < measured || (i <= mark && mark < width)); i++)
        fputc(i == mark ? '|' : i < measured ? '#' : ' ', stream);
}

static void column_widths(const struct document_block *table, size_t *widths)
{
    for (size_t i = 0; i < table->n_columns; i++)
        widths[i] = render_width(table->columns[i].title);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t own = render_width(table->cells[i]), *width = &widths[i % table->n_columns];
        *width = own > *width ? own : *width;
    }
}

/* Narrows the widest column of words so that the table fits onto the page; returns which one, n_columns if it fits. */
static size_t narrow(const struct document_block *table, size_t *widths)
{
    size_t used = 0, widest = table->n_columns;
    for (size_t i = 0; i < table->n_columns; i++) {
        used += 2 + widths[i];
        if (!table->columns[i].right && (widest == table->n_columns || widths[i] > widths[widest]))
            widest = i;
    }
    if (used <= PAGE_WIDTH || widest == table->n_columns)
        return table->n_columns;
    size_t over = used - PAGE_WIDTH;
    widths[widest] = widths[widest] > over + LEAST_WRAPPED ? widths[widest] - over : LEAST_WRAPPED;
    return widest;
}

/* Returns how many bytes of text go into one line of so many columns: up to the last blank, or slash, if any. */
static size_t line_of(const char *text, size_t width)
{
    size_t columns = 0, end = 0, at = 0;
    for (; text[at] != '\0'; at++) {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && columns++ == width)
            break;
        if (text[at] == ' ')
            end = at;
        else if (text[at] == '/' && text[at + 1] != '\0' && columns > width / 2 && columns < width)
            end = at + 1;
    }
    return text[at] == '\0' || end == 0 ? at : end;
}

static const char *next_line(const char *text, size_t length)
{
    text += length;
    return *text == ' ' ? text + 1 : text;
}

/* Writes one line of a table, the titles where cells is NULL; its end is padded only if a bar follows. What is too long
 * for the wrapped column goes on in further lines. */
static void text_row(FILE *stream, const struct document_block *table, const size_t *widths, const char *const *cells,
                     size_t wrapped, const struct document_bar *bar, size_t bar_width)
{
    const char *rest = "";
    for (size_t i = 0; i < table->n_columns; i++) {
        const char *text = cells != NULL ? cells[i] : table->columns[i].title;
        bool end = i + 1 == table->n_columns && bar == NULL && !table->columns[i].right;
        char first[512];
        if (i == wrapped) {
            size_t length = line_of(text, widths[i]);
            snprintf(first, sizeof first, "%.*s", (int)length, text);
            rest = next_line(text, length);
            text = first;
        }
        fputs("  ", stream);
        render_padded(stream, text, end ? 0 : widths[i], table->columns[i].right);
    }
    if (bar != NULL) {
        fputs("  ", stream);
        text_bar(stream, bar, table->bar_end, bar_width);
    }
    fputc('\n', stream);
    size_t before = 2;
    for (size_t i = 0; i < wrapped; i++)
        before += 2 + widths[i];
    for (size_t length; *rest != '\0'; rest = next_line(rest, length)) {
        length = line_of(rest, widths[wrapped]);
        fprintf(stream, "%*s%.*s\n", (int)before, "", (int)length, rest);
    }
}

static void text_table_of(FILE *stream, const struct document_block *table)
{
    size_t widths[DOCUMENT_MAX_COLUMNS], used = 2;
    column_widths(table, widths);
    size_t wrapped = narrow(table, widths);
    for (size_t i = 0; i < table->n_columns; i++)
        used += 2 + widths[i];
    size_t bar_width =
        used + BAR_MIN_WIDTH > PAGE_WIDTH ? PAGE_WIDTH - (used < PAGE_WIDTH ? used : PAGE_WIDTH) : PAGE_WIDTH - used;
    if (table->titled)
        text_row(stream, table, widths, NULL, table->n_columns, NULL, 0);
    for (size_t row = 0; (row + 1) * table->n_columns <= table->n_cells; row++)
        text_row(stream, table, widths, table->cells + row * table->n_columns, wrapped,
                 row < table->n_bars && bar_width > 0 ? &table->bars[row] : NULL, bar_width);
}

/* Writes text in lines of the page; the first begins with the mark, the others with as many blanks. Returns how many
 * there are; stream NULL: they are counted only. */
static size_t render_words(FILE *stream, const char *mark, const char *text)
{
    int indent = (int)strlen(mark);
    size_t lines = 0;
    do {
        size_t length = line_of(text, PAGE_WIDTH - (size_t)indent);
        if (stream != NULL)
            fprintf(stream, "%*s%.*s\n", indent, lines == 0 ? mark : "", (int)length, text);
        text = next_line(text, length);
        lines++;
    } while (*text != '\0');
    return lines;
}

size_t render_height(const char *text)
{
    return render_words(NULL, "  ", text);
}

void render_text(FILE *stream, const struct document *document)
{
    for (size_t i = 0; i < document->n_blocks; i++) {
        const struct document_block *block = &document->blocks[i];
        switch (block->kind) {
        case DOCUMENT_HEADING:
            fprintf(stream, "%s%s\n", i == 0 ? "" : "\n", block->text);
            break;
        case DOCUMENT_LINE:
            render_words(stream, "  ", block->text);
            break;
        case DOCUMENT_WARNING:
            render_words(stream, "  ! ", block->text);
            break;
        case DOCUMENT_TABLE:
            text_table_of(stream, block);
            break;
        }
    }
}

size_t render_lines(const struct document *document)
{
    char *text = NULL;
    size_t size, lines = 0;
    FILE *stream = or_no_memory(open_memstream(&text, &size));
    render_text(stream, document);
    fclose(stream);
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        lines += *at == '\n';
    free(text);
    return lines;
}
