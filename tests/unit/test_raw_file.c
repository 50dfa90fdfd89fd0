/* Tests raw_file.h and notes.h: what a killed calibration leaves is continued, everything else refused without a loss.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate/samples/raw_file.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define HEADER  "benchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,at_s"
#define PROBE   "# probe pingpong 1 0.100 1e-07 2e-04 0.0000 - quiet"
#define ROW(at) "pingpong,,intra_socket,8,1,1,1e-06,1,0-1,,10," at

static char folder[] = "/tmp/mpistair-raw-XXXXXX";
static char path[64], part[72];
static char *words[] = {(char *)"launcher mpiexec -n 2", (char *)"seconds 57"};
static struct text_list asked = {.texts = words, .n = 2};

static int folder_make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/m.raw.csv", folder);
    snprintf(part, sizeof part, "%s.part", path);
    return 0;
}

static int folder_remove(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int files_remove(void **state)
{
    (void)state;
    unlink(path);
    unlink(part);
    return 0;
}

static void write_part(const char *text, size_t length)
{
    FILE *file = fopen(part, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static const char *contents(const char *of)
{
    static char text[4096];
    FILE *file = fopen(of, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void open_well(struct raw_file *raw, bool restart)
{
    struct error error;
    if (raw_file_open(raw, path, &asked, restart, &error) != 0)
        fail_msg("%s", error.text);
}

static void writes_and_renames(void **state)
{
    (void)state;
    struct raw_file raw;
    struct error error;
    open_well(&raw, false);
    assert_false(raw.continued);
    assert_int_equal(raw_file_begin(&raw, "pingpong", 1, 19.5, &error), 0);
    assert_int_equal(raw_file_line(&raw, ROW("0.1"), &error), 0); /* no header yet */
    assert_int_equal(raw_file_line(&raw, HEADER, &error), 1);
    assert_int_equal(raw_file_note(&raw, "ranks 2", &error), 0);
    assert_int_equal(raw_file_line(&raw, ROW("0.1"), &error), 1);
    assert_int_equal(raw_file_line(&raw, "Algorithm 1,,intra_socket,8,1,1,1e-06,1,0-1,,10,0.1", &error), 0);
    assert_int_equal(raw_file_line(&raw, "pingpong,,intra_socket,8,1,1,1e-06,1,0", &error), 0);
    assert_int_equal(raw_file_line(&raw, "pingpongs are fun", &error), 0);
    assert_int_equal(raw_file_line(&raw, PROBE, &error), 1);
    assert_int_equal(raw_file_line(&raw, "# probe pingpong 1 0.1", &error), 0);
    assert_int_equal(raw_file_line(&raw, "# other", &error), 0);
    assert_int_equal(raw_file_note(&raw, "ranks 2", &error), 0);
    assert_int_equal(raw_file_note(&raw, "progress pingpong 1 2 3.0", &error), 0);
    assert_int_equal(raw_file_done(&raw, 17.25, &error), 0);
    assert_int_equal(raw_file_commit(&raw, &error), 0);
    raw_file_release(&raw);
    assert_string_equal(contents(path), "# mpistair calibrate 1\n# asked launcher mpiexec -n 2\n# asked seconds 57\n"
                                        "# begin pingpong 1 19.5\n" HEADER
                                        "\n# ranks 2\n" ROW("0.1") "\n" PROBE "\n# done pingpong 1 17.250\n");
    assert_int_equal(access(part, F_OK), -1);
}

static void sets_aside(void **state)
{
    (void)state;
    struct raw_file raw;
    struct error error;
    char aside[96];
    snprintf(aside, sizeof aside, "%s.disturbed", path);
    write_part("", 0);
    assert_int_equal(rename(part, path), 0);
    open_well(&raw, false);
    assert_int_equal(raw_file_begin(&raw, "pingpong", 1, 19.5, &error), 0);
    assert_int_equal(raw_file_set_aside(&raw, &error), 0);
    assert_string_equal(raw.path, aside);
    raw_file_release(&raw);
    assert_string_equal(contents(path), "");
    assert_non_null(strstr(contents(aside), "# begin pingpong 1 19.5\n"));
    assert_int_equal(access(part, F_OK), -1);
    unlink(aside);
}

static const char interrupted[] =
    "# mpistair calibrate 1\n# asked launcher mpiexec -n 2\n# asked seconds 57\n"
    "# begin eager 1 2\n" HEADER "\n# ranks 2\n# library MPI of old\n"
    "eager,taken,intra_socket,8,1,1,1e-06,1,0-1,,1,1.5\n# done eager 1 2.125\n"
    "# begin pingpong 1 19.5\n" ROW("0.250") "\n" PROBE "\n" ROW("4.500") "\n" ROW("4.125") "\n";

