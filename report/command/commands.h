/* The commands of mpistair as tables, and those that belong to report itself. argv[0] of a command is its name; it
 * returns the exit code (error.h) and understands --help. */
#ifndef MPISTAIR_REPORT_COMMANDS_H
#define MPISTAIR_REPORT_COMMANDS_H

/* A row of a table of commands, or of the subcommands of one; the last row has no name. */
struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
    const struct command *subcommands; /* NULL: none, and options_read() reads its arguments */
};

extern const struct command commands[];

/* Returns the command of that name, NULL if there is none. */
const struct command *command_find(const struct command *table, const char *name);
/* Runs the command that argv[1] names and returns its exit code. */
int commands_run(int argc, char **argv);
/* Prints the help of mpistair. */
int commands_help(void);

/* Runs `mpistair --complete WORD ...`: words[n_words] are those behind mpistair, the last one, perhaps empty, is at the
 * cursor. Prints a line for each word that fits, behind a tab what it is. A line that begins with a colon leaves the
 * completion to the shell: ":files" or ":files .db", ":commands". Returns the exit code. */
int complete(int n_words, char **words);

int cmd_machine(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
