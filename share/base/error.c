/* Words every message the same way on stderr, so that users and scripts can rely on "mpistair: " and the exit codes. */
#include "share/base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/progress.h"
#include "share/base/utf8.h"

/* Fills a message; names in it may have any bytes, and a name may be cut in the middle of a character. */
static void error_fill(struct error *error, const char *format, va_list arguments)
{
    vsnprintf(error->text, sizeof error->text, format, arguments);
    utf8_clean(error->text, error->text, strlen(error->text));
}

int error_set(struct error *error, const char *format, ...)
{
    if (error == NULL)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, format, arguments);
    va_end(arguments);
    return -1;
}

int error_report(const struct error *error)
{
    progress_show(NULL);
    fprintf(stderr, "mpistair: %s\n", error->text);
    return EXIT_WORK_FAILED;
}

/* Prints a message of any length. */
static void print(const char *format, va_list arguments)
{
    char *text = NULL;
    progress_show(NULL);
    if (vasprintf(&text, format, arguments) < 0)
        return;
    utf8_clean(text, text, strlen(text));
    fprintf(stderr, "mpistair: %s\n", text);
    free(text);
}

int fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
    return EXIT_WORK_FAILED;
}

void inform(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

int wrong_usage(const char *command, const char *format, ...)
{
    struct error error;
    va_list arguments;
    va_start(arguments, format);
    error_fill(&error, format, arguments);
    va_end(arguments);
    size_t length = strlen(error.text);
    bool asks = length > 0 && error.text[length - 1] == '?';
    fprintf(stderr, "mpistair: %s%s '%s%s%s--help'\n", error.text, asks ? " See" : "; see",
            strncmp(command, "mpistair-", 9) == 0 ? "" : "mpistair ", command, command[0] != '\0' ? " " : "");
    return EXIT_WRONG_USAGE;
}
