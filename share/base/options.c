/* getopt_long cuts the arguments: permutation, abbreviations, letters in a row. Long options have the codes LONG + row.
 */
#include "share/base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/number.h"

enum { LONG = 256, COLUMN = 27, MAX_ROWS = 40 };

static const struct option_row help_row = {.letter = 'h', .name = "help", .help = ""};

/* Prints a row's option and returns the columns that it takes. */
static int print_option(const struct option_row *row, bool joined)
{
    int n = row->letter != 0 ? printf("%s-%c, --%s", joined ? ", " : "  ", row->letter, row->name)
                             : printf("%s--%s", joined ? ", " : "      ", row->name);
    return row->argument != NULL ? n + printf(" %s", row->argument) : n;
}

/* Prints the lines of text at COLUMN, the first one behind `at` columns. */
static void print_lines(const char *text, int at)
{
    for (size_t length; length = strcspn(text, "\n"), text[length] != '\0'; text += length + 1, at = 0)
        printf("%*s%.*s\n", COLUMN - at, "", (int)length, text);
    printf("%*s%s\n", *text != '\0' ? COLUMN - at : 0, "", text);
}

static void print_help(const struct option_table *table)
{
    int at = 0;
    printf("%s\n", table->usage);
    for (size_t i = 0; i <= table->n_rows; i++) {
        const struct option_row *row = i < table->n_rows ? &table->rows[i] : &help_row;
        if (row->name == NULL) {
            printf("\n%s\n", row->help);
            continue;
        }
        at += print_option(row, at > 0);
        if (row->help == NULL)
            continue;
        if (at >= COLUMN)
            putchar('\n');
        print_lines(row->help, at < COLUMN ? at : 0);
        at = 0;
    }
    if (table->notes != NULL)
        printf("\n%s", table->notes);
    if (table->list != NULL)
        table->list();
}

static int take_choice(const char *command, const struct option_row *row, const char *text)
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
    return wrong_usage(command, "--%s %.40s: expected %s", row->name, text, expected);
}

static int take_number(const char *command, const struct option_row *row, const char *text)
{
    uint64_t most = row->most != 0 ? row->most : row->u32 != NULL ? UINT32_MAX : UINT64_MAX, whole = 0;
    double real = 0;
    if (row->real != NULL) {
        if (number_real(text, &real) != NULL || real < (double)row->least || real > (double)most)
            return wrong_usage(command, "--%s %.40s: expected a number, %llu to %llu", row->name, text,
                               (unsigned long long)row->least, (unsigned long long)most);
        *row->real = real;
        return 0;
    }
    if (number_u64(text, &whole) != NULL || whole < row->least || whole > most)
        return wrong_usage(command, "--%s %.40s: expected a whole number, %llu to %llu", row->name, text,
                           (unsigned long long)row->least, (unsigned long long)most);
    if (row->whole != NULL)
        *row->whole = whole;
    else
        *row->u32 = (uint32_t)whole;
    return 0;
}

static int take(const struct option_table *table, const struct option_row *row, const char *text)
{
    if (row->given != NULL)
        *row->given = true;
    if (row->take != NULL)
        return row->take(table->context, text);
    if (row->choice != NULL && row->argument != NULL)
        return take_choice(table->command, row, text);
    if (row->whole != NULL || row->u32 != NULL || row->real != NULL)
        return take_number(table->command, row, text);
    if (row->choice != NULL)
        *row->choice = row->value;
    else if (row->text != NULL)
        *row->text = text;
    else if (row->flag != NULL)
        *row->flag = true;
    return 0;
}

int options_read(const struct option_table *table, int *argc, char ***argv)
{
    struct option known[MAX_ROWS + 2] = {{"help", no_argument, NULL, 'h'}};
    char letters[2 * MAX_ROWS + 4] = "";
    size_t n_known = 1, n_letters = 0;
    size_t row_of[256] = {0};
    if (table->is_launcher)
        letters[n_letters++] = '+';
    letters[n_letters++] = ':'; /* a missing value is told apart */
    letters[n_letters++] = 'h';
    for (size_t i = 0; i < table->n_rows && i < MAX_ROWS; i++) {
        const struct option_row *row = &table->rows[i];
        if (row->name == NULL)
            continue;
        int has_argument = row->argument != NULL ? required_argument : no_argument;
        known[n_known++] = (struct option){row->name, has_argument, NULL, LONG + (int)i};
        if (row->letter == 0)
            continue;
        row_of[(unsigned char)row->letter] = i;
        letters[n_letters++] = row->letter;
        if (has_argument == required_argument)
            letters[n_letters++] = ':';
    }
    optind = 0;
    opterr = 0;
    for (int code; (code = getopt_long(*argc, *argv, letters, known, NULL)) != -1;) {
        if (code == 'h') {
            print_help(table);
            return EXIT_DONE;
        }
        if (code == ':' || code == '?')
            return wrong_usage(table->command, "%s: %s", (*argv)[optind - 1],
                               code == ':' ? "a value is missing" : "not an option of this command");
        int result = take(table, &table->rows[code >= LONG ? (size_t)(code - LONG) : row_of[code]], optarg);
        if (result != 0)
            return result;
    }
    *argc -= optind;
    *argv += optind;
    return OPTIONS_READ;
}
