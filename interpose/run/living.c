/* A spool names its process and its host. A number that the system has given to another process meanwhile costs the
 * time of the wait, no more. */
#include "interpose/run/living.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interpose/spool/event.h"

enum { PATIENCE_MS = 10000, POLL_MS = 20 };

/* Says whether a process runs; what has ended and waits for its parent does not. */
static bool is_living(uint32_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    bool is_there = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL)
        fclose(file);
    const char *name_end = is_there ? strrchr(line, ')') : NULL;
    return name_end != NULL && name_end[1] == ' ' && strchr("ZX", name_end[2]) == NULL;
}

/* Says whether the spool is of a process of this host that has not ended. */
static bool is_written(const char *folder, const char *name, const char *host)
{
    char path[4096];
    struct spool_header header;
    const char *suffix = strstr(name, SPOOL_SUFFIX);
    if (suffix == NULL || strcmp(suffix, SPOOL_SUFFIX) != 0 ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return false;
    size_t got = fread(&header, sizeof header, 1, file);
    fclose(file);
    return got == 1 && header.magic == SPOOL_MAGIC && header.end == SPOOL_END_NONE &&
           strncmp(header.host, host, sizeof header.host) == 0 && is_living(header.pid);
}

static size_t count_written(const char *folder)
{
    char host[sizeof((struct spool_header *)0)->host] = "";
    size_t n = 0;
    DIR *stream = opendir(folder);
    if (stream == NULL || gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    for (struct dirent *entry; host[0] != '\0' && (entry = readdir(stream)) != NULL;)
        n += is_written(folder, entry->d_name, host);
    if (stream != NULL)
        closedir(stream);
    return n;
}

size_t living_wait(const char *folder)
{
    size_t n = count_written(folder);
    for (int waited_ms = 0; n > 0 && waited_ms < PATIENCE_MS; waited_ms += POLL_MS) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        n = count_written(folder);
    }
    return n;
}
