/* getopt_long cuts the arguments: permutation, abbreviations, letters in a row. Long options have the codes LONG + row.
 * --help prints the names on the left and what they mean in a column on the right, below the name where that is long or
 * the terminal narrow. */
#include "share/base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/nearest.h"
#include "share/base/number.h"
#include "share/base/terminal.h"

enum { LONG = 256, MAX_ROWS = 80 };
/* Columns of --help: where the meaning begins, the same on a narrow terminal, the width from which it is not narrow. */
enum { COLUMN = 27, NARROW = 10, LEAST_WIDTH = 72 };

static struct {
    void (*take)(void *context, const struct option_table *table); /* NULL: not visiting */
    void *context;
} visitor;

static int take_choice(const struct option_row *row, const char *text, struct error *error)
{
    size_t length = strlen(text), used = 0;
    char expected[256] = "";
    int place = 0;
    for (const char *word = row->argument; word != NULL; place++) {
        size_t end = strcspn(word, "|");
        if (end == length && memcmp(word, text, end) == 0) {
            *row->choice = place;
            return 0;
        }
        const char *next = word[end] == '|' ? word + end + 1 : NULL;
        const char *join = place == 0 ? "" : next != NULL ? ", " : " or ";
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%.*s", join, (int)end, word);
        word = next;
    }
    struct nearest nearest = nearest_to(text);
    nearest_add_choices(&nearest, row->argument);
    return error_set(error, "--%s %.40s: expected %s%s", row->name, text, expected, nearest_hint(&nearest));
}

static int take_number(const struct option_row *row, const char *text, struct error *error)
{
    uint64_t most = row->most != 0 ? row->most : row->u32 != NULL ? UINT32_MAX : UINT64_MAX, whole = 0;
    double real = 0;
    if (row->real != NULL) {
        if (number_real(text, &real) != NULL || real < (double)row->least || real > (double)most)
            return error_set(error, "--%s %.40s: expected a number, %llu to %llu", row->name, text,
                             (unsigned long long)row->least, (unsigned long long)most);
        *row->real = real;
        return 0;
    }
    if (number_u64(text, &whole) != NULL || whole < row->least || whole > most)
        return error_set(error, "--%s %.40s: expected a whole number, %llu to %llu", row->name, text,
                         (unsigned long long)row->least, (unsigned long long)most);
    if (row->whole != NULL)
        *row->whole = whole;
    else
        *row->u32 = (uint32_t)whole;
    return 0;
}

int option_set(const struct option_row *row, const char *text, struct error *error)
{
    if (row->given != NULL)
        *row->given = true;
    if (row->choice != NULL && row->argument != NULL)
        return take_choice(row, text, error);
    if (row->whole != NULL || row->u32 != NULL || row->real != NULL)
        return take_number(row, text, error);
    if (row->choice != NULL)
        *row->choice = row->value;
    else if (row->text != NULL)
        *row->text = text;
    else if (row->flag != NULL)
        *row->flag = true;
    return 0;
}

static int take_option(const struct option_table *table, const struct option_row *row, const char *text)
{
    struct error error;
    if (row->take != NULL) {
        if (row->given != NULL)
            *row->given = true;
        return row->take(table->context, text);
    }
    return option_set(row, text, &error) == 0 ? 0 : wrong_usage(table->command, "%s", error.text);
}

/* A table in the form that getopt_long takes. */
struct known {
    struct option options[MAX_ROWS + 2];
    char letters[2 * MAX_ROWS + 5];
    size_t row_of[256]; /* of a letter */
};

static void known_make(struct known *known, const struct option_table *table)
{
    size_t n = 0, n_letters = 0;
    *known = (struct known){.options = {{"help", no_argument, NULL, 'h'}}};
    if (table->is_launcher)
        known->letters[n_letters++] = '+';
    known->letters[n_letters++] = ':'; /* a missing value is told apart */
    known->letters[n_letters++] = 'h';
    for (size_t i = 0; i < table->n_rows && i < MAX_ROWS; i++) {
        const struct option_row *row = &table->rows[i];
        if (row->name == NULL)
            continue;
        int has_argument = row->argument != NULL ? required_argument : no_argument;
        known->options[++n] = (struct option){row->name, has_argument, NULL, LONG + (int)i};
        if (row->letter == 0)
            continue;
        known->row_of[(unsigned char)row->letter] = i;
        known->letters[n_letters++] = row->letter;
        if (has_argument == required_argument)
            known->letters[n_letters++] = ':';
    }
}

/* Reports --name, which getopt_long does not know. */
static int wrong_name(const struct option_table *table, const struct known *known, const char *name)
{
    char wanted[80], several[256] = "";
    struct nearest nearest;
    size_t length = strcspn(name, "="), n = 0, used = 0;
    snprintf(wanted, sizeof wanted, "%.*s", length < 60 ? (int)length : 60, name);
    nearest = nearest_to(wanted);
    for (const struct option *option = known->options; option->name != NULL; option++) {
        char with_dashes[64];
        snprintf(with_dashes, sizeof with_dashes, "--%.60s", option->name);
        nearest_add(&nearest, with_dashes);
        if (strncmp(option->name, wanted + 2, length - 2) != 0 || used >= sizeof several - sizeof with_dashes)
            continue;
        used += (size_t)snprintf(several + used, sizeof several - used, "%s%s", n++ > 0 ? " or " : "", with_dashes);
    }
    if (n > 1)
        return wrong_usage(table->command, "%s: expected %s", wanted, several);
    return wrong_usage(table->command, "%s: not an option of this command%s", wanted, nearest_hint(&nearest));
}

/* Reports a wrong option; code is getopt_long's, word the argument that has it. */
static int wrong_option(const struct option_table *table, const struct known *known, int code, const char *word)
{
    if (optopt == 0)
        return wrong_name(table, known, word);
    char name[64];
    if (optopt >= LONG)
        snprintf(name, sizeof name, "--%.60s", table->rows[optopt - LONG].name);
    else
        snprintf(name, sizeof name, "-%c", optopt);
    return wrong_usage(table->command, "%s: %s", name,
                       code == ':'                           ? "a value is missing"
                       : optopt >= LONG || strchr(word, '=') ? "takes no value"
                                                             : "not an option of this command");
}

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

static void print_help(const struct option_table *table)
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

int options_read(const struct option_table *table, int *argc, char ***argv)
{
    struct known known;
    if (visitor.take != NULL) {
        visitor.take(visitor.context, table);
        return EXIT_DONE;
    }
    known_make(&known, table);
    optind = 0;
    opterr = 0;
    for (int code; (code = getopt_long(*argc, *argv, known.letters, known.options, NULL)) != -1;) {
        if (code == 'h') {
            print_help(table);
            return EXIT_DONE;
        }
        if (code == ':' || code == '?')
            return wrong_option(table, &known, code, (*argv)[optind - 1]);
        size_t row = code >= LONG ? (size_t)(code - LONG) : known.row_of[(unsigned char)code];
        int result = take_option(table, &table->rows[row], optarg);
        if (result != 0)
            return result;
    }
    *argc -= optind;
    *argv += optind;
    return OPTIONS_READ;
}

void options_visit(int (*run)(int argc, char **argv), const char *name,
                   void (*take_table)(void *context, const struct option_table *table), void *context)
{
    char own[64];
    snprintf(own, sizeof own, "%s", name);
    visitor.take = take_table;
    visitor.context = context;
    run(1, (char *[]){own, NULL});
    visitor.take = NULL;
}
