/* The commands of mpistair as tables, and those that belong to report itself. argv[0] of a command is its name; it
 * returns the exit code (error.h) and understands --help. */
#ifndef MPISTAIR_REPORT_COMMANDS_H
#define MPISTAIR_REPORT_COMMANDS_H

#include <sqlite3.h>
#include <stddef.h>

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
int cmd_scaling(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/* The option rows --json and -o: where the format goes, an int, and the path. */
#define OUTPUT_ROWS(format, path)                                                                                      \
    {0, "json", NULL, "the same as --format json", .choice = (format), .value = FORMAT_JSON},                          \
    {                                                                                                                  \
        'o', "output", "FILE",                                                                                         \
            "the file to write; default: standard output; an existing file is replaced once the new one is complete",  \
            .text = (path)                                                                                             \
    }

/* A trace that a user names: a trace.db, or spools, which are ingested first (the run was too large for the end of the
 * job, or it was killed). */
struct open_trace {
    sqlite3 *database;
    char *path; /* of the database that was opened, as text to show: bytes that are no UTF-8 are replaced */
};

/* Opens path read-only. A folder of spools, or one spool of it, stands for FOLDER/trace.db, written if it is missing or
 * older than a spool. Returns an exit code and has printed the reason if it is not 0; close_trace in either case. */
int open_trace(struct open_trace *trace, const char *path);
struct run_window;
struct trace_part;
/* Does the same, and restricts the trace to a part of its run (predictor/run_read/trace_part.h). */
int open_trace_part(struct open_trace *trace, const char *path, const struct run_window *window,
                    struct trace_part *part);
void close_trace(struct open_trace *trace);

/* Reads "5%", "5 %" or "5" as 0.05. Returns 0, or -1 for anything else. */
int parse_percent(const char *text, double *share);

struct comparison_options;
/* Takes --launches of a command: the noise between launches. Returns 0, or the exit code, printed. */
int take_launches(const char *command, const char *text, struct comparison_options *options);

struct profile;
/* Opens traces, or that part of each (NULL: all), and reads their profiles (report/compare/comparison.h); where one has
 * not all calls, all by their totals. Returns an exit code, as open_trace. */
int read_profiles(char **paths, size_t n, const struct run_window *window, struct open_trace *traces,
                  struct profile *profiles);

#endif
