/* Writes a document as one HTML page: no scripts, no files from elsewhere, every text escaped. */
#include <math.h>

#include "report/render/render.h"

static const char style[] =
    "body{font:15px/1.45 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#1c1c1c}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:1.8em}"
    "table{border-collapse:collapse}th,td{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}"
    "th{border-bottom:1px solid #999}.r{text-align:right;font-variant-numeric:tabular-nums}"
    ".w{color:#a40000;font-weight:bold}.b{position:relative;width:24em;min-width:12em}"
    ".b i{display:block;height:.9em;margin-top:.25em;background:#7aa6d6}"
    ".b b{position:absolute;top:0;bottom:0;width:2px;background:#a40000}";

static void escaped(FILE *stream, const char *text)
{
    static const char *const entities[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 128 && entities[byte] != NULL)
            fputs(entities[byte], stream);
        else
            fputc(byte, stream);
    }
}

static void element(FILE *stream, const char *name, const char *attributes, const char *text)
{
    fprintf(stream, "<%s%s>", name, attributes);
    escaped(stream, text);
    fprintf(stream, "</%s>\n", name);
}

static void render_bar(FILE *stream, const struct document_bar *bar, double end)
{
    fputs("<td class=\"b\">", stream);
    if (end > 0 && !isnan(bar->measured))
        fprintf(stream, "<i style=\"width:%.2f%%\"></i>", bar->measured / end * 100);
    if (end > 0 && !isnan(bar->modelled))
        fprintf(stream, "<b style=\"left:%.2f%%\"></b>", bar->modelled / end * 100);
    fputs("</td>\n", stream);
}

static void render_row(FILE *stream, const struct document_block *table, const char *const *cells)
{
    for (size_t i = 0; i < table->n_columns; i++)
        element(stream, cells != NULL ? "td" : "th", table->columns[i].right ? " class=\"r\"" : "",
                cells != NULL ? cells[i] : table->columns[i].title);
}

static void render_table(FILE *stream, const struct document_block *table)
{
    fputs("<table>\n", stream);
    if (table->columns[0].title != NULL) {
        fputs("<tr>", stream);
        render_row(stream, table, NULL);
        fputs("</tr>\n", stream);
    }
    for (size_t row = 0; (row + 1) * table->n_columns <= table->n_cells; row++) {
        fputs("<tr>", stream);
        render_row(stream, table, table->cells + row * table->n_columns);
        if (row < table->n_bars)
            render_bar(stream, &table->bars[row], table->bar_end);
        fputs("</tr>\n", stream);
    }
    fputs("</table>\n", stream);
}

void render_html(FILE *stream, const struct document *document, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n",
          stream);
    element(stream, "title", "", title);
    fprintf(stream, "<style>%s</style>\n</head>\n<body>\n", style);
    for (size_t i = 0; i < document->n_blocks; i++) {
        const struct document_block *block = &document->blocks[i];
        switch (block->kind) {
        case DOCUMENT_HEADING:
            element(stream, i == 0 ? "h1" : "h2", "", block->text);
            break;
        case DOCUMENT_LINE:
            element(stream, "p", "", block->text);
            break;
        case DOCUMENT_WARNING:
            element(stream, "p", " class=\"w\"", block->text);
            break;
        case DOCUMENT_TABLE:
            render_table(stream, block);
            break;
        }
    }
    fputs("</body>\n</html>\n", stream);
}
