/* Describes the options of a command as one table, from which its arguments are read, its --help is printed and its
 * errors are worded.
 *
 *     const struct option_row rows[] = {
 *         {'o', "output", "FILE", "where to write", .text = &output},
 *         {'f', "format", "text|json", "text is the default", .choice = &format},
 *         {0, "top", "N", "so many rows", .whole = &top, .least = 1, .most = 1000},
 *     };
 *     const struct option_table table = {"show", "usage: mpistair show TRACE [OPTIONS]\n", rows, 3};
 *     int code = options_read(&table, &argc, &argv);
 *     if (code != OPTIONS_READ)
 *         return code;
 */
#ifndef MPISTAIR_BASE_OPTIONS_H
#define MPISTAIR_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

/* What the words of an option or argument are, for completion in shells. Choices, "text|csv", are completed by
 * themselves, and so are files: of an argument that ends in ".csv" or contains "FILE" or "DIR". */
enum option_words {
    WORDS_ANY,     /* as the row's argument says; for words that are no options: files */
    WORDS_TRACE,   /* trace.db, or a folder of spools */
    WORDS_MODEL,   /* "flow,staircase+queue", "all" */
    WORDS_LAW,     /* "flow+memory" */
    WORDS_MACHINE, /* shipped ones, or a .tbl file */
    WORDS_TOPOLOGY,
    WORDS_QUERY,
    WORDS_PATTERN, /* kinds of pattern */
    WORDS_COMMAND, /* a program, what follows is its own */
    WORDS_NONE,    /* nothing is offered: numbers, names to be made */
};

/* A row of a table. The pointer that is set gives the type of the option and where its value goes; an option that is
 * not given leaves it unchanged. A row without a name is a heading of --help, its help. */
struct option_row {
    char letter;          /* 0: none */
    const char *name;     /* without "--" */
    const char *argument; /* as --help shows it; NULL: none */
    const char *help;     /* filled into lines; NULL: explained with the next option */

    bool *flag;        /* set */
    const char **text; /* borrowed from argv */
    uint64_t *whole;   /* from least to most; most 0: no bound */
    uint32_t *u32;     /* the same */
    double *real;      /* the same */
    int *choice;       /* the place of the word among those of argument, "text|csv|json"; without argument: value */
    int value;
    uint64_t least, most;
    /* Takes any other value. Returns 0, or the exit code after saying what was expected. */
    int (*take)(void *context, const char *text);
    bool *given; /* set where the option is there; may be NULL */
    enum option_words words;
};

/* Gives the option of a row without take a value that does not come from the command line; text NULL where it takes
 * none. Returns 0, or -1 with what was expected. */
int option_set(const struct option_row *row, const char *text, struct error *error);

enum { OPTIONS_MAX_WORDS = 4 };

struct option_table {
    const char *command; /* "report", "machine fit" */
    const char *usage;   /* --help up to the options, set as terminal.h says */
    const struct option_row *rows;
    size_t n_rows;
    const char *notes;                          /* --help behind the options, set as usage, or NULL */
    void (*list)(void);                         /* prints what comes behind that, or NULL */
    void *context;                              /* handed to take */
    bool is_launcher;                           /* everything from the first word on is another program's */
    enum option_words words[OPTIONS_MAX_WORDS]; /* the first words that are no options; more are as the last */
};

enum { OPTIONS_READ = -1 };

/* Reads argv[1 ..]. Returns OPTIONS_READ, and (*argv)[*argc] are the words that are no options; else the exit code,
 * after --help was printed (EXIT_DONE; -h, --help is in every table) or what was wrong (EXIT_WRONG_USAGE). */
int options_read(const struct option_table *table, int *argc, char ***argv);

/* Calls take with the table of a command, which run hands to options_read(), and does nothing else of the command. The
 * table lives for that call only. */
void options_visit(int (*run)(int argc, char **argv), const char *name,
                   void (*take)(void *context, const struct option_table *table), void *context);

#endif
