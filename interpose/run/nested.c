/* The run around this one has set MPISTAIR_KEY and MPISTAIR_SPOOL in our environment; our job gets others. The trace's
 * name is left as the target of a symbolic link, so that it is there as a whole or not at all. See nested.h. */
#include "interpose/run/nested.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/error.h"

#define PREFIX "inner-run-"

void nested_leave(const char *output)
{
    const char *key = getenv("MPISTAIR_KEY"), *folder = getenv("MPISTAIR_SPOOL");
    char link[PATH_MAX];
    if (key == NULL || folder == NULL ||
        snprintf(link, sizeof link, "%s/" PREFIX "%ld", folder, (long)getpid()) >= (int)sizeof link)
        return;
    if (symlink(output, link) != 0)
        return; /* the outer run has ended, or is on another host */
}

size_t nested_tell(const char *folder)
{
    DIR *stream = opendir(folder);
    size_t n = 0;
    if (stream == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        char output[PATH_MAX];
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        ssize_t length = readlinkat(dirfd(stream), entry->d_name, output, sizeof output - 1);
        if (length <= 0)
            continue;
        output[length] = '\0';
        inform("the mpistair run inside this one recorded its job: %s", output);
        unlinkat(dirfd(stream), entry->d_name, 0);
        n++;
    }
    closedir(stream);
    return n;
}
