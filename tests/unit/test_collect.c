/* Tests what is known before a collector is started: which spools are missing, and how a launcher's options are told
 * from the program behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/run/collect.h"

#include <cmocka.h> /* its fail is a macro */

static char *kept_words[128];

/* Returns the words of a text, NULL at the end; valid until the next call. */
static char *const *words_of(char *text)
{
    size_t n = 0;
    for (char *word = strtok(text, " "); word != NULL && n < 127; word = strtok(NULL, " "))
        kept_words[n++] = word;
    kept_words[n] = NULL;
    return kept_words;
}

static void expect_command(const char *command, const char *nodes, size_t n_nodes, const char *expected)
{
    static const char *const folders[] = {"/tmp/s", "/tmp/a b"};
    char text[1024];
    snprintf(text, sizeof text, "%s", command);
    char *found = collect_command(words_of(text), folders, 2, "t.db", nodes, n_nodes);
    char *behind = strstr(found, "mpistair ingest /tmp/s '/tmp/a b' -o t.db -- ");
    assert_ptr_equal(behind, found);
    assert_string_equal(behind + strlen("mpistair ingest /tmp/s '/tmp/a b' -o t.db -- "), expected);
    free(found);
}

/* Options of the launcher stay but those by which files of the job would be written over; the program goes. */
static void options_are_told_from_the_program(void **state)
{
    (void)state;
    unsetenv("SLURM_JOB_NODELIST");
    expect_command("srun -N 4 -n16 --mpi pmix -o out.%t --error=e --label -K true -o x", NULL, 0,
                   "srun -N 4 -n16 --mpi pmix --label -K");
    expect_command("srun --mpi=pmix -J true true", "n1,n2", 2,
                   "srun --mpi=pmix -J true --nodes=2 --ntasks=2 --nodelist=n1,n2");
    expect_command("mpiexec -genv A true -n 4 -outfile-pattern f -l true : -n 2 true", NULL, 0,
                   "mpiexec -genv A true -n 4 -l");
    expect_command("mpirun --mca pml ob1 -x true --map-by ppr:1:node --oversubscribe true true", NULL, 0,
                   "mpirun --mca pml ob1 -x true --map-by ppr:1:node --oversubscribe");
}

/* What is no launcher, or has no program where one should be, is not started; the line then names srun. */
static void what_is_not_understood_is_not_started(void **state)
{
    static const char *const commands[] = {"bash job.sh", "srun -p true /no/program", "srun --multi-prog /dev/null",
                                           "srun", "env A=1 srun true"};
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s", commands[i]);
        assert_false(collect_knows(words_of(text)));
        expect_command(commands[i], "n1", 1, "srun --nodes=1 --ntasks=1 --nodelist=n1");
    }
    char text[] = "srun -n 2 true";
    assert_true(collect_knows(words_of(text)));
}

/* Any number of words. */
static void long_commands(void **state)
{
    (void)state;
    for (int n = 0; n < 100; n++) {
        char text[1024] = "srun", expected[1024] = "srun";
        for (int i = 0; i < n; i++) {
            strcat(text, " -O");
            strcat(expected, " -O");
        }
        strcat(text, " true");
        expect_command(text, NULL, 0, expected);
    }
}

static char folder[] = "/tmp/mpistair-collect-XXXXXX";

static void put(const char *name, const void *bytes, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* Ranks by the names of files, one without a header too; nodes by KEY.run. */
static void missing_spools_are_seen(void **state)
{
    struct spool_header header = {
        .magic = SPOOL_MAGIC, .world_size = 8, .family = SPOOL_FAMILY_MPICH, .run_key = "k-1"};
    char host[64] = "", hosts[256], command[64];
    struct seen_runs seen;
    const char *folders[] = {folder, "/no/folder"};
    (void)state;
    assert_non_null(mkdtemp(folder));
    seen_runs_find(folders, 2, &seen);
    assert_int_equal(seen.n, 0);
    assert_false(seen_runs_lack(&seen, NULL));
    gethostname(host, sizeof host - 1);
    put("k-1-0.mpispool", &header, sizeof header);
    put("k-1-1.mpispool", &header, sizeof header);
    header.node_leader = 2;
    put("k-1-2.mpispool", &header, sizeof header); /* its node has 3, too */
    put("k-1-4.mpispool", "", 0);
    put("k-1-8.mpispool", "", 0);
    put("k-11-2.mpispool", "", 0);
    put("k-1-3.maps", "", 0);
    put("k-1.run", hosts, (size_t)snprintf(hosts, sizeof hosts, "0 2 %s\n2 2 n2\n4 4 n4\n", host));
    seen_runs_find(folders, 2, &seen);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.runs[0].n_missing, 4);
    assert_int_equal(seen.runs[0].n_hosts, 3);
    assert_string_equal(seen.runs[0].missing_hosts, "n2,n4");
    assert_true(seen.runs[0].has_own_host);
    assert_true(seen_runs_lack(&seen, NULL));
    assert_true(seen_runs_lack(&seen, "k-1"));
    assert_false(seen_runs_lack(&seen, "k-11"));
    seen_runs_release(&seen);
    put("k-1.run", hosts, (size_t)snprintf(hosts, sizeof hosts, "0 2 %s\n", host));
    seen_runs_find(folders, 2, &seen);
    assert_false(seen_runs_lack(&seen, NULL)); /* no other node could have them */
    seen_runs_release(&seen);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_told_from_the_program),
        cmocka_unit_test(what_is_not_understood_is_not_started),
        cmocka_unit_test(long_commands),
        cmocka_unit_test(missing_spools_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
