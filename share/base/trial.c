/* See trial.h. A crash is the trial's result, so its signals have no handler, as of a sanitizer. */
#include "share/base/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Lets the process grow by so much and no more. */
static void limit_memory(size_t bytes)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%zu", &pages) != 1)
        _exit(1);
    fclose(file);
    rlim_t limit = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) != 0)
        _exit(1);
}

int trial_run(bool (*attempt)(const void *argument), const void *argument, unsigned seconds, size_t bytes)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
        for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
            signal(deadly[i], SIG_DFL);
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDERR_FILENO);
        alarm(seconds);
        if (bytes > 0)
            limit_memory(bytes);
        _exit(attempt(argument) ? 0 : 1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return child < 0 ? -1 : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
