/* A file of a site is read by every process of every job, so it may be anything: a folder, a pipe, of any size and
 * content. See settings.h. */
#include "share/base/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTINGS_FILE "/etc/mpistair.conf"

enum { SETTINGS_MOST_BYTES = 64 << 10, SETTINGS_IRREGULAR = -1, SETTINGS_TOO_LONG = -2 };

/* What may stand in the file: all but what belongs to one run (MPISTAIR_KEY), to tests, or to calibration. */
static const char *const setting_keys[] = {
    "MPISTAIR_BIN",      "MPISTAIR_COUNTERS",    "MPISTAIR_DETAIL",      "MPISTAIR_DISABLE",    "MPISTAIR_INGEST",
    "MPISTAIR_JOIN_S",   "MPISTAIR_LIB",         "MPISTAIR_OUTPUT",      "MPISTAIR_PARTITIONS", "MPISTAIR_PLACEMENT",
    "MPISTAIR_PCONTROL", "MPISTAIR_PREALLOCATE", "MPISTAIR_READERS",     "MPISTAIR_SHARE",      "MPISTAIR_SPOOL",
    "MPISTAIR_STACK",    "MPISTAIR_THREAD",      "MPISTAIR_SPOOL_LIMIT", "MPISTAIR_WINDOW",
};

enum { N_SETTING_KEYS = sizeof setting_keys / sizeof setting_keys[0] };

static struct {
    bool is_read;
    int failure; /* errno, or SETTINGS_IRREGULAR, ... */
    char path[PATH_MAX];
    char text[SETTINGS_MOST_BYTES + 1]; /* lines and values in it end with NUL */
    const char *values[N_SETTING_KEYS];
    unsigned bad_line, n_bad; /* the first line that is not understood, how many are */
    char bad_key[64];         /* its key, "" if it has none */
} settings;

