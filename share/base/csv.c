/* libcsv splits into fields and rows; this file finds the columns, converts, counts lines and words the errors.
 *
 * The file goes to the parser in pieces that end at a line end, so that its callbacks know their line. */
#include "share/base/csv.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/number.h"

enum { MAX_FIELDS = 4096, MAX_LINE_BYTES = 1 << 20, CHUNK_BYTES = 1 << 16 };

struct csv_reader {
    const char *path;
    struct csv_column *columns;
    size_t n_columns;
    int (*row)(void *context, size_t line, const union csv_value *values, struct error *error);
    int (*comment)(void *context, const char *text, struct error *error);
    void *context;
    struct error *error;
    union csv_value *values;      /* [n_columns] */
    char **texts;                 /* [n_columns] what values[].text points to */
    size_t column_of[MAX_FIELDS]; /* column_of[field]; n_columns: not asked for */
    size_t n_fields;              /* fields of the header; 0: not read yet */
    size_t field;                 /* field of the current row */
    size_t line;                  /* number of the line, from 1 */
    size_t line_bytes;            /* bytes of the current line so far */
    size_t blank_line;            /* the last one, 0: none */
    bool line_is_blank;           /* so far */
    bool line_is_comment;
    size_t comment_length;
    char comment_text[CSV_COMMENT_MAX];
    bool failed;
};

static int expected_header(const struct csv_reader *reader, const char *what)
{
    char names[512] = "";
    for (size_t i = 0, length = 0; i < reader->n_columns && length < sizeof names; i++) {
        int n = snprintf(names + length, sizeof names - length, "%s%s%s%s", length > 0 ? "," : "",
                         reader->columns[i].optional ? "[" : "", reader->columns[i].name,
                         reader->columns[i].optional ? "]" : "");
        length += n > 0 ? (size_t)n : 0;
    }
    return error_set(reader->error, "%s:%zu: %s; expected a header line with %s", reader->path, reader->line, what,
                     names);
}

static void read_header_field(struct csv_reader *reader, const char *text)
{
    if (reader->field >= MAX_FIELDS) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: more than %d columns", reader->path, reader->line, MAX_FIELDS);
        return;
    }
    size_t found = reader->n_columns;
    for (size_t i = 0; i < reader->n_columns; i++)
        if (strcmp(reader->columns[i].name, text) == 0)
            found = i;
    if (found < reader->n_columns && reader->columns[found].present) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: column '%s' is there twice", reader->path, reader->line, text);
        return;
    }
    if (found < reader->n_columns)
        reader->columns[found].present = true;
    reader->column_of[reader->field++] = found;
}

static void read_value(struct csv_reader *reader, const char *text, size_t length)
{
    size_t i = reader->field < reader->n_fields ? reader->column_of[reader->field] : reader->n_columns;
    reader->field++;
    if (i == reader->n_columns)
        return;
    const char *wrong = NULL;
    if (reader->columns[i].kind == CSV_U64) {
        wrong = number_u64(text, &reader->values[i].u64);
    } else if (reader->columns[i].kind == CSV_REAL) {
        wrong = number_real(text, &reader->values[i].real);
    } else {
        char *copy = realloc(reader->texts[i], length + 1);
        if (copy == NULL) {
            wrong = "does not fit into memory";
        } else {
            memcpy(copy, text, length);
            copy[length] = '\0';
            reader->texts[i] = copy;
            reader->values[i].text = copy;
        }
    }
    if (wrong != NULL) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: column '%s': '%.60s' %s", reader->path, reader->line, reader->columns[i].name,
                  text, wrong);
    }
}

static void on_field(void *field, size_t length, void *data)
{
    struct csv_reader *reader = data;
    if (reader->failed)
        return;
    if (reader->blank_line != 0) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: blank line between rows", reader->path, reader->blank_line);
    } else if (reader->n_fields == 0) {
        read_header_field(reader, field);
    } else {
        read_value(reader, field, length);
    }
}

static void on_row(int terminator, void *data)
{
    (void)terminator;
    struct csv_reader *reader = data;
    size_t n_fields = reader->field;
    reader->field = 0;
    if (reader->failed)
        return;
    if (reader->n_fields == 0) {
        reader->n_fields = n_fields;
        for (size_t i = 0; i < reader->n_columns; i++) {
            if (!reader->columns[i].present && !reader->columns[i].optional) {
                char what[128];
                snprintf(what, sizeof what, "no column '%s'", reader->columns[i].name);
                reader->failed = true;
                expected_header(reader, what);
                return;
            }
        }
        return;
    }
    if (n_fields != reader->n_fields) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: %zu fields, the header has %zu", reader->path, reader->line, n_fields,
                  reader->n_fields);
        return;
    }
    struct error reason = {.text = "refused"};
    if (reader->row(reader->context, reader->line, reader->values, &reason) != 0) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: %s", reader->path, reader->line, reason.text);
    }
}

