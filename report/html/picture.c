/* Rows are small arrays and not objects, since the page may have tens of thousands of them; share/html/page.js makes
 * objects of them. */
#include "report/html/picture.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/json.h"

int picture_init(struct picture *picture)
{
    *picture = (struct picture){.tables = json_object(), .values = json_object(), .notes = json_array()};
    picture->failed = picture->tables == NULL || picture->values == NULL || picture->notes == NULL;
    return picture->failed ? -1 : 0;
}

void picture_release(struct picture *picture)
{
    json_decref(picture->tables);
    json_decref(picture->values);
    json_decref(picture->notes);
    json_decref(picture->missing);
    *picture = (struct picture){0};
}

void picture_table(struct picture *picture, const char *name, const char *fields)
{
    json_t *names = json_array();
    picture->rows = json_array();
    while (*fields != '\0') {
        size_t length = strcspn(fields, " ");
        picture->failed |= json_array_append_new(names, json_stringn(fields, length)) != 0;
        fields += length + (fields[length] == ' ' ? 1 : 0);
    }
    json_t *table = json_pack("{s:o, s:O}", "fields", names, "rows", picture->rows);
    json_decref(picture->rows); /* the table has it now */
    picture->failed |= json_object_set_new(picture->tables, name, table) != 0;
}

void picture_row(struct picture *picture, const char *letters, ...)
{
    va_list values;
    if (picture->failed)
        return;
    json_t *row = json_array();
    va_start(values, letters);
    for (; *letters != '\0'; letters++) {
        json_t *value = *letters == 'i'   ? json_integer((json_int_t)va_arg(values, int64_t))
                        : *letters == 'd' ? json_finite(va_arg(values, double))
                                          : json_string(va_arg(values, const char *));
        picture->failed |= json_array_append_new(row, value) != 0;
    }
    va_end(values);
    picture->failed |= json_array_append_new(picture->rows, row) != 0;
}

void picture_value(struct picture *picture, const char *name, json_t *value)
{
    picture->failed |= json_object_set_new(picture->values, name, value) != 0;
}

static json_t *sentence(const char *format, va_list arguments)
{
    char *text = NULL;
    json_t *result = vasprintf(&text, format, arguments) < 0 ? NULL : json_string(text);
    free(text);
    return result;
}

void picture_note(struct picture *picture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    picture->failed |= json_array_append_new(picture->notes, sentence(format, arguments)) != 0;
    va_end(arguments);
}

void picture_lacks(struct picture *picture, const char *format, ...)
{
    va_list arguments;
    json_decref(picture->missing);
    va_start(arguments, format);
    picture->missing = sentence(format, arguments);
    va_end(arguments);
    picture->failed |= picture->missing == NULL;
}

void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what)
{
    if (bins->width > 1)
        picture_note(picture, "Each %s stands for %" PRId64 " of the %" PRId64 " ranks.", what, bins->width,
                     bins->ranks);
}
