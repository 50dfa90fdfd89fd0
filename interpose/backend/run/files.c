/* Brings the files of a run at its end to where rank 0's ingest finds them, and removes them in the end.
 * See files.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/spool/event.h"
#include "interpose/spool/file_limit.h"
#include "interpose/spool/readers.h"
#include "interpose/backend/run/files.h"
#include "interpose/backend/run/say_line.h"

/* Copies a file. Returns 0, or -1 with errno. */
static int copy_file(const char *from, const char *to)
{
    char *buffer = malloc(1 << 18);
    int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), failed = 1;
    if (in >= 0 && buffer)
        unlink(to); /* it may be from an earlier run of the same name, or a link that somebody put there */
    int out = in < 0 || !buffer ? -1 : open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, readers_file_mode());
    if (out >= 0) {
        struct file_limit limit;
        ssize_t length;
        failed = 0;
        file_limit_begin(&limit);
        while (!failed && (length = read(in, buffer, 1 << 18)) != 0)
            failed = length < 0 || write(out, buffer, (size_t)length) != length;
        file_limit_end(&limit);
        failed |= close(out) != 0;
    }
    int error = errno;
    if (in >= 0)
        close(in);
    free(buffer);
    errno = error;
    return failed ? -1 : 0;
}

/* Sets to = folder/(last part of path). */
static void join_name(char to[PATH_MAX], const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(to, PATH_MAX, "%.3000s/%.500s", folder, slash ? slash + 1 : path);
}

int run_collect(struct run *run)
{
    char folder[PATH_MAX], to[PATH_MAX];
    snprintf(folder, sizeof folder, "%.4000s.spool", run->facts.output);
    join_name(to, folder, run->spool);
    int failed = mkdir(folder, readers_folder_mode()) != 0 && errno != EEXIST;
    failed = failed || copy_file(run->spool, to) != 0;
    if (!failed && run->maps[0]) {
        join_name(to, folder, run->maps);
        failed = copy_file(run->maps, to) != 0;
    }
    if (!failed && run->made_topology) {
        join_name(to, folder, run->topology);
        failed = copy_file(run->topology, to) != 0;
    }
    if (failed) {
        say_line("rank %d: its records cannot be copied to %s: %s; they stay in %s on %s", run->rank, folder,
                 strerror(errno), run->spool, run->host);
        return -1;
    }
    return 0;
}

void run_remove_files(const struct run *run, const char *folder, int remove_folder)
{
    DIR *listing = opendir(folder);
    size_t length = strlen(run->facts.key);
    struct dirent *entry;
    while (listing && (entry = readdir(listing)))
        if (strncmp(entry->d_name, run->facts.key, length) == 0 &&
            (entry->d_name[length] == '-' || entry->d_name[length] == '.'))
            unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
    if (remove_folder)
        rmdir(folder);
}
