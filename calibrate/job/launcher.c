/* Nothing in the user's command says to which MPI the launcher belongs. The processes of another MPI would each run
 * alone and measure nothing, so the MPI is found out before any measurement. */
#include "calibrate/job/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/base/installation.h"
#include "share/base/memory.h"
#include "share/base/array.h"
#include "share/base/monotonic.h"

#define IDENTIFY_S 20.0
#define PROGRAM    "mpistair-benchmark-%s" /* by MPI */

/* What launchers print for --version, and the MPI; MPICH and its relatives share Hydra. */
static const struct {
    const char *word;
    const char *mpi;
} words[] = {
    {"Open MPI", "openmpi"}, {"OpenRTE", "openmpi"}, {"PRRTE", "openmpi"},      {"PRTE", "openmpi"},
    {"HYDRA", "mpich"},      {"MPICH", "mpich"},     {"Intel(R) MPI", "mpich"}, {"MVAPICH", "mpich"},
};
enum { ABI = 2, N_MPIS };
static const char *const mpis[N_MPIS] = {"openmpi", "mpich", [ABI] = "abi"};

int launcher_run(const struct launcher *launcher, const char *benchmark, char *const *arguments, double limit_s,
                 const struct child_listener *listener, struct error *error)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, PROGRAM, launcher->mpi);
    if (installation_find(INSTALLATION_PROGRAM, name, path, sizeof path, error) != 0)
        return -1;
    size_t n_arguments = 0;
    while (arguments[n_arguments] != NULL)
        n_arguments++;
    size_t n_words = (size_t)launcher->n_words;
    char **argv = xcalloc(n_words + n_arguments + 3, sizeof *argv);
    memcpy(argv, launcher->words, n_words * sizeof *argv);
    argv[n_words] = path;
    argv[n_words + 1] = (char *)benchmark;
    memcpy(argv + n_words + 2, arguments, n_arguments * sizeof *argv);
    int status = 0, result = child_run(argv, limit_s, listener, &status, error);
    free(argv);
    if (result == 0 && WIFSIGNALED(status))
        return error_set(error, "%s %s under %s: ended by signal %d (%s)", name, benchmark, launcher->words[0],
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (result == 0 && status != 0)
        return error_set(error, "%s %s under %s: failed with exit status %d; its output is above", name, benchmark,
                         launcher->words[0], WEXITSTATUS(status));
    return result;
}

/* What the output of a launcher or a trial shows. */
struct hearing {
    const char *mpi; /* that of the first word that is known */
    int n_told;      /* how many processes reported a number of ranks, and the last number */
    int ranks;
    FILE *said; /* what trials said, other than notes */
};

static int hear(void *context, enum child_stream stream, const char *line, bool whole, struct error *error)
{
    (void)stream, (void)whole, (void)error;
    struct hearing *hearing = context;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && hearing->mpi == NULL; i++)
        if (strstr(line, words[i].word) != NULL)
            hearing->mpi = words[i].mpi;
    if (strncmp(line, MEASURE_NOTE, sizeof MEASURE_NOTE - 1) == 0)
        hearing->n_told += sscanf(line + sizeof MEASURE_NOTE - 1, "ranks %d", &hearing->ranks) == 1;
    else if (hearing->said != NULL)
        fprintf(hearing->said, "%s\n", line);
    return 0;
}

static bool is_built(const char *mpi)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, PROGRAM, mpi);
    return installation_find(INSTALLATION_PROGRAM, name, path, sizeof path, NULL) == 0;
}

/* Returns whether the processes find each other: under a launcher of another MPI each is alone and reports one rank. */
static bool runs_together(struct launcher *launcher, FILE *said)
{
    char *hello[] = {"--hello", NULL};
    struct hearing hearing = {.said = said};
    const struct child_listener listener = {.line = hear, .context = &hearing};
    struct error reason;
    if (launcher_run(launcher, "pingpong", hello, IDENTIFY_S, &listener, &reason) != 0) {
        fprintf(said, "%s\n", reason.text);
        return false;
    }
    return hearing.n_told == 1 && hearing.ranks > 1;
}

/* Tries the benchmarks of each MPI that are built and takes the first that runs under the launcher. What the trials
 * said is shown only where none does. */
static bool identify_by_trial(struct launcher *launcher, const char *const *tried, size_t n_tried)
{
    const char *before = launcher->mpi;
    char *text = NULL;
    size_t size = 0;
    bool found = false;
    FILE *said = or_no_memory(open_memstream(&text, &size));
    for (size_t i = 0; i < n_tried && !found; i++) {
        launcher->mpi = tried[i];
        found = is_built(tried[i]) && runs_together(launcher, said);
    }
    fclose(said);
    if (!found) {
        fputs(text, stderr);
        launcher->mpi = before;
    }
    free(text);
    return found;
}

