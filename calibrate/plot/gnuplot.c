/* Machine names and sources come from users and other programs, and end up in a script that gnuplot runs: nothing of
 * them may be taken for a command, and gnuplot's complaints must reach the user. */
#include "calibrate/plot/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/utf8.h"

extern char **environ;

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Finds the first line of what gnuplot said that is a sentence: it repeats the command and marks a place before. */
static void complaint(FILE *said, char line[256])
{
    char read[256];
    line[0] = '\0';
    rewind(said);
    while (fgets(read, sizeof read, said) != NULL) {
        const char *text = read + strspn(read, " \t\r\n^");
        if (*text != '\0')
            snprintf(line, 256, "%.*s", (int)strcspn(text, "\r\n"), text);
        if (strncmp(text, "line ", 5) == 0)
            return;
    }
}

static int run(FILE *in, FILE *picture, FILE *said, struct error *error)
{
    static char name[] = "gnuplot", defaults[] = "-d", from_stdin[] = "-";
    char *const argv[] = {name, defaults, from_stdin, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return error_set(error, "gnuplot cannot be started: %s", strerror(failed));
    failed = posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
    if (failed == 0)
        failed = posix_spawnp(&child, name, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
        return error_set(error, "gnuplot, which draws the pictures, is not in PATH: install it (package gnuplot-nox of "
                                "Debian and Ubuntu)");
    if (failed != 0)
        return error_set(error, "gnuplot cannot be started: %s", strerror(failed));
    int status = wait_for(child);
    if (status == 0)
        return 0;
    char line[256];
    complaint(said, line);
    if (status > 0 && WIFSIGNALED(status))
        return error_set(error, "gnuplot: ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return error_set(error, "gnuplot: %s", line[0] != '\0' ? line : "failed without a word");
}

int gnuplot_run(const char *script, FILE *picture, struct error *error)
{
    FILE *in = tmpfile(), *said = tmpfile();
    int result;
    if (in == NULL || said == NULL)
        result = error_set(error, "no temporary file for gnuplot: %s", strerror(errno));
    else if (fputs(script, in) == EOF || fflush(in) != 0 || fflush(picture) != 0)
        result = error_set(error, "the script for gnuplot cannot be written: %s", strerror(errno));
    else {
        rewind(in); /* the child reads from where the descriptor stands */
        result = run(in, picture, said, error);
    }
    if (in != NULL)
        fclose(in);
    if (said != NULL)
        fclose(said);
    return result;
}

/* Recognises U+FFFE and U+FFFF, which XML does not have. */
static bool no_xml(const unsigned char *character, size_t length)
{
    return length == 3 && character[0] == 0xef && character[1] == 0xbf && character[2] >= 0xbe;
}

void gnuplot_string(FILE *script, const char *text, size_t length)
{
    length = strnlen(text, length);
    fputc('\'', script);
    for (size_t i = 0, step; i < length; i += step) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t n = utf8_length(at, length - i);
        if (no_xml(at, n))
            n = 0;
        step = n > 0 ? n : 1;
        if (n == 0)
            fputc('?', script);
        else if (n == 1 && (*at < 0x20 || *at == 0x7f))
            fputc(' ', script);
        else if (*at == '\'')
            fputs("''", script);
        else if (*at == '>' && i >= 2 && at[-1] == ']' && at[-2] == ']')
            fputs(" >", script);
        else
            fwrite(at, 1, n, script);
    }
    fputc('\'', script);
}