static void continues_what_was_cut_off(void **state)
{
    (void)state;
    struct raw_file raw;
    struct error error;
    char text[sizeof interrupted + 64];
    size_t length = (size_t)snprintf(text, sizeof text, "%s%s", interrupted, "pingpong,,intra_so");
    write_part(text, length);
    open_well(&raw, false);
    assert_true(raw.continued);
    assert_int_equal(raw.n_samples, 4);
    const struct stage *eager = raw_file_stage(&raw, "eager", 1), *pingpong = raw_file_stage(&raw, "pingpong", 1);
    assert_non_null(eager);
    assert_true(eager->done);
    assert_true(eager->spent_s == 2.125);
    assert_non_null(pingpong);
    assert_false(pingpong->done);
    assert_true(pingpong->spent_s == 4.5 && pingpong->seconds == 19.5);
    assert_null(raw_file_stage(&raw, "pingpong", 2));
    assert_int_equal(notes_ranks(&raw.notes), 2);
    /* The stage goes on behind the last whole line. */
    assert_int_equal(raw_file_begin(&raw, "pingpong", 1, 1, &error), 0);
    assert_int_equal(raw_file_line(&raw, HEADER, &error), 1);
    assert_int_equal(raw_file_line(&raw, ROW("5.000"), &error), 1);
    assert_true(raw_file_leave(&raw));
    raw_file_release(&raw);
    assert_int_equal(strncmp(contents(part), interrupted, sizeof interrupted - 1), 0);
    assert_string_equal(contents(part) + sizeof interrupted - 1, "# begin pingpong 1 19.5\n" ROW("5.000") "\n");
}

/* Opens a file, which must fail with that reason and leave the file as it is. */
static void refused(const char *text, size_t length, const char *reason)
{
    struct raw_file raw;
    struct error error = {.text = ""};
    write_part(text, length);
    assert_int_equal(raw_file_open(&raw, path, &asked, false, &error), -1);
    if (strstr(error.text, reason) == NULL)
        fail_msg("'%s' does not hold '%s'", error.text, reason);
    assert_string_equal(contents(part), text);
    open_well(&raw, true);
    assert_int_equal(raw.n_samples, 0);
    assert_false(raw_file_leave(&raw));
    raw_file_release(&raw);
    assert_int_equal(access(part, F_OK), -1);
}

static void refuses_another_calibration(void **state)
{
    (void)state;
    char text[sizeof interrupted + 64];
    char *seconds;
    strcpy(text, interrupted);
    seconds = strstr(text, "seconds 57");
    assert_non_null(seconds);
    memcpy(seconds, "seconds 23", 10);
    refused(text, strlen(text), "with 4 samples had 'seconds 23', this one has 'seconds 57'");
    snprintf(text, sizeof text, "%.*s# asked shared-link 0-2,1-3\n%s", 23, interrupted, interrupted + 23);
    refused(text, strlen(text), "had 'shared-link 0-2,1-3', this one has 'nothing of the kind'");
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "level,bytes,seconds\nintra_socket,1,1e-6\n",
        "# mpistair calibrate 1\n" HEADER "\n" ROW("1") "\n",
        "# mpistair calibrate 1\n# begin pingpong 1 2\n" HEADER "\n" ROW("x") "\n",
        "# mpistair calibrate 1\n# begin pingpong 1 2\n" HEADER "\npingpong,,1\n",
        "# mpistair calibrate 1\n\n",
        "# mpistair calibrate 1\n# probe pingpong 1 0.100 1e-07 2e-04 0 -\n",
        "# mpistair calibrate 1\n# probe pingpong 1 0.100 1e-07 2e-04 0 - loud\n",
        "# mpistair calibrate 1\n# begin pingpong 1 2\n" HEADER "\n" HEADER "\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refused(texts[i], strlen(texts[i]), "not written by an interrupted calibration");
    struct raw_file raw;
    struct error error = {.text = ""};
    static const char zero[] = "# mpistair calibrate 1\n# begin\0 pingpong 1 2\n";
    write_part(zero, sizeof zero - 1);
    assert_int_equal(raw_file_open(&raw, path, &asked, false, &error), -1);
    assert_non_null(strstr(error.text, ".part:2: not written"));
    refused("# mpistair calibrate 1\n# ranks 2\n# ranks 3\n", 44, "the number of ranks was 2, is now 3");
}

static void begins_anew_with_nothing_to_lose(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "# mpis", "# mpistair calibrate 1\n# asked launcher srun\n# rank"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct raw_file raw;
        write_part(texts[i], strlen(texts[i]));
        open_well(&raw, false);
        assert_false(raw.continued);
        assert_null(strstr(contents(part), "srun"));
        raw_file_release(&raw);
        assert_int_equal(access(part, F_OK), -1);
    }
}

static void locks(void **state)
{
    (void)state;
    struct raw_file first, second;
    struct error error = {.text = ""};
    open_well(&first, false);
    assert_int_equal(raw_file_open(&second, path, &asked, true, &error), -1);
    assert_non_null(strstr(error.text, "another calibration writes it"));
    raw_file_release(&first);
    char elsewhere[sizeof path + 8];
    snprintf(elsewhere, sizeof elsewhere, "%s/none/m.raw.csv", folder);
    assert_int_equal(raw_file_open(&second, elsewhere, &asked, true, &error), -1);
    assert_non_null(strstr(error.text, "/none/m.raw.csv.part: cannot be written"));
}

