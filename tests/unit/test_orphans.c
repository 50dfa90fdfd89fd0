/* Tests that launcher.h finds and ends what its child leaves behind: shells start processes and end before them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/job/launcher.h"
#include "share/base/monotonic.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MAX_LEFT = 4 };

/* Holds the processes that a shell told, a number a line. */
struct left {
    pid_t pids[MAX_LEFT];
    int n;
};

static void take(struct left *left, const char *line)
{
    assert_in_range(left->n, 0, MAX_LEFT - 1);
    left->pids[left->n] = (pid_t)atoi(line);
    assert_true(left->pids[left->n++] > 0);
}

/* Runs a script until its shell has ended. */
static struct left run(const char *script)
{
    struct left left = {.n = 0};
    char line[64];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t shell = fork();
    if (shell == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *told = fdopen(ends[0], "r");
    assert_non_null(told);
    while (fgets(line, sizeof line, told) != NULL)
        take(&left, line);
    fclose(told);
    assert_int_equal(waitpid(shell, NULL, 0), shell);
    return left;
}

static bool lives(pid_t pid)
{
    return kill(pid, 0) == 0;
}

/* One that ends by itself, one that a signal ends, one that takes no notice of it, and its child. */
static void ends_what_is_left(void **state)
{
    (void)state;
    assert_true(orphans_collect());
    struct left left = run("sleep 0.1 >&- & echo $!; sleep 600 >&- & echo $!;"
                           "(trap '' TERM; sleep 600 >&- & echo $!; exec >&-; wait) & echo $!");
    assert_int_equal(left.n, 4);
    orphans_end(0.3);
    for (int i = 0; i < left.n; i++)
        assert_false(lives(left.pids[i]));
}

static void waits_no_longer_than_they_live(void **state)
{
    (void)state;
    assert_true(orphans_collect());
    struct left left = run("sleep 0.2 >&- & echo $!");
    orphans_end(600);
    assert_false(lives(left.pids[0]));
}

/* A daemon has made a session of its own: ssh's, for one, serves later connections. */
static void lets_daemons_live(void **state)
{
    (void)state;
    assert_true(orphans_collect());
    struct left left = run("setsid sh -c 'echo $$; exec sleep 600 >&-' &");
    assert_int_equal(left.n, 1);
    orphans_end(0.1);
    assert_true(lives(left.pids[0]));
    kill(left.pids[0], SIGKILL);
    assert_int_equal(waitpid(left.pids[0], NULL, 0), left.pids[0]);
}

/* Whose children those are that we have by now, nobody knows. */
static void spares_children_of_before(void **state)
{
    (void)state;
    pid_t before = fork();
    if (before == 0) {
        execlp("sleep", "sleep", "600", (char *)NULL);
        _exit(127);
    }
    assert_false(orphans_collect());
    assert_true(lives(before));
    kill(before, SIGKILL);
    assert_int_equal(waitpid(before, NULL, 0), before);
}

static int hear(void *context, enum child_stream stream, const char *line, bool whole, struct error *error)
{
    (void)stream, (void)whole, (void)error;
    take(context, line);
    return 0;
}

/* As a launcher that is killed: what it started lives on, and has our streams open. */
static void a_child_leaves_nothing(void **state)
{
    (void)state;
    struct left left = {.n = 0};
    const struct child_listener listener = {.line = hear, .context = &left};
    char *argv[] = {"sh", "-c", "sleep 600 & echo $!; kill -9 $$", NULL};
    struct error error = {.text = ""};
    int status = 0;
    assert_int_equal(child_run(argv, 60, &listener, &status, &error), 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(left.n, 1);
    assert_false(lives(left.pids[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_what_is_left),      cmocka_unit_test(waits_no_longer_than_they_live),
        cmocka_unit_test(lets_daemons_live),      cmocka_unit_test(spares_children_of_before),
        cmocka_unit_test(a_child_leaves_nothing),
    };
    return cmocka_run_group_tests_name("orphans", tests, NULL, NULL);
}