/* Collects a comment's text; hands it on where the line ends. */
static void take_comment(struct csv_reader *reader, const char *piece, size_t length, bool ends)
{
    for (size_t i = 0; i < length && reader->comment_length < CSV_COMMENT_MAX - 1; i++) {
        bool leads = reader->comment_length == 0 && strchr("# \t", piece[i]) != NULL;
        if (!leads && piece[i] != '\r' && piece[i] != '\n')
            reader->comment_text[reader->comment_length++] = piece[i];
    }
    if (!ends)
        return;
    reader->comment_text[reader->comment_length] = '\0';
    reader->comment_length = 0;
    reader->line_is_comment = false;
    struct error reason = {.text = "refused"};
    if (reader->comment != NULL && reader->comment(reader->context, reader->comment_text, &reason) != 0) {
        reader->failed = true;
        error_set(reader->error, "%s:%zu: %s", reader->path, reader->line, reason.text);
    }
}

/* Feeds one piece of at most a line; its last byte is the line's end if ends is set. */
static int feed(struct csv_parser *parser, struct csv_reader *reader, const char *piece, size_t length, bool ends)
{
    reader->line_bytes += length;
    if (reader->line_bytes > MAX_LINE_BYTES)
        return error_set(reader->error, "%s:%zu: line of more than %d bytes, not a table of numbers", reader->path,
                         reader->line, MAX_LINE_BYTES);
    if (memchr(piece, '\0', length) != NULL)
        return error_set(reader->error, "%s:%zu: zero byte, not a text file", reader->path, reader->line);
    if (reader->line_bytes == length && length > 0 && piece[0] == '#' && reader->field == 0 && !parser->quoted)
        reader->line_is_comment = true;
    for (size_t i = 0; i < length && reader->line_is_blank; i++)
        reader->line_is_blank = strchr(" \t\r\n", piece[i]) != NULL;
    if (reader->line_is_comment)
        take_comment(reader, piece, length, ends);
    else if (reader->line_is_blank && ends && reader->field == 0 && !parser->quoted)
        reader->blank_line = reader->line;
    else if (csv_parse(parser, piece, length, on_field, on_row, reader) != length && !reader->failed)
        return error_set(reader->error, "%s:%zu: %s", reader->path, reader->line, csv_strerror(csv_error(parser)));
    if (reader->failed)
        return -1;
    if (ends) {
        reader->line++;
        reader->line_bytes = 0;
        reader->line_is_blank = true;
    }
    return 0;
}

static int read_stream(FILE *stream, struct csv_parser *parser, struct csv_reader *reader)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    char chunk[CHUNK_BYTES];
    size_t length;
    for (bool first = true; (length = fread(chunk, 1, sizeof chunk, stream)) > 0; first = false) {
        size_t at = first && length >= 3 && memcmp(chunk, byte_order_mark, 3) == 0 ? 3 : 0;
        while (at < length) {
            const char *end = memchr(chunk + at, '\n', length - at);
            size_t piece = end != NULL ? (size_t)(end - chunk) + 1 - at : length - at;
            if (feed(parser, reader, chunk + at, piece, end != NULL) != 0)
                return -1;
            at += piece;
        }
    }
    if (reader->line_is_comment)
        take_comment(reader, NULL, 0, true);
    if (ferror(stream))
        return error_set(reader->error, "%s: cannot be read: %s", reader->path, strerror(errno));
    if (csv_fini(parser, on_field, on_row, reader) != 0 && !reader->failed)
        return error_set(reader->error, "%s:%zu: the file ends within a quoted field", reader->path, reader->line);
    if (reader->failed)
        return -1;
    return reader->n_fields > 0 ? 0 : expected_header(reader, "empty file");
}

int csv_read(const char *path, struct csv_column *columns, size_t n_columns,
             int (*row)(void *context, size_t line, const union csv_value *values, struct error *error), void *context,
             struct error *error)
{
    return csv_read_comments(path, columns, n_columns, row, NULL, context, error);
}

int csv_read_comments(const char *path, struct csv_column *columns, size_t n_columns,
                      int (*row)(void *context, size_t line, const union csv_value *values, struct error *error),
                      int (*comment)(void *context, const char *text, struct error *error), void *context,
                      struct error *error)
{
    int result = -1;
    struct csv_parser parser;
    bool parser_ready = false;
    FILE *stream = NULL;
    for (size_t i = 0; i < n_columns; i++)
        columns[i].present = false;
    struct csv_reader *reader = calloc(1, sizeof *reader);
    union csv_value *values = calloc(n_columns, sizeof *values);
    char **texts = calloc(n_columns, sizeof *texts);
    if (reader == NULL || values == NULL || texts == NULL ||
        csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
        error_set(error, "%s: no memory", path);
        goto out;
    }
    parser_ready = true;
    *reader = (struct csv_reader){.path = path,
                                  .columns = columns,
                                  .n_columns = n_columns,
                                  .row = row,
                                  .comment = comment,
                                  .context = context,
                                  .error = error,
                                  .values = values,
                                  .texts = texts,
                                  .line = 1,
                                  .line_is_blank = true};
    stream = fopen(path, "r");
    if (stream == NULL)
        error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    else
        result = read_stream(stream, &parser, reader);
out:
    if (stream != NULL)
        fclose(stream);
    if (parser_ready)
        csv_free(&parser);
    for (size_t i = 0; texts != NULL && i < n_columns; i++)
        free(texts[i]);
    free(texts);
    free(values);
    free(reader);
    return result;
}
