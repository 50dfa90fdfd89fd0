/* Files that people write have lines of any length, zero bytes and missing ends; all readers refuse or accept these
 * alike, with the line in the message. */
#include "share/base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const char *path, struct error *error)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    return stream;
}

/* Reads one line without its end into line[max_bytes + 1]. Returns 1; 0 at the end of the file; -1 with what is
 * wrong. */
static int next_line(FILE *stream, char *line, size_t max_bytes, struct error *error)
{
    size_t length = 0;
    int c;
    while ((c = getc(stream)) != EOF && c != '\n') {
        if (c == '\0')
            return error_set(error, "a zero byte, not a text file");
        if (length == max_bytes)
            return error_set(error, "a line of more than %zu bytes", max_bytes);
        line[length++] = (char)c;
    }
    line[length] = '\0';
    return c != EOF || length > 0;
}

int text_file_lines(const char *path, size_t max_bytes, int (*take)(void *context, char *line, struct error *error),
                    void *context, struct error *error)
{
    FILE *stream = open_file(path, error);
    if (stream == NULL)
        return -1;
    struct error reason = {.text = ""};
    char *line = malloc(max_bytes + 1);
    int result = line != NULL ? 0 : error_set(error, "%s: no memory", path), more = 0;
    for (size_t n = 1; result == 0 && (more = next_line(stream, line, max_bytes, &reason)) != 0; n++)
        if (more < 0 || take(context, line, &reason) != 0)
            result = error_set(error, "%s:%zu: %s", path, n, reason.text);
    if (result == 0 && ferror(stream))
        result = error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    free(line);
    fclose(stream);
    return result;
}

char *text_file_read(const char *path, size_t max_bytes, struct error *error)
{
    FILE *stream = open_file(path, error);
    if (stream == NULL)
        return NULL;
    char *text = calloc(1, max_bytes + 1);
    size_t length = text == NULL ? 0 : fread(text, 1, max_bytes, stream);
    if (length == 0) {
        error_set(error, "%s: cannot be read: %s", path, ferror(stream) ? strerror(errno) : "empty");
        free(text);
        text = NULL;
    }
    fclose(stream);
    return text;
}
