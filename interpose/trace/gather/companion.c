/* A spool's header names further files, and a header may be damaged or forged. So only the last part of the name is
 * used, in the spool's own folder, and what is opened must be a plain file of bounded length. */
#include "interpose/trace/gather/companion.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/memory.h"

/* Opens the spool's folder. Returns its descriptor, or -1. */
static int open_folder(const struct spool *spool)
{
    const char *slash = strrchr(spool->path, '/');
    char *folder = slash == NULL ? xstrdup(".") : xstrndup(spool->path, (size_t)(slash - spool->path) + 1);
    int descriptor = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return descriptor;
}

/* Reads all of the file; one that grows meanwhile is cut. */
static char *read_file(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > (off_t)COMPANION_LIMIT_BYTES)
        return NULL;
    size_t size = (size_t)status.st_size, length = 0;
    char *text = xmalloc(size + 1);
    for (ssize_t got; length < size && (got = read(file, text + length, size - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    return text;
}

char *companion_read(const struct spool *spool, const char *named)
{
    const char *slash = strrchr(named, '/'), *name = slash != NULL ? slash + 1 : named;
    int folder = name[0] == '\0' ? -1 : open_folder(spool);
    int file = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = file < 0 ? NULL : read_file(file);
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    return text;
}
