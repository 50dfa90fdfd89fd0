/* COLUMNS overrides what the kernel says, as in ls and man: users and tests set it on purpose. */
#include "share/base/terminal.h"

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