int launcher_identify(struct launcher *launcher, struct error *error)
{
    char *version[] = {launcher->words[0], "--version", NULL};
    struct hearing hearing = {.mpi = NULL};
    const struct child_listener listener = {.line = hear, .context = &hearing};
    int status;
    if (child_run(version, IDENTIFY_S, &listener, &status, error) != 0)
        return -1;
    launcher->mpi = hearing.mpi;
    if (launcher->mpi == NULL)
        return identify_by_trial(launcher, mpis, N_MPIS)
                   ? 0
                   : error_set(error,
                               "%s: neither its --version nor a trial shows which MPI it starts; expected two ranks or "
                               "more of an MPI that mpistair was built with",
                               launcher->words[0]);
    if (is_built(launcher->mpi) || identify_by_trial(launcher, &mpis[ABI], 1))
        return 0;
    return error_set(error,
                     "%s belongs to %s, for which this mpistair has no calibration programs, and those of the standard "
                     "ABI find no libmpi_abi.so.1 of that MPI: build mpistair where that MPI is installed",
                     launcher->words[0], launcher->mpi);
}

/* A launcher may hang, print without end, leave processes behind or be interrupted by the user: whatever happens, lines
 * arrive whole, time limits hold, and no process is left.
 *
 * A rank whose launcher was killed may run on: one of Open MPI 4.1 that has asked the launcher for something in
 * PMIx_Init (PMIx 4.2) waits for the answer without limit, others spin, and take a processor from all that is measured
 * later. Linux gives orphans to the nearest ancestor that asked for them (prctl(2), PR_SET_CHILD_SUBREAPER). */

#define POLL_MS 50
#define WAIT_NS 10000000L /* between looks at orphans */
#define TICK_S  0.2
#define GRACE_S 5.0
/* Time for which streams are read after the end of the child: a process that it started may keep them open. */
#define DRAIN_S 0.5

enum { LINE_MAX_BYTES = 1 << 20 };

/* Bytes of a stream that are no whole line yet. */
struct partial {
    int descriptor; /* -1: it has ended */
    char *bytes;
    size_t length;
    size_t capacity;
};

struct child {
    pid_t pid;
    struct partial streams[2]; /* by enum child_stream */
    const struct child_listener *listener;
    struct error *error;
    bool stopped; /* a listener, a signal, or the time limit stopped it: error is set */
};

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

int child_interrupted(void)
{
    return caught;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_SIGNALS = sizeof signals / sizeof signals[0] };

static void signals_catch(struct sigaction before[N_SIGNALS])
{
    struct sigaction action = {.sa_handler = on_signal};
    caught = 0;
    for (int i = 0; i < N_SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* the user started us under nohup */
            sigaction(signals[i], &action, NULL);
    }
}

static void signals_restore(const struct sigaction before[N_SIGNALS])
{
    for (int i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

/* Starts argv with its streams. Returns its process id, or -1 with errno. */
static pid_t start(char *const *argv, int out, int err)
{
    int failed[2];
    if (pipe2(failed, O_CLOEXEC) != 0)
        return -1;
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int null = open("/dev/null", O_RDONLY);
        if (getppid() == parent && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
            dup2(err, STDERR_FILENO) >= 0 && setenv("MPISTAIR_DISABLE", "1", 1) == 0)
            execvp(argv[0], argv);
        int reason = errno;
        (void)!write(failed[1], &reason, sizeof reason);
        _exit(127);
    }
    close(failed[1]);
    int reason = child < 0 ? errno : 0;
    ssize_t got = child > 0 ? read(failed[0], &reason, sizeof reason) : 0;
    close(failed[0]);
    if (child > 0 && got <= 0)
        return child;
    if (child > 0)
        waitpid(child, NULL, 0);
    errno = reason;
    return -1;
}

static void hand_on(struct child *child, enum child_stream stream, const char *line, bool whole)
{
    const struct child_listener *listener = child->listener;
    if (!child->stopped && listener->line(listener->context, stream, line, whole, child->error) != 0)
        child->stopped = true;
}

/* Hands on the whole lines of a stream and keeps the rest; at the stream's end, or where a line has no end, the rest
 * too. */
static void split(struct child *child, enum child_stream stream)
{
    struct partial *partial = &child->streams[stream];
    char *line = partial->bytes, *end;
    size_t left = partial->length;
    while (left > 0 && (end = memchr(line, '\n', left)) != NULL) {
        *end = '\0';
        if (end > line && end[-1] == '\r')
            end[-1] = '\0';
        hand_on(child, stream, line, true);
        left -= (size_t)(end + 1 - line);
        line = end + 1;
    }
    if (left > 0 && (partial->descriptor < 0 || left > LINE_MAX_BYTES)) {
        line[left] = '\0'; /* fill() leaves place for it */
        hand_on(child, stream, line, false);
        left = 0;
    }
    if (left > 0)
        memmove(partial->bytes, line, left);
    partial->length = left;
}

/* Reads once from a stream that has something, or is at its end. */
static void fill(struct child *child, enum child_stream stream)
{
    enum { PIECE = 1 << 16 };
    struct partial *partial = &child->streams[stream];
    array_reserve(&partial->bytes, &partial->capacity, partial->length + PIECE + 1, 1);
    ssize_t got = read(partial->descriptor, partial->bytes + partial->length, PIECE);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        close(partial->descriptor);
        partial->descriptor = -1;
    } else {
        partial->length += (size_t)got;
    }
    split(child, stream);
}

