/* A trace may have taken hours of a machine, so a name of our own choice never replaces a file, and all that is wrong
 * with a name is found before the job starts. */
#include "interpose/run/output_name.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/run/spool_folder.h"

enum { MOST_NUMBERS = 10000 };

int output_name_find(struct output_name *output, const char *given, struct error *error)
{
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"};
    char name[PATH_MAX], folder[PATH_MAX], file[PATH_MAX];
    snprintf(name, sizeof name, "mpistair-%ld.db", (long)getpid());
    for (size_t i = sizeof jobs / sizeof jobs[0]; i-- > 0;)
        if (getenv(jobs[i]) != NULL && getenv(jobs[i])[0] != '\0')
            snprintf(name, sizeof name, "mpistair-%.100s.db", getenv(jobs[i]));
    output->is_given = given != NULL;
    if (given != NULL && snprintf(name, sizeof name, "%s", given) >= (int)sizeof name)
        return error_set(error, "-o: the name is too long");
    memcpy(folder, name, sizeof folder);
    memcpy(file, name, sizeof file);
    char *absolute = realpath(dirname(folder), NULL);
    struct stat status;
    int result = 0;
    if (absolute == NULL || access(absolute, W_OK | X_OK) != 0)
        result = error_set(error, "%s: its folder cannot be written to: %s", name, strerror(errno));
    else if (snprintf(output->path, PATH_MAX, "%s/%s", absolute, basename(file)) >=
             PATH_MAX - (int)sizeof "-10000.spool.999")
        result = error_set(error, "%s: the name is too long", name);
    else if (stat(output->path, &status) == 0 && !S_ISREG(status.st_mode))
        result = error_set(error, "%s: exists and is not a regular file; give -o another name", name);
    free(absolute);
    return result;
}

int output_name_number(const char *path, unsigned number, char numbered[PATH_MAX])
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int stem = dot != NULL && dot > slash + 1 ? (int)(dot - path) : (int)strlen(path);
    int length = number == 1 ? snprintf(numbered, PATH_MAX, "%s", path)
                             : snprintf(numbered, PATH_MAX, "%.*s-%u%s", stem, path, number, path + stem);
    return length < PATH_MAX ? 0 : -1;
}

static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

int output_name_next(const struct output_name *output, struct timespec since, unsigned *number, char numbered[PATH_MAX],
                     struct error *error)
{
    for (; *number < MOST_NUMBERS && output_name_number(output->path, *number, numbered) == 0; ++*number) {
        struct stat status;
        bool exists = lstat(numbered, &status) == 0;
        if (*number == 1 && output->is_given)
            return 0;
        if (*number > 1 && spool_folder_is_taken(numbered))
            continue;
        if (!exists || (output->is_given && S_ISREG(status.st_mode) && is_before(status.st_mtim, since)))
            return 0;
    }
    return error_set(error, "%s: no free name up to -%d; move traces elsewhere", output->path, MOST_NUMBERS);
}
