/* The file is there from the start and says at any time what was known, as the process may be killed. It is made as a
 * whole (folder.h); its end is added only to the very file that was made. */
#include "interpose/backend/site/module_text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/backend/run/folder.h"
#include "interpose/spool/file_limit.h"

#define LINE_BYTES ((size_t)PATH_MAX + 512)

void module_text_add(struct module_text *text, const char *format, ...)
{
    va_list arguments;
    if (text->room - text->length < LINE_BYTES) {
        size_t room = 2 * text->room + 4 * LINE_BYTES;
        char *memory = realloc(text->text, room);
        if (!memory) {
            text->is_cut = 1;
            return;
        }
        text->text = memory;
        text->room = room;
    }
    va_start(arguments, format);
    int length = vsnprintf(text->text + text->length, LINE_BYTES, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < LINE_BYTES)
        text->length += (size_t)length;
    else
        text->is_cut = 1;
}

static int write_rest(const struct module_text *text, int out)
{
    for (size_t at = text->written; at < text->length;) {
        ssize_t length = write(out, text->text + at, text->length - at);
        if (length <= 0)
            return -1;
        at += (size_t)length;
    }
    return 0;
}

static int write_new(int out, const void *data)
{
    return write_rest(data, out);
}

/* Opens the file to add to it. Returns -1 if there is none, or another one than we made. */
static int open_file(const struct module_text *text, int folder, const char *name, int flags)
{
    struct stat status;
    int file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || text->inode == 0 ||
        (fstat(file, &status) == 0 && status.st_dev == text->device && status.st_ino == text->inode))
        return file;
    close(file);
    return -1;
}

static int add_end(const struct module_text *text, int folder, const char *name)
{
    struct file_limit limit;
    int file = open_file(text, folder, name, O_WRONLY | O_APPEND);
    if (file < 0)
        return -1;
    file_limit_begin(&limit);
    int result = write_rest(text, file);
    file_limit_end(&limit);
    return close(file) == 0 ? result : -1;
}

static int make_anew(struct module_text *text, const struct run *run, int folder, const char *name)
{
    struct stat status;
    text->written = 0;
    text->inode = 0;
    if (folder_write(run, run->maps, write_new, text) != 0)
        return -1;
    int file = open_file(text, folder, name, O_RDONLY);
    if (file >= 0 && fstat(file, &status) == 0) {
        text->device = status.st_dev;
        text->inode = status.st_ino;
    }
    if (file >= 0)
        close(file);
    return 0;
}

void module_text_write(struct module_text *text, const struct run *run)
{
    const char *name = strrchr(run->maps, '/');
    int folder = name && text->written < text->length ? folder_open(run) : -1, result = -1;
    if (folder < 0)
        return;
    if (text->written > 0 && text->inode != 0)
        result = add_end(text, folder, name + 1);
    if (result != 0)
        result = make_anew(text, run, folder, name + 1);
    if (result == 0 && !text->is_cut) {
        text->written = text->length;
        text->owes_loss = 0;
    } else if (text->owes_loss || text->is_cut) {
        text->written = 0;
        unlinkat(folder, name + 1, 0);
    }
    close(folder);
}
