/* Keeps one file at a time, in /tmp, gone with the next or with the test. */
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

const char *scratch_write(const char *bytes, size_t length)
{
    if (path[0] != '\0')
        unlink(path);
    strcpy(path, "/tmp/mpistair-test-XXXXXX");
    int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return path;
}

const char *scratch_text(const char *text)
{
    return scratch_write(text, strlen(text));
}

const char *scratch_gone(void)
{
    static char gone[sizeof path];
    strcpy(gone, scratch_text(""));
    unlink(gone);
    path[0] = '\0';
    return gone;
}

int scratch_remove(void **state)
{
    (void)state;
    if (path[0] != '\0')
        unlink(path);
    path[0] = '\0';
    return 0;
}
