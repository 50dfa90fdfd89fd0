/* A state machine splits characters into fields and rows; the layer above it finds columns, converts fields, counts
 * lines and words errors.
 *
 * Blanks around a field are dropped. Within quotation marks a doubled quotation mark stands for one, and ends of lines
 * may occur. A row ends with LF, CR, CRLF or the end of the file.
 *
 * Rows of whole numbers alone, "12,7,4096" and LF, are most of a large file (P.csv of a million ranks: 3.5e8 rows).
 * They are taken whole, without the state machine, wherever one lies within a chunk. */
#include "share/base/csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/utf8.h"

enum { MAX_FIELDS = 4096, MAX_LINE_BYTES = 1 << 20, CHUNK_BYTES = 1 << 16, SURE_DIGITS = 19 /* fit into 64 bits */ };

/* State of the parser within a field. */
enum field_place { BEFORE, PLAIN, QUOTED, CLOSED, CLOSED_AND_BLANK };

struct csv_reader {
    const char *path;
    struct csv_column *columns;
    size_t n_columns;
    csv_row *row;
    csv_comment *comment;
    void *context;
    bool is_unfinished;
    struct error *error;
    union csv_value *values;      /* [n_columns + 1] the last for fields that are not asked for */
    size_t column_of[MAX_FIELDS]; /* column_of[field]; n_columns: not asked for */
    size_t n_fields;              /* fields of the header; 0: not read yet */
    bool asks_whole;              /* every column that is asked for is CSV_U64 */
    size_t field;                 /* field of the current row */
    enum field_place place;
    char *texts;       /* [MAX_LINE_BYTES + 1] the fields of the current row, each with a zero byte */
    size_t text_begin; /* of the current field */
    size_t text_end;
    size_t line;        /* number of the line, from 1 */
    size_t line_bytes;  /* bytes of the current line so far */
    size_t blank_line;  /* the last one, 0: none */
    bool line_is_blank; /* so far */
    bool line_is_comment;
    size_t comment_length;
    char comment_text[CSV_COMMENT_MAX];
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

static int read_header_field(struct csv_reader *reader, const char *text)
{
    if (reader->field >= MAX_FIELDS)
        return error_set(reader->error, "%s:%zu: more than %d columns", reader->path, reader->line, MAX_FIELDS);
    size_t found = reader->n_columns;
    for (size_t i = 0; i < reader->n_columns; i++)
        if (strcmp(reader->columns[i].name, text) == 0)
            found = i;
    if (found < reader->n_columns && reader->columns[found].present)
        return error_set(reader->error, "%s:%zu: column '%s' appears twice", reader->path, reader->line, text);
    if (found < reader->n_columns)
        reader->columns[found].present = true;
    reader->column_of[reader->field] = found;
    return 0;
}

static int read_value(struct csv_reader *reader, const char *text)
{
    size_t i = reader->field < reader->n_fields ? reader->column_of[reader->field] : reader->n_columns;
    if (i == reader->n_columns)
        return 0;
    const char *wrong = NULL;
    if (reader->columns[i].kind == CSV_U64)
        wrong = number_u64(text, &reader->values[i].u64);
    else if (reader->columns[i].kind == CSV_REAL)
        wrong = number_real(text, &reader->values[i].real);
    else
        reader->values[i].text = text;
    return wrong == NULL ? 0
                         : error_set(reader->error, "%s:%zu: column '%s': '%.60s' %s", reader->path, reader->line,
                                     reader->columns[i].name, text, wrong);
}

static int add_character(struct csv_reader *reader, char c, enum field_place place)
{
    if (reader->text_end > MAX_LINE_BYTES)
        return error_set(reader->error, "%s:%zu: row of more than %d bytes, not a table of numbers", reader->path,
                         reader->line, MAX_LINE_BYTES);
    reader->texts[reader->text_end++] = c;
    reader->place = place;
    return 0;
}

static int end_field(struct csv_reader *reader)
{
    const char *text = reader->texts + reader->text_begin;
    while (reader->place == PLAIN && strchr(" \t", reader->texts[reader->text_end - 1]) != NULL)
        reader->text_end--;
    if (add_character(reader, '\0', BEFORE) != 0)
        return -1;
    reader->text_begin = reader->text_end;
    if (reader->blank_line != 0)
        return error_set(reader->error, "%s:%zu: blank line between rows", reader->path, reader->blank_line);
    int result = reader->n_fields == 0 ? read_header_field(reader, text) : read_value(reader, text);
    reader->field++;
    return result;
}

static int give_row(struct csv_reader *reader)
{
    struct error reason;
    strcpy(reason.text, "refused"); /* the text alone: of 3.5e8 rows, clearing all of it took a third of the time */
    if (reader->row(reader->context, reader->line, reader->values, &reason) != 0)
        return error_set(reader->error, "%s:%zu: %s", reader->path, reader->line, reason.text);
    return 0;
}

static int end_row(struct csv_reader *reader)
{
    size_t n_fields = reader->field;
    reader->field = reader->text_begin = reader->text_end = 0;
    if (reader->n_fields == 0) {
        reader->n_fields = n_fields;
        for (size_t i = 0; i < reader->n_columns; i++) {
            if (!reader->columns[i].present && !reader->columns[i].optional) {
                char what[128];
                snprintf(what, sizeof what, "no column '%s'", reader->columns[i].name);
                return expected_header(reader, what);
            }
        }
        reader->asks_whole = true;
        for (size_t i = 0; i < reader->n_columns; i++)
            reader->asks_whole = reader->asks_whole && reader->columns[i].kind == CSV_U64;
        return 0;
    }
    if (n_fields != reader->n_fields)
        return error_set(reader->error, "%s:%zu: %zu fields, the header has %zu", reader->path, reader->line, n_fields,
                         reader->n_fields);
    return give_row(reader);
}

/* Takes the next character of a row. */
static int take_character(struct csv_reader *reader, char c)
{
    bool ends_row = c == '\n' || c == '\r', is_blank = c == ' ' || c == '\t', is_quote = c == '"';
    enum field_place place = reader->place;
    if (place == QUOTED && !is_quote)
        return add_character(reader, c, QUOTED);
    if (place == CLOSED && is_quote)
        return add_character(reader, c, QUOTED);
    if ((place == QUOTED || place == BEFORE) && is_quote) {
        reader->place = place == QUOTED ? CLOSED : QUOTED;
        return 0;
    }
    if (place == BEFORE && (is_blank || (ends_row && reader->field == 0)))
        return 0;
    if (place >= CLOSED && is_blank) {
        reader->place = CLOSED_AND_BLANK;
        return 0;
    }
    if (c == ',' || ends_row)
        return end_field(reader) != 0 || (ends_row && end_row(reader) != 0) ? -1 : 0;
    if (is_quote || place >= CLOSED)
        return error_set(reader->error,
                         "%s:%zu: quotation mark within a field; expected one at each end of it, and two "
                         "for one inside",
                         reader->path, reader->line);
    return add_character(reader, c, PLAIN);
}

/* Collects a comment's text and passes it to the caller at the end of the line. */
static int take_comment(struct csv_reader *reader, char c)
{
    bool leads = reader->comment_length == 0 && strchr("# \t", c) != NULL;
    if (!leads && c != '\r' && c != '\n' && reader->comment_length < CSV_COMMENT_MAX - 1)
        reader->comment_text[reader->comment_length++] = c;
    if (c != '\n')
        return 0;
    reader->comment_text[reader->comment_length] = '\0';
    reader->comment_length = 0;
    struct error reason = {.text = "refused"};
    if (reader->comment != NULL && reader->comment(reader->context, reader->comment_text, &reason) != 0)
        return error_set(reader->error, "%s:%zu: %s", reader->path, reader->line, reason.text);
    return 0;
}

/* Takes the next character of the file. */
static int read_character(struct csv_reader *reader, char c)
{
    if (reader->line_bytes++ == MAX_LINE_BYTES)
        return error_set(reader->error, "%s:%zu: line of more than %d bytes, not a table of numbers", reader->path,
                         reader->line, MAX_LINE_BYTES);
    if (c == '\0')
        return error_set(reader->error, "%s:%zu: zero byte, not a text file", reader->path, reader->line);
    if (reader->line_bytes == 1)
        reader->line_is_comment = c == '#' && reader->place != QUOTED;
    reader->line_is_blank = reader->line_is_blank && strchr(" \t\r\n", c) != NULL;
    if ((reader->line_is_comment ? take_comment(reader, c) : take_character(reader, c)) != 0)
        return -1;
    if (c != '\n')
        return 0;
    if (reader->line_is_blank && reader->place != QUOTED)
        reader->blank_line = reader->line;
    reader->line++;
    reader->line_bytes = 0;
    reader->line_is_blank = true;
    return 0;
}

/* Reads the values of a row of whole numbers that begins there. Returns its bytes with the LF, 0 where it is another
 * row, or one that the text does not hold to its end: the values are then set by whoever reads it. */
static size_t read_whole_numbers(struct csv_reader *reader, const char *text, size_t length)
{
    size_t at = 0;
    for (size_t field = 0; field < reader->n_fields; field++) {
        size_t begin = at;
        uint64_t value = 0;
        for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
            value = 10 * value + (uint64_t)(text[at] - '0');
        if (at == begin || at - begin > SURE_DIGITS || at == length ||
            text[at] != (field + 1 < reader->n_fields ? ',' : '\n'))
            return 0;
        reader->values[reader->column_of[field]].u64 = value;
        at++;
    }
    return at;
}

/* Takes all rows of whole numbers from the begin of a line on. Returns their bytes, or -1. */
static ssize_t take_whole_numbers(struct csv_reader *reader, const char *text, size_t length)
{
    size_t taken = 0;
    if (!reader->asks_whole || reader->line_bytes > 0 || reader->place != BEFORE || reader->field > 0 ||
        reader->blank_line != 0)
        return 0;
    for (size_t bytes; (bytes = read_whole_numbers(reader, text + taken, length - taken)) > 0; taken += bytes) {
        if (give_row(reader) != 0)
            return -1;
        reader->line++;
    }
    return (ssize_t)taken;
}

static int read_chunk(struct csv_reader *reader, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        ssize_t taken = take_whole_numbers(reader, text + i, length - i);
        i += taken > 0 ? (size_t)taken : 0;
        if (taken < 0 || (i < length && read_character(reader, text[i]) != 0))
            return -1;
    }
    return 0;
}

