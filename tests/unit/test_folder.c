/* Tests the recorder's folder among other users' files: what is not ours is not taken, and no link is followed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "interpose/backend/run/folder.h"

static char top[] = "/tmp/mpistair-folder-XXXXXX";
static char elsewhere[128], victim[160];
static struct run own_run;

static int set_up(void **state)
{
    (void)state;
    strcpy(top + strlen(top) - 6, "XXXXXX");
    umask(022);
    if (!mkdtemp(top))
        return -1;
    snprintf(own_run.folder, sizeof own_run.folder, "%s/run", top);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", top);
    snprintf(victim, sizeof victim, "%s/victim", elsewhere);
    FILE *file = mkdir(elsewhere, 0700) == 0 ? fopen(victim, "w") : NULL;
    if (!file)
        return -1;
    fputs("precious", file);
    return fclose(file);
}

static int tear_down(void **state)
{
    char command[160];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", top);
    return system(command);
}

static void expect_victim(void)
{
    char text[16] = "";
    FILE *file = fopen(victim, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, "precious");
    fclose(file);
}

/* The run's folder is made or taken, by all processes of a node; only we may look into it. */
static void own_folder_is_shared_by_our_processes(void **state)
{
    struct stat status;
    (void)state;
    assert_int_equal(folder_make(&own_run, 1), 0);
    assert_int_equal(folder_make(&own_run, 1), 0);
    assert_int_equal(stat(own_run.folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    setenv("MPISTAIR_READERS", "group", 1);
    rmdir(own_run.folder);
    assert_int_equal(folder_make(&own_run, 1), 0);
    unsetenv("MPISTAIR_READERS");
    assert_int_equal(stat(own_run.folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0750);
}

/* A link, a folder that others may write to, or another user's, is not taken; one that the user named is. */
static void foreign_folder_is_not_taken(void **state)
{
    (void)state;
    assert_int_equal(symlink(elsewhere, own_run.folder), 0);
    assert_int_equal(folder_make(&own_run, 1), EPERM);
    assert_int_equal(folder_make(&own_run, 0), 0);
    unlink(own_run.folder);
    assert_int_equal(mkdir(own_run.folder, 0777), 0);
    assert_int_equal(chmod(own_run.folder, 0777), 0);
    assert_int_equal(folder_make(&own_run, 1), EPERM);
    assert_int_equal(chmod(own_run.folder, 0700), 0);
    assert_int_equal(folder_make(&own_run, 1), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(own_run.folder, 1, 1), 0);
        assert_int_equal(folder_make(&own_run, 1), EPERM);
    }
}

static int write_word(int fd, const void *data)
{
    return write(fd, data, strlen(data)) == (ssize_t)strlen(data) ? 0 : -1;
}

static int write_and_fail(int fd, const void *data)
{
    write_word(fd, data);
    return -1;
}

/* Links in the folder lead nowhere, and a file that cannot be written as a whole leaves what was there. */
static void links_are_not_followed(void **state)
{
    char path[PATH_MAX + 16], beside[PATH_MAX + 32], text[16] = "";
    (void)state;
    assert_int_equal(folder_make(&own_run, 1), 0);
    snprintf(path, sizeof path, "%s/file", own_run.folder);
    snprintf(beside, sizeof beside, "%s.new", path);
    assert_int_equal(symlink(victim, path), 0);
    assert_int_equal(symlink(victim, beside), 0);
    assert_int_equal(folder_create(&own_run, path, 0), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(folder_write(&own_run, path, write_word, "whole"), 0);
    assert_int_equal(folder_write(&own_run, path, write_and_fail, "part"), -1);
    assert_int_equal(access(beside, F_OK), -1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "whole");
    expect_victim();
}

/* Nothing is made where another folder has the name now. */
static void another_folder_of_the_name_is_not_used(void **state)
{
    char path[PATH_MAX + 16], moved[PATH_MAX + 16];
    (void)state;
    assert_int_equal(folder_make(&own_run, 1), 0);
    snprintf(path, sizeof path, "%s/file", own_run.folder);
    snprintf(moved, sizeof moved, "%s.moved", own_run.folder);
    assert_int_equal(rename(own_run.folder, moved), 0);
    assert_int_equal(symlink(elsewhere, own_run.folder), 0);
    assert_int_equal(folder_open(&own_run), -1);
    assert_int_equal(folder_create(&own_run, path, 1), -1);
    assert_int_equal(folder_write(&own_run, path, write_word, "whole"), -1);
    snprintf(path, sizeof path, "%s/file", elsewhere);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_folder_is_shared_by_our_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_folder_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_folder_of_the_name_is_not_used, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
