/* Words every message the same way on stderr, so that users and scripts can rely on "mpistair: " and the exit codes. */
#include "share/base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "share/base/progress.h"

int error_set(struct error *error, const char *format, ...)
{
    if (error == NULL)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}

int error_report(const struct error *error)
{
    progress_show(NULL);
    fprintf(stderr, "mpistair: %s\n", error->text);
    return EXIT_WORK_FAILED;
}

int fail(const char *format, ...)
{
    va_list arguments;
    progress_show(NULL);
    va_start(arguments, format);
    fputs("mpistair: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_WORK_FAILED;
}

int wrong_usage(const char *command, const char *format, ...)
{
    struct error error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.text, sizeof error.text, format, arguments);
    va_end(arguments);
    size_t length = strlen(error.text);
    bool asks = length > 0 && error.text[length - 1] == '?';
    fprintf(stderr, "mpistair: %s%s 'mpistair %s%s--help'\n", error.text, asks ? " See" : "; see", command,
            command[0] != '\0' ? " " : "");
    return EXIT_WRONG_USAGE;
}
