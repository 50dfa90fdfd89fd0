/* A value has its name, if it stands in an object, and the next one beside it, so that arrays and objects are lists.
 * Numbers have 17 digits, which give the same double back. */
#include "share/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/csv.h"
#include "share/base/memory.h"
#include "share/base/utf8.h"

enum kind { KIND_WORD, KIND_INTEGER, KIND_REAL, KIND_STRING, KIND_ARRAY, KIND_OBJECT };

struct json {
    enum kind kind;
    const char *name;
    char *own_name; /* the same, where it is a copy */
    struct json *next;
    union {
        const char *word; /* null, true, false */
        int64_t integer;
        double real;
        char *text;
        struct {
            struct json *first, *last;
        };
    };
};

static struct json *make(struct json value)
{
    struct json *made = xmalloc(sizeof *made);
    *made = value;
    return made;
}

struct json *json_null(void)
{
    return make((struct json){.kind = KIND_WORD, .word = "null"});
}

struct json *json_boolean(bool value)
{
    return make((struct json){.kind = KIND_WORD, .word = value ? "true" : "false"});
}

struct json *json_integer(int64_t value)
{
    return make((struct json){.kind = KIND_INTEGER, .integer = value});
}

struct json *json_count(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((int64_t)value) : json_finite((double)value);
}

struct json *json_finite(double value)
{
    return isfinite(value) ? make((struct json){.kind = KIND_REAL, .real = value}) : json_null();
}

struct json *json_string(const char *text)
{
    return make((struct json){.kind = KIND_STRING, .text = xstrdup(text)});
}

struct json *json_array(void)
{
    return make((struct json){.kind = KIND_ARRAY});
}

struct json *json_object(void)
{
    return make((struct json){.kind = KIND_OBJECT});
}

void json_add(struct json *array, struct json *value)
{
    *(array->first == NULL ? &array->first : &array->last->next) = value;
    array->last = value;
}

void json_set(struct json *object, const char *name, struct json *value)
{
    value->own_name = xstrdup(name);
    json_set_literal(object, value->own_name, value);
}

void json_set_literal(struct json *object, const char *name, struct json *value)
{
    value->name = name;
    json_add(object, value);
}

void json_move(struct json *object, struct json *other)
{
    if (other->first != NULL) {
        json_add(object, other->first);
        object->last = other->last;
    }
    free(other);
}

bool json_has(const struct json *object, const char *name)
{
    const struct json *at = object->first;
    while (at != NULL && strcmp(at->name, name) != 0)
        at = at->next;
    return at != NULL;
}

size_t json_size(const struct json *value)
{
    size_t n = 0;
    for (const struct json *at = value->first; at != NULL; at = at->next)
        n++;
    return n;
}

void json_release(struct json *value)
{
    if (value == NULL)
        return;
    for (struct json *at = value->kind >= KIND_ARRAY ? value->first : NULL, *next; at != NULL; at = next) {
        next = at->next;
        json_release(at);
    }
    if (value->kind == KIND_STRING)
        free(value->text);
    free(value->own_name);
    free(value);
}

