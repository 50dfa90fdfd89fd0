/* Names of a user's folders go to the terminal of the job, or into its log: one with a control character must neither
 * move the cursor nor look like a line of its own. */
#include "interpose/backend/run/say_line.h"

#include <linux/limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "share/base/utf8.h"

void say_line(const char *format, ...)
{
    char text[4 * PATH_MAX]; /* a command has three names of files */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    utf8_clean(text, text, strlen(text));
    fprintf(stderr, "mpistair: %s\n", text);
}
