/* People write such files by hand or out of a spreadsheet, so that a header, comments, blanks, CRLF and a byte order
 * mark are no errors. Whatever is not a time is one. */
#include "calibrate/finegrain/arrivals/arrival_file.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/number.h"
#include "share/base/text_file.h"

enum { MAX_LINE_BYTES = 1024, MAX_ROWS = 1 << 24, FIELDS = 3 };

struct reading {
    struct arrival_rows *rows;
    size_t capacity;
    uint32_t line;
    bool begun; /* a row or a header was there */
};

/* Cuts blanks off both ends of text, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

/* Splits a line at its commas, in place. Returns the number of fields; FIELDS + 1 stands for more. */
static size_t split(char *line, char *fields[FIELDS])
{
    size_t n = 0;
    for (char *next = line; next != NULL; n++) {
        if (n == FIELDS)
            return FIELDS + 1;
        char *field = strsep(&next, ",");
        fields[n] = trim(field);
    }
    return n;
}

static int take_number(const char *name, const char *text, uint32_t *value, struct error *error)
{
    uint64_t number;
    const char *wrong = number_u64(text, &number);
    if (wrong == NULL && number >= UINT32_MAX)
        wrong = "is too large";
    if (wrong != NULL)
        return error_set(error, "%s '%.40s' %s; expected RANK,THREAD,SECONDS", name, text, wrong);
    *value = (uint32_t)number;
    return 0;
}

static int take_seconds(const char *text, double *seconds, struct error *error)
{
    double value = 0;
    const char *wrong = number_real(text, &value);
    if (wrong != NULL)
        return error_set(error, "time '%.40s' %s; expected seconds from 0 to %g", text, wrong, ARRIVALS_MOST_S);
    if (!(value >= 0 && value <= ARRIVALS_MOST_S))
        return error_set(error, "time '%.40s' is %s; expected seconds from 0 to %g", text,
                         value < 0 ? "negative" : "too long", ARRIVALS_MOST_S);
    *seconds = value + 0.0; /* -0 becomes 0 */
    return 0;
}

static bool is_header(char *const fields[FIELDS], size_t n)
{
    return (n == 1 && strcmp(fields[0], "seconds") == 0) ||
           (n == FIELDS && strcmp(fields[0], "rank") == 0 && strcmp(fields[1], "thread") == 0 &&
            strcmp(fields[2], "seconds") == 0);
}

static int take_line(void *context, char *line, struct error *error)
{
    struct reading *reading = context;
    struct arrival_rows *rows = reading->rows;
    reading->line++;
    if (reading->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    line = trim(line);
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    char *fields[FIELDS];
    size_t n = split(line, fields);
    if (n != 1 && n != FIELDS)
        return error_set(error, "%s fields; expected RANK,THREAD,SECONDS or one time a line",
                         n == 2 ? "two" : "more than three");
    bool named = n == FIELDS, first = !reading->begun;
    if (!first && named != rows->named)
        return error_set(error, "%s, where lines before have %s; expected the same on all",
                         named ? "a rank and a thread" : "a time alone", named ? "a time alone" : "rank and thread");
    reading->begun = true;
    rows->named = named;
    if (first && is_header(fields, n))
        return 0;
    struct arrival_row row = {.thread = (uint32_t)rows->n, .line = reading->line};
    if (named && (take_number("rank", fields[0], &row.rank, error) != 0 ||
                  take_number("thread", fields[1], &row.thread, error) != 0))
        return -1;
    if (take_seconds(fields[n - 1], &row.seconds, error) != 0)
        return -1;
    if (rows->n == MAX_ROWS)
        return error_set(error, "more than %d times; expected a file of fewer", MAX_ROWS);
    array_reserve(&rows->rows, &reading->capacity, rows->n + 1, sizeof *rows->rows);
    rows->rows[rows->n++] = row;
    return 0;
}

int arrival_rows_read(const char *path, struct arrival_rows *rows, struct error *error)
{
    *rows = (struct arrival_rows){0};
    struct reading reading = {.rows = rows};
    int result = text_file_lines(path, MAX_LINE_BYTES, take_line, &reading, error);
    if (result == 0 && rows->n == 0)
        result = error_set(error, "%s: no times; expected a row RANK,THREAD,SECONDS each, or one time a line", path);
    if (result != 0)
        arrival_rows_release(rows);
    return result;
}

void arrival_rows_release(struct arrival_rows *rows)
{
    free(rows->rows);
    *rows = (struct arrival_rows){0};
}
