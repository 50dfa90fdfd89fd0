/* The tables of commands and options are asked each time, so that the scripts of the shells need no options of their
 * own and never differ from --help. The words of a line are read as options_read() would read them. */
#include "report/command/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "predictor/generate/pattern_make.h"
#include "predictor/models/model.h"
#include "predictor/run/laws/run_choice.h"
#include "share/base/error.h"
#include "share/base/installation.h"
#include "share/base/options.h"

/* The words behind a command, the last one at the cursor. */
struct completed_line {
    int n_words;
    char **words;
    const char *before; /* what every candidate begins with, "--model=" or "postal," */
    size_t n_before;
    const char *wanted; /* what candidates begin with behind that */
};

/* Prints a word that fits, with the first line of what it is (NULL: nothing is said). */
static void offer(const struct completed_line *line, const char *word, const char *summary)
{
    if (strncmp(word, line->wanted, strlen(line->wanted)) != 0)
        return;
    printf("%.*s%s", (int)line->n_before, line->before, word);
    if (summary != NULL && summary[0] != '\0')
        printf("\t%.*s", (int)strcspn(summary, "\n"), summary);
    putchar('\n');
}

static void offer_commands(const struct completed_line *line, const struct command *table)
{
    for (; table->name != NULL; table++)
        offer(line, table->name, table->summary);
}

static int offer_named(void *context, const char *name, const char *path, struct error *error)
{
    (void)path, (void)error;
    if (strcmp(name, "schema") != 0) /* lies beside the queries and is none */
        offer(context, name, NULL);
    return 0;
}

/* Moves the beginning of what is looked for behind the last of those characters. */
static void go_behind(struct completed_line *line, const char *characters)
{
    size_t n = strlen(line->wanted);
    while (n > 0 && strchr(characters, line->wanted[n - 1]) == NULL)
        n--;
    if (line->n_before == 0)
        line->before = line->wanted;
    line->n_before += n;
    line->wanted += n;
}

static void offer_rows(struct completed_line *line, const struct run_choice_row *rows, int n)
{
    for (int i = 0; i < n; i++)
        offer(line, rows[i].name, rows[i].summary);
}

/* Returns whether the rows have one of that name. */
static bool has_row(const struct run_choice_row *rows, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

/* Offers laws of the whole run, or their terms behind a +; rounds: in a list, with the models and terms of rounds and
 * patterns that have other names. */
static void offer_laws(struct completed_line *line, bool rounds)
{
    if (rounds)
        go_behind(line, ",");
    bool terms = strchr(line->wanted, '+') != NULL;
    const struct run_choice_row *rows = terms ? run_term_table : run_law_table;
    int n = terms ? RUN_TERM_COUNT : LAW_COUNT;
    if (terms)
        go_behind(line, "+");
    offer_rows(line, rows, n);
    for (size_t i = 0; rounds && terms && term_table[i] != NULL; i++)
        if (!has_row(rows, n, term_table[i]->name))
            offer(line, term_table[i]->name, term_table[i]->summary);
    for (size_t i = 0; rounds && !terms && model_table[i] != NULL; i++)
        if (!has_row(rows, n, model_table[i]->name))
            offer(line, model_table[i]->name, model_table[i]->summary);
    if (rounds && !terms)
        offer(line, "all", "all of them");
}

static void offer_kind(struct completed_line *line, enum option_words kind)
{
    switch (kind) {
    case WORDS_TRACE:
        puts(":files .db");
        break;
    case WORDS_MODEL:
        offer_laws(line, true);
        break;
    case WORDS_LAW:
        offer_laws(line, false);
        break;
    case WORDS_MACHINE:
        installation_each("machines", ".tbl", offer_named, line, NULL);
        puts(":files .tbl");
        break;
    case WORDS_TOPOLOGY:
        installation_each("topologies", ".topo", offer_named, line, NULL);
        puts(":files .topo");
        puts(":files .conf");
        break;
    case WORDS_QUERY:
        installation_each("sql", ".sql", offer_named, line, NULL);
        break;
    case WORDS_PATTERN:
        for (const struct pattern_kind *pattern = pattern_kinds; pattern->name != NULL; pattern++)
            offer(line, pattern->name, pattern->summary);
        break;
    case WORDS_COMMAND:
        puts(":commands");
        break;
    case WORDS_ANY:
        puts(":files");
        break;
    case WORDS_NONE:
        break;
    }
}

/* Offers what an argument as "L.csv|fill|round-robin-nodes", "FILE.html" or "N" says: words as they are, files where it
 * names one. */
static void offer_argument(const struct completed_line *line, const char *argument)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    while (*argument != '\0') {
        char part[64];
        size_t length = strcspn(argument, "|");
        snprintf(part, sizeof part, "%.*s", (int)length, argument);
        const char *suffix = strrchr(part, '.');
        if (part[0] != '\0' && part[strspn(part, letters)] == '\0')
            offer(line, part, NULL);
        else if (suffix != NULL)
            printf(":files %s\n", suffix);
        else if (strcmp(part, "FILE") == 0 || strcmp(part, "DIR") == 0 || strcmp(part, "PREFIX") == 0)
            puts(":files");
        argument += length + (argument[length] == '|');
    }
}

