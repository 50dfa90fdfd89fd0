/* Reads a short program's output, for the checks of doctor: a program that hangs or prints without end must not take
 * doctor with it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/doctor/doctor.h"
#include "share/base/monotonic.h"

enum { PATIENCE_S = 10 };

/* Reads until the end or the end of patience; returns false for the latter. What does not fit is read and dropped. */
static bool read_output(int descriptor, char *output, size_t size)
{
    size_t used = 0;
    double end_s = clock_now_s() + PATIENCE_S;
    for (;;) {
        char dropped[512];
        double left_s = end_s - clock_now_s();
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        int polled = left_s <= 0 ? 0 : poll(&ready, 1, (int)(1000 * left_s) + 1);
        if (polled < 0 && errno == EINTR)
            continue;
        if (polled <= 0)
            return false;
        bool room = used + 1 < size;
        ssize_t got = read(descriptor, room ? output + used : dropped, room ? size - 1 - used : sizeof dropped);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        if (room) {
            used += (size_t)got;
            output[used] = '\0';
        }
    }
}

int doctor_run(char *const argv[], char *const environment[], char *output, size_t size)
{
    int ends[2], status = -1;
    pid_t child;
    posix_spawn_file_actions_t actions;
    output[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    bool prepared = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0 &&
                    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    bool running = prepared && posix_spawn(&child, argv[0], &actions, NULL, argv, environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    bool whole = running && read_output(ends[0], output, size);
    close(ends[0]);
    if (!running)
        return -1;
    if (!whole)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return whole && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
