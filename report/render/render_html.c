/* Writes the blocks of a document as HTML, every text escaped; report/html/page.c puts them on a page. */
#include <math.h>

#include "report/render/render.h"
#include "share/base/html_page.h"

static void element(FILE *stream, const char *name, const char *attributes, const char *text)
{
    fprintf(stream, "<%s%s>", name, attributes);
    html_text(stream, text);
    fprintf(stream, "</%s>\n", name);
}

static void html_bar(FILE *stream, const struct document_bar *bar, double end)
{
    fputs("<td class=\"b\">", stream);
    if (end > 0 && !isnan(bar->measured))
        fprintf(stream, "<i style=\"width:%.2f%%\"></i>", bar->measured / end * 100);
    if (end > 0 && !isnan(bar->modelled))
        fprintf(stream, "<b style=\"left:%.2f%%\"></b>", bar->modelled / end * 100);
    fputs("</td>\n", stream);
}

static void html_row(FILE *stream, const struct document_block *table, const char *const *cells)
{
    for (size_t i = 0; i < table->n_columns; i++)
        element(stream, "td",
                table->columns[i].right ? " class=\"r\""
                : cells[i][0] == '|'    ? " class=\"m\""
                                        : "",
                cells[i]);
}

static void render_head(FILE *stream, const struct document_block *table)
{
    fputs("<thead><tr>", stream);
    for (size_t i = 0; i < table->n_columns; i++)
        element(stream, "th", table->columns[i].right ? " scope=\"col\" class=\"r\"" : " scope=\"col\"",
                table->columns[i].title);
    if (table->n_bars > 0)
        fputs("<th scope=\"col\" class=\"b\">measured, modelled</th>", stream);
    fputs("</tr></thead>\n", stream);
}

/* A table scrolls in its frame where it is wider than the page. */
static void html_table(FILE *stream, const struct document_block *table)
{
    bool titled = table->titled;
    fprintf(stream, "<div class=\"frame\"><table%s>\n", titled ? " class=\"sorts\"" : "");
    if (titled)
        render_head(stream, table);
    fputs("<tbody>\n", stream);
    for (size_t row = 0; (row + 1) * table->n_columns <= table->n_cells; row++) {
        fputs("<tr>", stream);
        html_row(stream, table, table->cells + row * table->n_columns);
        if (row < table->n_bars)
            html_bar(stream, &table->bars[row], table->bar_end);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>\n", stream);
}

static void html_heading(FILE *stream, const struct document_block *block)
{
    char name[64] = "";
    if (block->anchor != NULL)
        snprintf(name, sizeof name, " id=\"%s\"", block->anchor);
    element(stream, "h2", name, block->text);
}

static void html_link(FILE *stream, const struct document_block *block)
{
    char target[64];
    snprintf(target, sizeof target, " href=\"#%s\"", block->anchor);
    fputs("<p>", stream);
    element(stream, "a", target, block->text);
    fputs("</p>\n", stream);
}

void render_html(FILE *stream, const struct document *document, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct document_block *block = &document->blocks[i];
        switch (block->kind) {
        case DOCUMENT_HEADING:
            html_heading(stream, block);
            break;
        case DOCUMENT_LINE:
            if (block->anchor != NULL)
                html_link(stream, block);
            else
                element(stream, "p", "", block->text);
            break;
        case DOCUMENT_WARNING:
            element(stream, "p", " class=\"w\"", block->text);
            break;
        case DOCUMENT_TABLE:
            html_table(stream, block);
            break;
        }
    }
}