/* Returns how many bytes the file has, and reads them; -1 with the failure noted. */
static ssize_t read_settings_file(void)
{
    int fd = open(settings.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    size_t length = 0;
    ssize_t got = fd < 0 || fstat(fd, &status) != 0 ? -1 : 1;
    if (got > 0 && !S_ISREG(status.st_mode)) {
        settings.failure = SETTINGS_IRREGULAR;
        got = -1;
    }
    while (got > 0 && length < sizeof settings.text) {
        got = read(fd, settings.text + length, sizeof settings.text - length);
        length += got > 0 ? (size_t)got : 0;
        if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (got >= 0 && length == sizeof settings.text) {
        settings.failure = SETTINGS_TOO_LONG;
        got = -1;
    } else if (got < 0 && settings.failure == 0) {
        settings.failure = errno;
    }
    if (fd >= 0)
        close(fd);
    return got < 0 ? -1 : (ssize_t)length;
}

static bool is_settings_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Takes blanks away at both ends of [*from, *to). */
static void trim_setting(char **from, char **to)
{
    while (*from < *to && is_settings_blank(**from))
        ++*from;
    while (*from < *to && is_settings_blank((*to)[-1]))
        --*to;
}

static bool is_settings_text(const char *from, const char *to)
{
    for (; from < to; from++)
        if (((unsigned char)*from < ' ' && *from != '\t') || *from == 0x7f)
            return false;
    return true;
}

static void note_bad_setting(unsigned line, const char *key, const char *end)
{
    size_t length = 0;
    if (settings.n_bad++ > 0)
        return;
    settings.bad_line = line;
    for (; key < end && length + 1 < sizeof settings.bad_key; key++)
        settings.bad_key[length++] = (char)(*key > ' ' && *key < 0x7f ? *key : '?');
    settings.bad_key[length] = '\0';
}

/* Takes the value of a line [from, to), where *to may be written to. */
static void take_setting(unsigned line, char *from, char *to)
{
    trim_setting(&from, &to);
    if (from == to || *from == '#')
        return;
    for (char *hash = from + 1; hash < to; hash++)
        if (*hash == '#' && is_settings_blank(hash[-1]))
            to = hash;
    char *equals = memchr(from, '=', (size_t)(to - from));
    if (equals == NULL) {
        note_bad_setting(line, from, from);
        return;
    }
    char *key_end = equals, *value = equals + 1;
    trim_setting(&from, &key_end);
    trim_setting(&value, &to);
    size_t length = (size_t)(key_end - from);
    for (size_t at = 0; at < N_SETTING_KEYS; at++)
        if (strlen(setting_keys[at]) == length && memcmp(setting_keys[at], from, length) == 0) {
            if (is_settings_text(value, to)) {
                *to = '\0';
                settings.values[at] = value;
            } else {
                note_bad_setting(line, from, from);
            }
            return;
        }
    note_bad_setting(line, from, key_end);
}

void settings_read(const char *folder)
{
    int error = errno;
    const char *given = getenv("MPISTAIR_CONF");
    memset(settings.values, 0, sizeof settings.values);
    settings.is_read = true;
    settings.failure = 0;
    settings.n_bad = 0;
    const char *name = given != NULL ? given : SETTINGS_FILE;
    bool is_relative = name[0] != '/' && folder != NULL && folder[0] != '\0';
    int written = snprintf(settings.path, sizeof settings.path, "%s%s%s", is_relative && name[0] != '\0' ? folder : "",
                           is_relative && name[0] != '\0' ? "/" : "", name);
    ssize_t length = -1;
    if (written >= (int)sizeof settings.path)
        settings.failure = ENAMETOOLONG;
    else if (written > 0)
        length = read_settings_file();
    if (given == NULL && (settings.failure == ENOENT || settings.failure == ENOTDIR)) {
        settings.failure = 0;
        settings.path[0] = '\0';
    }
    unsigned line = 1;
    for (char *at = settings.text, *end = at + (length > 0 ? length : 0); at < end; line++) {
        char *to = memchr(at, '\n', (size_t)(end - at));
        to = to != NULL ? to : end;
        take_setting(line, at, to);
        at = to + 1;
    }
    errno = error;
}

const char *setting(const char *name)
{
    const char *value = getenv(name);
    if (value != NULL)
        return value;
    if (!settings.is_read)
        settings_read(NULL);
    for (size_t at = 0; at < N_SETTING_KEYS; at++)
        if (strcmp(setting_keys[at], name) == 0)
            return settings.values[at];
    return NULL;
}

const char *settings_file(void)
{
    if (!settings.is_read)
        settings_read(NULL);
    return settings.failure == 0 && settings.path[0] != '\0' ? settings.path : NULL;
}

const char *settings_default(size_t at, const char **name)
{
    if (!settings.is_read)
        settings_read(NULL);
    *name = at < N_SETTING_KEYS ? setting_keys[at] : NULL;
    return at < N_SETTING_KEYS ? settings.values[at] : NULL;
}

bool settings_complaint(char *text, size_t size)
{
    int error = errno;
    if (!settings.is_read)
        settings_read(NULL);
    if (settings.failure != 0) {
        const char *reason = settings.failure == SETTINGS_IRREGULAR  ? "it is not a regular file"
                             : settings.failure == SETTINGS_TOO_LONG ? "it has more than 64 KiB"
                                                                     : strerror(settings.failure);
        snprintf(text, size, "%.1000s: no defaults are read: %s", settings.path, reason);
    } else if (settings.n_bad > 0) {
        char more[64] = "";
        if (settings.n_bad > 1)
            snprintf(more, sizeof more, "; %u more line%s wrong", settings.n_bad - 1,
                     settings.n_bad > 2 ? "s are" : " is");
        if (settings.bad_key[0] != '\0')
            snprintf(text, size, "%.1000s:%u: '%s' is not a known key%s", settings.path, settings.bad_line,
                     settings.bad_key, more);
        else
            snprintf(text, size, "%.1000s:%u: not understood, as it is not KEY=VALUE%s", settings.path,
                     settings.bad_line, more);
    }
    errno = error;
    return settings.failure != 0 || settings.n_bad > 0;
}
