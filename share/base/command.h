/* Declares the commands of mpistair, each in a file cmd_NAME.c in the folder to which it belongs, and finds one by its
 * name. argv[0] is the command's name. Each returns the exit code (error.h) and understands --help. */
#ifndef MPISTAIR_BASE_COMMAND_H
#define MPISTAIR_BASE_COMMAND_H

/* A row of a table of commands, or of the subcommands of one; the last row has no name. */
struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
    const struct command *subcommands; /* NULL: none, and options_read() reads its arguments */
};

/* Returns the command of that name, NULL if there is none. */
const struct command *command_find(const struct command *commands, const char *name);
/* Runs the command that argv[1] names and returns its exit code; says what was expected where there is none. of is what
 * the commands belong to, "machine", empty for mpistair. */
int command_run(const struct command *commands, const char *of, int argc, char **argv);
/* Prints the commands with their summaries, at the width of the terminal. */
void command_list(const struct command *commands);

int cmd_run(int argc, char **argv);
int cmd_ingest(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_finegrain(int argc, char **argv);
int cmd_machine(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_pattern(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

extern const struct command machine_subcommands[];

#endif
