/* One sentence for the user about an error, carried from where its cause is known to where it is printed.
 *
 * A function that can fail for a reason worth reporting takes a struct error and fills it where the reason is known:
 * what, where (file:line, option, rank), what was expected, what to do. Whoever handles it prints it once. */
#ifndef MPISTAIR_BASE_ERROR_H
#define MPISTAIR_BASE_ERROR_H

struct error {
    char text[1024];
};

/* Sets the text, cut to fit and of harmless bytes, and returns -1, for `return error_set(...)`. error may be NULL. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Exit codes of all commands. */
enum { EXIT_DONE = 0, EXIT_WORK_FAILED = 1, EXIT_WRONG_USAGE = 2 };

/* Prints `mpistair: text` on stderr and returns EXIT_WORK_FAILED. */
int error_report(const struct error *error);
/* As error_report, with the message from a format; for commands that find the error themselves. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a note, not an error, in the same form. */
void inform(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints wrong usage in the same form, with a hint at `mpistair COMMAND --help`; command may be empty, or name another
 * program, mpistair-... Returns EXIT_WRONG_USAGE. A text that ends with a question mark stays a sentence of its own. */
int wrong_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
