/* Prints --help of a table of options: the names on the left, what they mean in a column on the right, below the name
 * where that is long or the terminal narrow. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "share/base/help_text.h"
#include "share/base/options.h"
#include "share/base/terminal.h"

enum { COLUMN = 27, NARROW = 10, LEAST_WIDTH = 72 };

static const struct option_row help_row = {.letter = 'h', .name = "help", .help = "this text"};

/* Prints the value of an option that begins at column `at`, broken behind a '|' where it is too long. Returns the
 * columns taken. */
static unsigned print_argument(const char *argument, unsigned at, unsigned width)
{
    while (*argument != '\0') {
        size_t length = strcspn(argument, "|");
        length += argument[length] == '|';
        if (at + length > width && at > NARROW) {
            printf("\n%*s", NARROW, "");
            at = NARROW;
        }
        printf("%.*s", (int)length, argument);
        at += (unsigned)length;
        argument += length;
    }
    return at;
}

/* Prints a row's option and returns the columns that are taken then, of which `at` were before. */
static unsigned print_option(const struct option_row *row, unsigned at, unsigned width)
{
    char name[80];
    const char *argument = row->argument != NULL ? row->argument : "";
    int length = row->letter != 0 ? snprintf(name, sizeof name, "-%c, --%s", row->letter, row->name)
                                  : snprintf(name, sizeof name, "--%s", row->name);
    unsigned whole = (unsigned)length + (unsigned)strlen(argument) + (*argument != '\0');
    if (at > 0 && at + 2 + whole > width) {
        printf(",\n");
        at = 0;
    }
    at += (unsigned)(at > 0 ? printf(", ") : printf("%*s", row->letter != 0 ? 2 : 6, ""));
    at += (unsigned)printf("%s", name);
    if (*argument == '\0')
        return at;
    putchar(' ');
    return print_argument(argument, at + 1, width);
}

void options_print_help(const struct option_table *table)
{
    unsigned at = 0, width = terminal_page(stdout), column = width >= LEAST_WIDTH ? COLUMN : NARROW;
    help_text_print(stdout, table->usage, width);
    putchar('\n');
    for (size_t i = 0; i <= table->n_rows; i++) {
        const struct option_row *row = i < table->n_rows ? &table->rows[i] : &help_row;
        if (row->name == NULL) {
            putchar('\n');
            help_text_fill(stdout, row->help, 0, 0, width);
            continue;
        }
        at = print_option(row, at, width);
        if (row->help == NULL)
            continue;
        bool below = at + 2 > column && row->help[0] != '\0';
        if (below)
            putchar('\n');
        help_text_fill(stdout, row->help, below ? 0 : at, column, width);
        at = 0;
    }
    if (table->notes != NULL) {
        putchar('\n');
        help_text_print(stdout, table->notes, width);
    }
    if (table->list != NULL)
        table->list();
}
