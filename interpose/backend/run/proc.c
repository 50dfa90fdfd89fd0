/* Files of /proc have no size, so they are read until they end. See proc.h. */
#include "interpose/backend/run/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)4 << 20) /* more than an environment has */

char *proc_read(long pid, const char *name, size_t *length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t room = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    *length = 0;
    while (got > 0 && *length < MOST_BYTES) {
        if (room - *length < 4096) {
            char *wider = realloc(text, room + 65536);
            if (!wider)
                break;
            text = wider;
            room += 65536;
        }
        got = read(fd, text + *length, room - *length - 1);
        *length += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    if (!text || got != 0) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

/* Reads numbers 4 and 22 of /proc/PID/stat; they become 0 where they cannot be read. */
static void read_stat(long pid, long *parent, unsigned long long *start_ticks)
{
    size_t length;
    char *stat = proc_read(pid, "stat", &length);
    char *behind_name = stat ? strrchr(stat, ')') : NULL;
    if (!behind_name ||
        sscanf(behind_name + 1, " %*c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               parent, start_ticks) != 2) {
        *parent = 0;
        *start_ticks = 0;
    }
    free(stat);
}

long proc_parent(long pid)
{
    unsigned long long start_ticks;
    long parent;
    read_stat(pid, &parent, &start_ticks);
    return parent;
}

unsigned long long proc_start_ticks(long pid)
{
    unsigned long long start_ticks;
    long parent;
    read_stat(pid, &parent, &start_ticks);
    return start_ticks;
}
