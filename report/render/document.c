/* Numbers are turned into text once, with their units and digits, so that text and HTML cannot differ. */
#include "report/render/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/sums/whole.h"
#include "report/render/words.h"
#include "share/base/array.h"
#include "share/base/memory.h"

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

static void add_block(struct document *document, struct document_block block)
{
    array_grow(&document->blocks, document->n_blocks, sizeof block);
    document->blocks[document->n_blocks++] = block;
}

void document_add(struct document *document, enum document_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_block(document, (struct document_block){.kind = kind, .text = print(document, format, arguments)});
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
    add_block(document, block);
}

void document_cell(struct document *document, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = print(document, format, arguments);
    va_end(arguments);
    struct document_block *table = &document->blocks[document->n_blocks - 1];
    array_grow(&table->cells, table->n_cells, sizeof *table->cells);
    table->cells[table->n_cells++] = text;
}

/* Returns a length that can be drawn, else NaN: a damaged database may hold anything. */
static double length(double value)
{
    return isfinite(value) && value >= 0 ? value : NAN;
}

void document_bar(struct document *document, double measured, double modelled)
{
    struct document_block *table = &document->blocks[document->n_blocks - 1];
    array_grow(&table->bars, table->n_bars, sizeof *table->bars);
    struct document_bar bar = {length(measured), length(modelled)};
    table->bars[table->n_bars++] = bar;
    table->bar_end = fmax(table->bar_end, fmax(bar.measured, bar.modelled)); /* fmax leaves NaN out */
}

void document_cells(struct document *document, const char *letters, ...)
{
    char text[64];
    va_list values;
    va_start(values, letters);
    for (; *letters != '\0'; letters++) {
        if (*letters == 'i') {
            document_cell(document, "%" PRId64, va_arg(values, int64_t));
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
        else
            document_cell(document, *letters == 'c' ? "%+.*f %%" : "%.*f %%", document->whole_percents ? 0 : 1,
                          value * 100);
    }
    va_end(values);
}
