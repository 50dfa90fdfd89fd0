/* COLUMNS overrides what the kernel says, as in ls and man: users and tests set it on purpose.
 *
 * The sources break help texts where their own lines end; a terminal has other widths. Brackets of a synopsis, as
 * "[--name N]", are not broken. */
#include "share/base/terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "share/base/number.h"

enum { PAGE_LEAST = 40, PAGE = 80, PAGE_MOST = 100, COLUMNS_MOST = 10000 };

/* Returns what COLUMNS says, 0 if it is unset or no sensible number. */
static unsigned asked_columns(void)
{
    uint64_t columns = 0;
    const char *text = getenv("COLUMNS");
    return text != NULL && number_u64(text, &columns) == NULL && columns <= COLUMNS_MOST ? (unsigned)columns : 0;
}

static bool is_terminal(FILE *stream)
{
    return fileno(stream) >= 0 && isatty(fileno(stream)) == 1;
}

unsigned terminal_columns(FILE *stream)
{
    struct winsize size = {0};
    if (!is_terminal(stream))
        return 0;
    unsigned asked = asked_columns();
    if (asked > 0)
        return asked;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool terminal_has_colour(FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return is_terminal(stream) && (no_colour == NULL || *no_colour == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

unsigned terminal_page(FILE *stream)
{
    unsigned columns = is_terminal(stream) ? terminal_columns(stream) : asked_columns();
    if (columns == 0)
        return PAGE;
    return columns < PAGE_LEAST ? PAGE_LEAST : columns > PAGE_MOST ? PAGE_MOST : columns;
}

/* Returns the length of the next word of text, whose end is at `end`; a word in brackets ends with them. */
static size_t word_length(const char *text, const char *end)
{
    size_t n = 0;
    int open = 0;
    const char *close = text[0] == '[' ? memchr(text, ']', (size_t)(end - text)) : NULL;
    for (; text + n < end; n++) {
        open += text[n] == '[';
        open -= text[n] == ']';
        if ((text[n] == ' ' || text[n] == '\n') && (close == NULL || open <= 0))
            break;
    }
    return n;
}

static unsigned columns_of(const char *text, size_t n)
{
    unsigned columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Prints words from column `first` of this line, of which `at` columns are taken, and from column on the others. */
static void fill(FILE *stream, const char *text, const char *end, unsigned at, unsigned first, unsigned column,
                 unsigned width)
{
    bool begun = false; /* there is a word on this line */
    for (;;) {
        text += strspn(text, " \n") < (size_t)(end - text) ? strspn(text, " \n") : (size_t)(end - text);
        if (text == end)
            break;
        size_t n = word_length(text, end);
        unsigned columns = columns_of(text, n), before = begun ? at + 1 : first;
        if (begun && before + columns > width) {
            fputc('\n', stream);
            at = 0;
            before = column;
        }
        fprintf(stream, "%*s", (int)(before - at), "");
        for (size_t i = 0; i < n; i++)
            fputc(text[i] == '\n' ? ' ' : text[i], stream);
        at = before + columns;
        begun = true;
        text += n;
    }
    fputc('\n', stream);
}

void help_text_fill(FILE *stream, const char *text, unsigned at, unsigned column, unsigned width)
{
    fill(stream, text, text + strlen(text), at, at < column ? column : at, column, width);
}

/* Returns where a line that stands by itself goes on: below its last column, or a little to the right. */
static unsigned hanging(const char *line, size_t length, unsigned own, unsigned width)
{
    size_t column = own;
    for (size_t i = own; i + 2 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ')
            column = i + 2;
    return column > own && column <= width / 2 ? (unsigned)column : own + 4;
}

/* Prints a line that stands by itself, blanks inside as they are. */
static void print_line(FILE *stream, const char *line, size_t length, unsigned width)
{
    unsigned own = (unsigned)strspn(line, " ");
    bool usage = strncmp(line, "usage: ", 7) == 0 || own == 7;
    unsigned column = usage ? 11 : hanging(line, length, own, width);
    size_t kept = column < length && !usage && column > own + 4 ? column : own;
    if (columns_of(line, length) <= width) {
        fprintf(stream, "%.*s\n", (int)length, line);
        return;
    }
    fprintf(stream, "%.*s", (int)kept, line);
    unsigned at = columns_of(line, kept);
    fill(stream, line + kept, line + length, at, at, kept > own ? at : column, width);
}

void help_text_print(FILE *stream, const char *text, unsigned width)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (length == 0) {
            fputc('\n', stream);
        } else if (text[0] == ' ' || strncmp(text, "usage: ", 7) == 0) {
            print_line(stream, text, length, width);
        } else {
            const char *end = text + length;
            while (*end == '\n' && end[1] != '\0' && end[1] != '\n' && end[1] != ' ')
                end += 1 + strcspn(end + 1, "\n");
            fill(stream, text, end, 0, 0, 0, width);
            length = (size_t)(end - text);
        }
        text += length + (text[length] == '\n');
    }
}

void help_text_line(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    strcat(text, "\n");
    help_text_print(stdout, text, terminal_page(stdout));
}