static void offer_value(struct completed_line *line, const struct option_row *row)
{
    if (row->words != WORDS_ANY)
        offer_kind(line, row->words);
    else
        offer_argument(line, row->argument);
}

static void offer_options(const struct completed_line *line, const struct option_table *table)
{
    char name[64];
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct option_row *row = &table->rows[i];
        if (row->name == NULL)
            continue;
        snprintf(name, sizeof name, "--%s", row->name);
        offer(line, name, row->help);
        snprintf(name, sizeof name, "-%c", row->letter);
        if (row->letter != 0)
            offer(line, name, row->help);
    }
    offer(line, "--help", "the options");
    offer(line, "-h", "the options");
}

/* Returns the option that takes the word behind word as its value, NULL if there is none. */
static const struct option_row *waits_for_value(const struct option_table *table, const char *word)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    if (word[0] != '-' || word[1] == '\0')
        return NULL;
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct option_row *row = &table->rows[i];
        if (row->name != NULL && row->argument != NULL &&
            (is_long ? strcmp(word + 2, row->name) == 0
                     : row->letter != 0 && strcmp(word + 1, (char[]){row->letter, 0}) == 0))
            return row;
    }
    return NULL;
}

/* Completes --name=VALUE, which zsh and fish give as one word. Returns whether it was one. */
static bool complete_assignment(struct completed_line *line, const struct option_table *table)
{
    char name[64];
    const char *equals = strchr(line->wanted, '=');
    if (equals == NULL || line->wanted[0] != '-')
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(equals - line->wanted), line->wanted);
    const struct option_row *row = waits_for_value(table, name);
    line->before = line->wanted;
    line->n_before = (size_t)(equals + 1 - line->wanted);
    line->wanted = equals + 1;
    if (row != NULL)
        offer_value(line, row);
    return true;
}

/* Completes the last word of a line by the table of its command. */
static void complete_by(void *context, const struct option_table *table)
{
    struct completed_line *line = context;
    const struct option_row *value_of = NULL;
    int last = line->n_words - 1, n_plain = 0;
    bool options_end = false;
    for (int i = 0; i < last; i++) {
        const char *word = line->words[i];
        if (value_of != NULL) /* bash gives --name=VALUE as three words */
            value_of = strcmp(word, "=") == 0 ? value_of : NULL;
        else if (!options_end && strcmp(word, "--") == 0)
            options_end = true;
        else if (options_end || word[0] != '-')
            n_plain++;
        else
            value_of = waits_for_value(table, word);
        options_end = options_end || (table->is_launcher && n_plain > 0);
    }
    if (value_of != NULL) {
        line->wanted = strcmp(line->wanted, "=") == 0 ? "" : line->wanted;
        offer_value(line, value_of);
    } else if (!options_end && line->wanted[0] == '-') {
        if (!complete_assignment(line, table))
            offer_options(line, table);
    } else if (table->is_launcher) {
        puts(n_plain == 0 ? ":commands" : ":files");
    } else {
        int n = 0;
        while (n < n_plain && n + 1 < OPTIONS_MAX_WORDS && table->words[n + 1] != WORDS_ANY)
            n++;
        offer_kind(line, table->words[n]);
    }
}

int complete(int n_words, char **words)
{
    if (n_words == 0)
        return EXIT_DONE;
    struct completed_line line = {.n_words = n_words, .words = words, .before = "", .wanted = words[n_words - 1]};
    bool help = n_words > 1 && strcmp(words[0], "help") == 0;
    if (help) {
        line.n_words--;
        line.words++;
    }
    const struct command *command = NULL, *table = commands;
    while (line.n_words > 1 && table != NULL) {
        command = command_find(table, line.words[0]);
        if (command == NULL)
            return EXIT_DONE;
        table = command->subcommands;
        line.n_words--;
        line.words++;
    }
    if (table != NULL) {
        offer_commands(&line, table);
        offer(&line, "--help", "this command and its options");
        if (command == NULL && !help) {
            offer(&line, "help", "explains a command");
            offer(&line, "--version", NULL);
        }
    } else if (!help) {
        options_visit(command->run, command->name, complete_by, &line);
    }
    return EXIT_DONE;
}
