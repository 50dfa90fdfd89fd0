/* Writes a document as text: columns are aligned by characters, with two blanks between them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/render/render.h"

enum { PAGE_WIDTH = 80, BAR_MIN_WIDTH = 12 };

size_t render_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

void render_padded(FILE *stream, const char *text, size_t width, bool right)
{
    size_t own = render_width(text);
    int blanks = own < width ? (int)(width - own) : 0;
    if (right)
        fprintf(stream, "%*s%s", blanks, "", text);
    else
        fprintf(stream, "%s%*s", text, blanks, "");
}

static void render_bar(FILE *stream, const struct document_bar *bar, double end, size_t width)
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
        widths[i] = table->columns[i].title == NULL ? 0 : render_width(table->columns[i].title);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t own = render_width(table->cells[i]), *width = &widths[i % table->n_columns];
        *width = own > *width ? own : *width;
    }
}

/* Writes one line of a table, the titles where cells is NULL; its end is padded only if a bar follows. */
static void render_row(FILE *stream, const struct document_block *table, const size_t *widths, const char *const *cells,
                       bool bar)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        const char *text = cells != NULL ? cells[i] : table->columns[i].title;
        bool end = i + 1 == table->n_columns && !bar && !table->columns[i].right;
        fputs("  ", stream);
        render_padded(stream, text, end ? 0 : widths[i], table->columns[i].right);
    }
}

static void render_table(FILE *stream, const struct document_block *table)
{
    size_t widths[DOCUMENT_MAX_COLUMNS], used = 2;
    column_widths(table, widths);
    for (size_t i = 0; i < table->n_columns; i++)
        used += 2 + widths[i];
    size_t bar_width = used + BAR_MIN_WIDTH > PAGE_WIDTH ? BAR_MIN_WIDTH : PAGE_WIDTH - used;
    if (table->columns[0].title != NULL) {
        render_row(stream, table, widths, NULL, false);
        fputc('\n', stream);
    }
    for (size_t row = 0; (row + 1) * table->n_columns <= table->n_cells; row++) {
        render_row(stream, table, widths, table->cells + row * table->n_columns, row < table->n_bars);
        if (row < table->n_bars) {
            fputs("  ", stream);
            render_bar(stream, &table->bars[row], table->bar_end, bar_width);
        }
        fputc('\n', stream);
    }
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
            fprintf(stream, "  %s\n", block->text);
            break;
        case DOCUMENT_WARNING:
            fprintf(stream, "  ! %s\n", block->text);
            break;
        case DOCUMENT_TABLE:
            render_table(stream, block);
            break;
        }
    }
}