static void job_must_stay_the_same(void **state)
{
    (void)state;
    struct notes notes = {.n_places = 0};
    struct error error = {.text = ""};
    assert_int_equal(notes_take(&notes, "ranks 1", &error), -1);
    assert_non_null(strstr(error.text, "started 1 rank: expected two or more"));
    assert_int_equal(notes_take(&notes, "ranks 4", &error), 1);
    assert_int_equal(notes_take(&notes, "ranks 4", &error), 0);
    assert_int_equal(notes_take(&notes, "ranks 5", &error), -1);
    assert_non_null(strstr(error.text, "the number of ranks was 4, is now 5"));
    assert_int_equal(notes_take(&notes, "library A 1", &error), 1);
    assert_int_equal(notes_take(&notes, "library A 2", &error), -1);
    assert_non_null(strstr(error.text, "the MPI library was A 1, is now A 2"));
    notes_release(&notes);
}

static void nodes_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *places[3];
        bool several;
    } cases[] = {
        {{"ranks 3", "library A 1", "binding 3 ranks on 2 nodes"}, false}, /* no place is told yet */
        {{"place 0 0 0 - - node 0-1", "place 1 0 1 - - node 0-1", "place 2 0 0 - - node 0-1"}, false},
        {{"place 0 2 0 - - node 0-1", "place 1 2 1 - - node 0-1", "place 2 2 0 - - node 0-1"}, false},
        {{"place 0 0 0 - - node 0-1", "place 1 0 1 - - node 0-1", "place 2 1 0 - - other 0-1"}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct notes notes = {.n_places = 0};
        struct error error;
        for (int place = 0; place < 3; place++)
            assert_int_equal(notes_take(&notes, cases[i].places[place], &error), 1);
        if (notes_several_nodes(&notes) != cases[i].several)
            fail_msg("case %zu", i);
        notes_release(&notes);
    }
}

/* Some notes move from program to program: the first program's are kept, others once. */
static void notes_are_kept_once(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int taken;
    } cases[] = {
        {"ranks 3", 1},
        {"place 0 0 0 - - node 0-1", 1},
        {"place 1 0 0 - - node 0-1", 1},
        {"place 0 0 1 - - node 0-1", 0}, /* of the next program, after a kill */
        {"place 1 0 1 - - node 0-1", 0},
        {"place 2 0 1 - - node 0-1", 1},
        {"place 2 0 0 - - node 0-1", 0},
        {"binding 3 ranks unbound on 1 node", 1},
        {"binding 3 ranks bound to a core each on 1 node", 0},
        {"oversubscribed 3 2", 1},
        {"oversubscribed 4 2", 0},
        {"domain intra_socket l3 4", 1},
        {"domain intra_socket l3 5", 0},
        {"domain intra_socket numa 5", 1},
        {"rendezvous intra_socket 4096 limit", 1},
        {"rendezvous intra_socket 8192 limit", 0},
        {"rendezvous inter_node 65536 limit", 1},
        {"left_out inter_socket: none", 1},
        {"left_out inter_socket: none", 0},
        {"late pingpong: 3 of 4", 1},
        {"late pingpong: 4 of 4", 1},
        {"progress pingpong 1 2 3", 0},
    };
    struct notes notes = {.n_places = 0};
    struct error error;
    char job[64], *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (notes_take(&notes, cases[i].text, &error) != cases[i].taken)
            fail_msg("%s: expected %d", cases[i].text, cases[i].taken);
    notes_describe_job(&notes, job, sizeof job);
    assert_string_equal(job, "3 ranks unbound on 1 node");
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    notes_print(&notes, stream);
    fclose(stream);
    assert_string_equal(text, "oversubscribed: 3 ranks on 2 cores of a node\n"
                              "intra_socket: rendezvous from 4096 B, as the MPI reports (limit)\n"
                              "inter_node: rendezvous from 65536 B, as the MPI reports (limit)\n"
                              "left out: inter_socket: none\nlate pingpong: 3 of 4\nlate pingpong: 4 of 4\n");
    free(text);
    notes_release(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(writes_and_renames, files_remove),
        cmocka_unit_test_teardown(sets_aside, files_remove),
        cmocka_unit_test_teardown(continues_what_was_cut_off, files_remove),
        cmocka_unit_test_teardown(refuses_another_calibration, files_remove),
        cmocka_unit_test_teardown(refuses_what_is_none, files_remove),
        cmocka_unit_test_teardown(begins_anew_with_nothing_to_lose, files_remove),
        cmocka_unit_test_teardown(locks, files_remove),
        cmocka_unit_test(job_must_stay_the_same),
        cmocka_unit_test(nodes_are_told),
        cmocka_unit_test(notes_are_kept_once),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