static int read_stream(FILE *stream, struct csv_reader *reader)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    char chunk[CHUNK_BYTES];
    size_t length;
    for (bool first = true; (length = fread(chunk, 1, sizeof chunk, stream)) > 0; first = false) {
        size_t mark = first && length >= 3 && memcmp(chunk, byte_order_mark, 3) == 0 ? 3 : 0;
        if (read_chunk(reader, chunk + mark, length - mark) != 0)
            return -1;
    }
    if (ferror(stream))
        return error_set(reader->error, "%s: cannot be read: %s", reader->path, strerror(errno));
    if (reader->is_unfinished)
        return 0;
    if (reader->place == QUOTED)
        return error_set(reader->error, "%s:%zu: the file ends within a quoted field", reader->path, reader->line);
    bool in_comment = reader->line_bytes > 0 && reader->line_is_comment;
    if ((in_comment ? take_comment(reader, '\n') : take_character(reader, '\n')) != 0)
        return -1;
    return reader->n_fields > 0 ? 0 : expected_header(reader, "empty file");
}

int csv_read(const char *path, struct csv_column *columns, size_t n_columns, enum csv_end end, csv_row *row,
             csv_comment *comment, void *context, struct error *error)
{
    for (size_t i = 0; i < n_columns; i++)
        columns[i].present = false;
    FILE *stream = fopen(path, "r");
    if (stream == NULL)
        return error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    struct csv_reader *reader = xmalloc(sizeof *reader);
    *reader = (struct csv_reader){.path = path,
                                  .columns = columns,
                                  .n_columns = n_columns,
                                  .row = row,
                                  .comment = comment,
                                  .context = context,
                                  .is_unfinished = end == CSV_MAY_BE_CUT,
                                  .error = error,
                                  .values = xcalloc(n_columns + 1, sizeof(union csv_value)),
                                  .texts = xmalloc(MAX_LINE_BYTES + 1),
                                  .line = 1,
                                  .line_is_blank = true};
    int result = read_stream(stream, reader);
    fclose(stream);
    free(reader->texts);
    free(reader->values);
    free(reader);
    return result;
}

void csv_text(FILE *stream, const char *text)
{
    size_t length = strlen(text);
    char *clean = xmalloc(length + 1);
    utf8_clean(clean, text, length);
    bool is_quoted = clean[strcspn(clean, ",\"\r\n")] != '\0';
    if (is_quoted)
        fputc('"', stream);
    for (const char *letter = clean; *letter != '\0'; letter++)
        fputs(*letter == '"' ? "\"\"" : (char[]){*letter, '\0'}, stream);
    if (is_quoted)
        fputc('"', stream);
    free(clean);
}
