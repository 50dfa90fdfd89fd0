/* Numbers are turned into text once, with their units and digits, so that text and HTML cannot differ.
 *
 * Text has 80 columns. Columns of a table are aligned by characters, with two blanks between them; the widest column of
 * words goes on in further lines where there is no room. */
#include "report/render/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/sums/whole.h"
#include "share/base/array.h"
#include "share/base/html_page.h"
#include "share/base/memory.h"

/* Prints three significant digits up to 999, then all of the integer part. */
static const char *quantity(char *text, size_t size, double value, const char *unit)
{
    double length = fabs(value);
    snprintf(text, size, "%.*f %s", length >= 99.95 ? 0 : length >= 9.995 ? 1 : 2, value, unit);
    return text;
}

const char *words_seconds(char *text, size_t size, double seconds)
{
    double length = fabs(seconds);
    if (isnan(seconds))
        snprintf(text, size, "not known");
    else if (length >= 0.9995)
        return quantity(text, size, seconds, "s");
    else if (length >= 0.9995e-3)
        return quantity(text, size, seconds * 1e3, "ms");
    else
        return quantity(text, size, seconds * 1e6, "us");
    return text;
}

const char *words_bytes(char *text, size_t size, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && fabs(bytes) >= 999.5) {
        bytes /= 1e3;
        unit++;
    }
    if (unit > 0)
        return quantity(text, size, bytes, units[unit]);
    snprintf(text, size, "%.0f B", bytes);
    return text;
}

void document_release(struct document *document)
{
    for (size_t i = 0; i < document->n_blocks; i++) {
        free(document->blocks[i].cells);
        free(document->blocks[i].bars);
    }
    free(document->blocks);
    pool_release(&document->pool);
    *document = (struct document){0};
}

static const char *print(struct document *document, const char *format, va_list arguments)
{
    char *text;
    int written = vasprintf(&text, format, arguments);
    if (written < 0)
        no_memory(0);
    if (document->partial && strstr(text, " %") != NULL) {
        whole_mark(text);
        document->marked = true;
    }
    const char *kept = pool_clean(&document->pool, text, (size_t)written);
    free(text);
    return kept;
}

void document_add(struct document *document, enum document_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = print(document, format, arguments);
    ARRAY_ADD(document->blocks, document->n_blocks, (struct document_block){.kind = kind, .text = text});
    va_end(arguments);
}

void document_anchor(struct document *document, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    document->blocks[document->n_blocks - 1].anchor = print(document, format, arguments);
    va_end(arguments);
}

void document_explain_mark(struct document *document, const char *reason)
{
    if (document->marked)
        document_warning(document, WHOLE_LEGEND, reason);
    document->marked = false;
}

void document_table(struct document *document, const char *columns)
{
    struct document_block block = {.kind = DOCUMENT_TABLE};
    for (const char *title = columns, *next; title != NULL; title = next) {
        size_t length = strcspn(title, "|>");
        next = strchr(title, '|');
        next = next != NULL ? next + 1 : NULL;
        block.titled = block.titled || length > 0;
        block.columns[block.n_columns++] =
            (struct document_column){pool_clean(&document->pool, title, length), title[length] == '>'};
    }
    ARRAY_ADD(document->blocks, document->n_blocks, block);
}

void document_cell(struct document *document, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = print(document, format, arguments);
    va_end(arguments);
    struct document_block *table = &document->blocks[document->n_blocks - 1];
    ARRAY_ADD(table->cells, table->n_cells, text);
}

/* Returns a length that can be drawn, else NaN: a damaged database may hold anything. */
static double length(double value)
{
    return isfinite(value) && value >= 0 ? value : NAN;
}

void document_bar(struct document *document, double measured, double modelled)
{
    struct document_block *table = &document->blocks[document->n_blocks - 1];
    struct document_bar bar = {length(measured), length(modelled)};
    ARRAY_ADD(table->bars, table->n_bars, bar);
    table->bar_end = fmax(table->bar_end, fmax(bar.measured, bar.modelled)); /* fmax leaves NaN out */
}

void document_cells(struct document *document, const char *letters, ...)
{
    char text[64];
    va_list values;
    va_start(values, letters);
    for (; *letters != '\0'; letters++) {
        if (*letters == 'i' || *letters == 'o') {
            int64_t number = va_arg(values, int64_t);
            snprintf(text, sizeof text, *letters == 'o' && number < 0 ? "-" : "%" PRId64, number);
            document_cell(document, "%s", text);
            continue;
        }
        if (*letters == 't') {
            document_cell(document, "%s", va_arg(values, const char *));
            continue;
        }
        double value = va_arg(values, double);
        if (isnan(value))
            document_cell(document, "-");
        else if (*letters == 's')
            document_cell(document, "%s", words_seconds(text, sizeof text, value));
        else if (*letters == 'b')
            document_cell(document, "%s", words_bytes(text, sizeof text, value));
        else if (*letters == 'w')
            document_cell(document, value > 0 && value < 0.005 ? "<1 %%" : "%.0f %%", value * 100);
        else
            document_cell(document, *letters == 'c' ? "%+.*f %%" : "%.*f %%", document->whole_percents ? 0 : 1,
                          value * 100);
    }
    va_end(values);
}

enum { PAGE_WIDTH = 80, BAR_MIN_WIDTH = 12, LEAST_WRAPPED = 20 };

size_t render_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Pads UTF-8 text to width characters. */
static void render_padded(FILE *stream, const char *text, size_t width, bool right)
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