static void listen_once(struct child *child)
{
    struct pollfd polled[2] = {{.fd = child->streams[CHILD_OUT].descriptor, .events = POLLIN},
                               {.fd = child->streams[CHILD_ERR].descriptor, .events = POLLIN}};
    if (poll(polled, 2, POLL_MS) <= 0)
        return;
    for (int i = 0; i < 2; i++)
        if (polled[i].revents != 0)
            fill(child, (enum child_stream)i);
}

/* Sets why the child has to end now, if it has to. */
static void check_limits(struct child *child, const char *name, double elapsed_s, double limit_s)
{
    if (child->stopped)
        return;
    if (caught != 0) {
        error_set(child->error, "%s: stopped, since mpistair received signal %d (%s)", name, (int)caught,
                  strsignal(caught));
        child->stopped = true;
    } else if (elapsed_s > limit_s) {
        error_set(child->error, "%s: stopped at its time limit of %.0f s", name, limit_s);
        child->stopped = true;
    }
}

/* Listens until the child has ended. */
static void attend(struct child *child, const char *name, double limit_s, int *status)
{
    const struct child_listener *listener = child->listener;
    double begin_s = clock_now_s(), tick_s = begin_s, stop_s = 0, end_s = 0;
    bool killed = false;
    for (;;) {
        listen_once(child);
        double time_s = clock_now_s();
        if (time_s - tick_s > TICK_S && listener->tick != NULL) {
            tick_s = time_s;
            if (!child->stopped && listener->tick(listener->context, child->error) != 0)
                child->stopped = true;
        }
        if (!(end_s > 0) && waitpid(child->pid, status, WNOHANG) != 0)
            end_s = time_s;
        bool silent = child->streams[CHILD_OUT].descriptor < 0 && child->streams[CHILD_ERR].descriptor < 0;
        if (end_s > 0 && (silent || time_s - end_s > DRAIN_S))
            break;
        if (end_s > 0)
            continue;
        check_limits(child, name, time_s - begin_s, limit_s);
        if (child->stopped && !(stop_s > 0)) {
            stop_s = time_s;
            kill(child->pid, SIGTERM);
        }
        if (stop_s > 0 && time_s - stop_s > GRACE_S && !killed) {
            killed = true;
            kill(child->pid, SIGKILL);
        }
    }
}

/* Reaps what has ended and signals our other children that are in our session; the signal 0 does nothing to them.
 * Returns how many there are, or -1 where the system does not tell. */
static int signal_children(int number)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    FILE *children = fopen("/proc/thread-self/children", "re");
    if (children == NULL)
        return -1;
    int pid, n = 0;
    while (fscanf(children, "%d", &pid) == 1)
        if (getsid(pid) == getsid(0)) {
            kill(pid, number);
            n++;
        }
    fclose(children);
    return n;
}

bool orphans_collect(void)
{
    return signal_children(0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1UL) == 0;
}

void orphans_end(double grace_s)
{
    static const int numbers[] = {0, SIGTERM, SIGKILL};
    int n = signal_children(0);
    for (size_t i = 0; n > 0 && i < sizeof numbers / sizeof numbers[0]; i++) {
        /* Children of those that end become ours in turn, and are signalled as well. */
        for (double begin_s = clock_now_s(); n > 0 && clock_now_s() - begin_s < grace_s;
             n = signal_children(numbers[i]))
            nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0UL);
}

int child_run(char *const *argv, double limit_s, const struct child_listener *listener, int *status,
              struct error *error)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    struct sigaction before[N_SIGNALS];
    struct child child = {.pid = -1, .listener = listener, .error = error};
    bool collects = orphans_collect();
    if (pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0) {
        signals_catch(before);
        child.pid = start(argv, out[1], err[1]);
    }
    if (child.pid < 0)
        error_set(error, "%s: cannot be started: %s", argv[0], strerror(errno));
    if (child.pid < 0 && err[0] >= 0)
        signals_restore(before);
    for (int i = 1; i >= 0; i--) {
        if (out[i] >= 0 && (i == 1 || child.pid < 0))
            close(out[i]);
        if (err[i] >= 0 && (i == 1 || child.pid < 0))
            close(err[i]);
    }
    if (child.pid < 0)
        return -1; /* orphans that become our children do no harm */
    child.streams[CHILD_OUT].descriptor = out[0];
    child.streams[CHILD_ERR].descriptor = err[0];
    attend(&child, argv[0], limit_s, status);
    for (int i = 0; i < 2; i++) {
        if (child.streams[i].descriptor >= 0) {
            close(child.streams[i].descriptor);
            child.streams[i].descriptor = -1;
            split(&child, (enum child_stream)i);
        }
        free(child.streams[i].bytes);
    }
    if (collects)
        orphans_end(GRACE_S);
    check_limits(&child, argv[0], 0, limit_s); /* a signal that came with the end */
    signals_restore(before);
    return child.stopped ? -1 : 0;
}
