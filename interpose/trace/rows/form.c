/* Millions of messages share few combinations of function, call site, level and flags. Storing each combination once
 * keeps the largest table of a trace small. */
#include "interpose/trace/rows/form.h"

#include <stdio.h>
#include <stdlib.h>

#include "interpose/database/row.h"

int64_t form_of(struct form_table *table, const struct form *form)
{
    uint64_t flags = (uint64_t)form->any_source | (uint64_t)form->any_tag << 1 | (uint64_t)form->uncertain << 24 |
                     (uint64_t)(uint8_t)form->send_completed << 8 | (uint64_t)(uint8_t)form->recv_completed << 16 |
                     (uint64_t)(uint8_t)form->level << 32 | (uint64_t)form->send_memory << 40 |
                     (uint64_t)form->recv_memory << 48;
    struct map_key key = {(uint64_t)form->send_callsite << 32 | form->recv_callsite,
                          (uint64_t)form->send_function << 32 | form->recv_function, flags};
    uint32_t *index = map_at(&table->index, key);
    if (*index == MAP_ABSENT) {
        trace_grow(&table->forms, table->n_forms, sizeof *table->forms);
        *index = (uint32_t)table->n_forms;
        table->forms[table->n_forms++] = *form;
    }
    return (int64_t)*index + 1;
}

#define MEMORY_TEXT 16

/* Returns the memory as the trace names it, NULL for that of the host. */
static const char *memory_text(unsigned memory, char text[MEMORY_TEXT])
{
    static const char *const kinds[] = {NULL, "pinned", "device", "managed"};
    const char *kind = kinds[memory & SPOOL_MEMORY_KIND];
    if ((memory & SPOOL_MEMORY_KIND) < SPOOL_MEMORY_DEVICE)
        return kind;
    snprintf(text, MEMORY_TEXT, "%s %u", kind, memory >> SPOOL_MEMORY_GPU_SHIFT);
    return text;
}

int forms_write(const struct form_table *table, sqlite3 *database)
{
    struct row row = row_prepare(database, "form", 13);
    for (size_t i = 0; i < table->n_forms; i++) {
        const struct form *form = &table->forms[i];
        char texts[2][MEMORY_TEXT];
        row_insert(&row, "iniiuuiiinntt", (int64_t)i + 1, form->level, function_id(form->send_function),
                   function_id(form->recv_function), form->send_callsite, form->recv_callsite,
                   (int64_t)form->any_source, (int64_t)form->any_tag, (int64_t)form->uncertain,
                   (int32_t)form->send_completed, (int32_t)form->recv_completed,
                   memory_text(form->send_memory, texts[0]), memory_text(form->recv_memory, texts[1]));
    }
    return row_finish(&row);
}

int functions_write(sqlite3 *database)
{
    struct row row = row_prepare(database, "function", 2);
    for (uint16_t i = 0; i < FN_COUNT; i++)
        row_insert(&row, "it", function_id(i), function_name(i));
    return row_finish(&row);
}

void forms_release(struct form_table *table)
{
    free(table->forms);
    map_release(&table->index);
    *table = (struct form_table){0};
}
