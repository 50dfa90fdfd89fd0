/* A full disk or an interrupt must not destroy the output of an earlier run: the new output is written beside and
 * renamed only once it has reached the disk. What a signal leaves beside is removed by its handler, which may not
 * allocate or lock: it finds the names in an array of pointers. The process then ends by the signal, so that a shell
 * shows 130 for Ctrl-C, and stops its script. */
#include "share/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_OPEN = 320, N_SIGNALS = 3 };

static const int numbers[N_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static _Atomic(const char *) open_temporaries[MAX_OPEN];
static bool is_ours[N_SIGNALS];
static int n_open;

void output_file_remove_all(void)
{
    for (int i = 0; i < MAX_OPEN; i++) {
        const char *temporary = atomic_load(&open_temporaries[i]);
        if (temporary != NULL)
            unlink(temporary);
    }
}

static void end_by(int number)
{
    output_file_remove_all();
    raise(number); /* waits for the end of this handler, and then has its default */
}

/* Notes a temporary file for the handler of signals; beyond MAX_OPEN a signal leaves it. */
static void remember(const char *temporary)
{
    for (int i = 0; i < MAX_OPEN; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&open_temporaries[i], &none, temporary))
            break;
    }
    if (n_open++ > 0)
        return;
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction before, ours = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND};
        is_ours[i] = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                     sigaction(numbers[i], &ours, NULL) == 0;
    }
}

static void forget(const char *temporary)
{
    for (int i = 0; i < MAX_OPEN; i++) {
        const char *expected = temporary;
        if (atomic_compare_exchange_strong(&open_temporaries[i], &expected, NULL))
            break;
    }
    n_open--;
    for (int i = 0; n_open == 0 && i < N_SIGNALS; i++)
        if (is_ours[i])
            signal(numbers[i], SIG_DFL);
}

void output_file_remove_by_signal(const char *path)
{
    remember(path);
}

void output_file_keep(const char *path)
{
    forget(path);
}

void output_file_hold_signals(sigset_t *held)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (int i = 0; i < N_SIGNALS; i++)
        sigaddset(&signals, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &signals, held);
}

void output_file_let_signals(const sigset_t *held)
{
    pthread_sigmask(SIG_SETMASK, held, NULL);
}

/* Makes and remembers the file of a template; no signal may come between. Returns its descriptor, or -1 with errno. */
static int make_temporary(char *template)
{
    sigset_t before;
    output_file_hold_signals(&before);
    int descriptor = mkstemp(template), reason = errno;
    if (descriptor >= 0)
        remember(template);
    output_file_let_signals(&before);
    errno = reason;
    return descriptor;
}

/* Writes to a device, pipe or socket itself: a rename would put a file into its place. */
static int open_special(struct output_file *file, const char *path, struct error *error)
{
    char *final = strdup(path);
    FILE *stream = final != NULL ? fopen(path, "w") : NULL;
    if (stream == NULL) {
        error_set(error, "%s: cannot be written: %s", path, strerror(errno));
        free(final);
        return -1;
    }
    *file = (struct output_file){.stream = stream, .path = final};
    return 0;
}

int output_file_open(struct output_file *file, const char *path, struct error *error)
{
    return output_file_open_in(file, path, NULL, error);
}

int output_file_open_in(struct output_file *file, const char *path, const char *folder, struct error *error)
{
    struct stat before;
    *file = (struct output_file){0};
    if (path == NULL || strcmp(path, "-") == 0) {
        file->stream = stdout;
        return 0;
    }
    bool exists = stat(path, &before) == 0;
    if (exists && !S_ISREG(before.st_mode) && !S_ISDIR(before.st_mode))
        return open_special(file, path, error);
    char *final = strdup(path), *temporary = NULL;
    int length = folder != NULL ? asprintf(&temporary, "%s/" OUTPUT_UNFINISHED "XXXXXX", folder)
                                : asprintf(&temporary, "%s.XXXXXX", path);
    if (length < 0)
        temporary = NULL;
    if (final == NULL || temporary == NULL) {
        free(final);
        free(temporary);
        return error_set(error, "%s: no memory", path);
    }
    int descriptor = make_temporary(temporary);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (stream == NULL) {
        error_set(error, "%s: cannot be written: %s", path, strerror(errno));
        if (descriptor >= 0) {
            close(descriptor);
            unlink(temporary);
            forget(temporary);
        }
        free(final);
        free(temporary);
        return -1;
    }
    /* mkstemp gives mode 0600; a new file gets what the user's umask says, a replaced one keeps its mode. */
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, exists ? before.st_mode & 07777 : 0666 & ~mask);
    *file = (struct output_file){.stream = stream, .path = final, .temporary = temporary};
    return 0;
}

static void output_file_release(struct output_file *file)
{
    if (file->temporary != NULL)
        forget(file->temporary);
    free(file->path);
    free(file->temporary);
    *file = (struct output_file){0};
}

int output_failed(FILE *stream, const char *name, struct error *error)
{
    errno = 0;
    bool fails = fputc(' ', stream) == EOF || fflush(stream) != 0;
    error_set(error, "%s: cannot be written: %s", name,
              fails && errno != 0 ? strerror(errno) : "an earlier write failed");
    __fpurge(stream);
    clearerr(stream);
    return -1;
}

static const char *output_file_name(const struct output_file *file)
{
    return file->path != NULL ? file->path : "standard output";
}

int output_file_check(struct output_file *file, struct error *error)
{
    return ferror(file->stream) ? output_failed(file->stream, output_file_name(file), error) : 0;
}

int output_file_commit(struct output_file *file, struct error *error)
{
    const char *name = output_file_name(file);
    int result = fflush(file->stream) != 0 ? output_failed(file->stream, name, error) : output_file_check(file, error);
    if (file->path == NULL)
        return result;
    if (result == 0 && fsync(fileno(file->stream)) != 0 && errno != EINVAL && errno != EROFS)
        result = error_set(error, "%s: cannot be written: %s", name, strerror(errno));
    if (fclose(file->stream) != 0 && result == 0)
        result = error_set(error, "%s: cannot be written: %s", name, strerror(errno));
    if (result == 0 && file->temporary != NULL && rename(file->temporary, file->path) != 0)
        result = error_set(error, "%s: cannot be replaced: %s", name, strerror(errno));
    if (result != 0 && file->temporary != NULL)
        unlink(file->temporary);
    output_file_release(file);
    return result;
}

void output_file_discard(struct output_file *file)
{
    if (file->path != NULL) {
        fclose(file->stream);
        if (file->temporary != NULL)
            unlink(file->temporary);
    }
    output_file_release(file);
}

int output_file_end(struct output_file *file, int result, struct error *error)
{
    if (result == 0)
        return output_file_commit(file, error);
    output_file_discard(file);
    return -1;
}

int output_files_open(struct output_file *files, const char *prefix, const char *const *suffixes, size_t n,
                      struct error *error)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < n; i++) {
        char *path;
        if (asprintf(&path, "%s%s", prefix, suffixes[i]) < 0)
            path = NULL;
        result = path != NULL ? output_file_open(&files[i], path, error) : error_set(error, "%s: no memory", prefix);
        for (size_t k = 0; result != 0 && k < i; k++)
            output_file_discard(&files[k]);
        free(path);
    }
    return result;
}

int output_files_end(struct output_file *files, size_t n, int result, struct error *error)
{
    for (size_t i = 0; i < n; i++)
        result = output_file_end(&files[i], result, error);
    return result;
}