static struct json *pack_string(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

struct json *json_pack(const char *format, ...)
{
    struct json *all = *format == '{' ? json_object() : json_array();
    va_list values;
    va_start(values, format);
    for (format++; *format != '\0' && *format != '}' && *format != ']'; format++) {
        if (strchr(" ,:?", *format) != NULL)
            continue;
        const char *name = NULL;
        if (all->kind == KIND_OBJECT) {
            name = va_arg(values, const char *);
            format += 1 + strspn(format + 1, " :");
        }
        struct json *value = *format == 's'   ? pack_string(va_arg(values, const char *))
                             : *format == 'I' ? json_integer(va_arg(values, int64_t))
                             : *format == 'i' ? json_integer(va_arg(values, int))
                             : *format == 'b' ? json_boolean(va_arg(values, int) != 0)
                             : *format == 'f' ? json_finite(va_arg(values, double))
                                              : va_arg(values, struct json *);
        if (name != NULL)
            json_set_literal(all, name, value);
        else
            json_add(all, value);
    }
    va_end(values);
    return all;
}

/* Writes what stands between the quotation marks. Returns 0, or -1 at what is no UTF-8. */
static int print_text(FILE *stream, const char *text, enum json_layout layout)
{
    static const char escapes[128] = {
        ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    size_t length;
    for (size_t left = strlen(text); left > 0; left -= length, text += length) {
        unsigned char c = (unsigned char)*text;
        length = utf8_length((const unsigned char *)text, left);
        if (length == 0)
            return -1;
        if (c < 128 && escapes[c] != '\0')
            fprintf(stream, "\\%c", escapes[c]);
        else if (c < ' ')
            fprintf(stream, "\\u%04X", c);
        else if (c == '<' && layout == JSON_PAGE)
            fputs("\\u003c", stream);
        else
            fwrite(text, 1, length, stream);
    }
    return 0;
}

static int print_quoted(FILE *stream, const char *text, enum json_layout layout)
{
    fputc('"', stream);
    int result = print_text(stream, text, layout);
    fputc('"', stream);
    return result;
}

/* Writes a number with a point or an exponent, which has neither plus nor leading zeros: 2.0, 1e20, 1e-5. */
static void print_real(FILE *stream, double value, enum json_layout layout)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.*g", layout == JSON_PAGE ? 9 : 17, value);
    char *exponent = strchr(digits, 'e');
    if (exponent != NULL)
        *exponent = '\0';
    fprintf(stream, "%s", digits);
    if (exponent != NULL)
        fprintf(stream, "e%d", atoi(exponent + 1));
    else if (strchr(digits, '.') == NULL)
        fputs(".0", stream);
}

static int print_value(FILE *stream, const struct json *value, enum json_layout layout, int depth)
{
    int result = 0;
    switch (value->kind) {
    case KIND_WORD:
        fputs(value->word, stream);
        return 0;
    case KIND_INTEGER:
        fprintf(stream, "%lld", (long long)value->integer);
        return 0;
    case KIND_REAL:
        print_real(stream, value->real, layout);
        return 0;
    case KIND_STRING:
        return print_quoted(stream, value->text, layout);
    case KIND_ARRAY:
    case KIND_OBJECT:
        break;
    }
    fputc(value->kind == KIND_ARRAY ? '[' : '{', stream);
    for (const struct json *at = value->first; at != NULL; at = at->next) {
        if (layout == JSON_INDENTED)
            fprintf(stream, "\n%*s", 2 * depth + 2, "");
        if (at->name != NULL) {
            result |= print_quoted(stream, at->name, layout);
            fputs(layout == JSON_PAGE ? ":" : ": ", stream);
        }
        result |= print_value(stream, at, layout, depth + 1);
        if (at->next != NULL)
            fputs(layout == JSON_LINE ? ", " : ",", stream);
    }
    if (layout == JSON_INDENTED && value->first != NULL)
        fprintf(stream, "\n%*s", 2 * depth, "");
    fputc(value->kind == KIND_ARRAY ? ']' : '}', stream);
    return result;
}

int json_print(FILE *stream, const struct json *value, enum json_layout layout)
{
    return print_value(stream, value, layout, 0);
}

/* Writes the names of an object, or its values, as a line of CSV. */
static void print_csv(FILE *stream, const struct json *row, bool names)
{
    for (const struct json *at = row->first; at != NULL; at = at->next) {
        if (names)
            fputs(at->name, stream);
        else if (at->kind == KIND_STRING)
            csv_text(stream, at->text);
        else if (at->kind == KIND_REAL)
            fprintf(stream, "%.17g", at->real);
        else if (at->kind == KIND_INTEGER)
            fprintf(stream, "%lld", (long long)at->integer);
        else if (at->word[0] != 'n')
            fputc(at->word[0] == 't' ? '1' : '0', stream);
        fputc(at->next != NULL ? ',' : '\n', stream);
    }
}

void json_rows_names(struct json_rows *rows, struct json *row)
{
    print_csv(rows->stream, row, true);
    rows->begun = true;
    json_release(row);
}

void json_rows_add(struct json_rows *rows, struct json *row)
{
    if (rows->csv) {
        if (!rows->begun)
            print_csv(rows->stream, row, true);
        print_csv(rows->stream, row, false);
        rows->begun = true;
        json_release(row);
        return;
    }
    fputs(rows->begun ? ",\n" : "[\n", rows->stream);
    rows->begun = true;
    rows->failed |= json_print(rows->stream, row, JSON_LINE) != 0;
    json_release(row);
}

static int failure(struct error *error)
{
    return error_set(error, "the JSON cannot be made: a text is not UTF-8");
}

int json_rows_end(struct json_rows *rows, struct error *error)
{
    if (rows->csv)
        return 0;
    fputs(rows->begun ? "\n]\n" : "[]\n", rows->stream);
    return rows->failed ? failure(error) : 0;
}

int json_write(FILE *stream, struct json *value, struct error *error)
{
    int result = json_print(stream, value, JSON_INDENTED);
    json_release(value);
    fputc('\n', stream);
    return result == 0 ? 0 : failure(error);
}
