/* Runs `mpistair run`, which records a job from its start to its trace. Everything that can be wrong with the names is
 * found before the job starts, since a job may be long. */
#include "interpose/record_commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/base/error.h"
#include "interpose/database/shards.h"
#include "interpose/trace/ingest.h"
#include "interpose/trace/write/write.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "share/base/placement.h"
#include "share/base/settings.h"
#include "interpose/run/collect.h"
#include "interpose/run/launch.h"
#include "interpose/run/spool_folder.h"
#include "interpose/run/unrecorded.h"
#include "share/base/array.h"
#include "share/base/one_of.h"
#include "interpose/spool/event.h"

static const char run_usage[] =
    "usage: mpistair run [-o trace.db] [--machine NAME|FILE] [OPTIONS] [--] LAUNCHER [ARGUMENTS]\n"
    "\n"
    "Runs an MPI job, as in `mpistair run -- mpiexec -n 8 ./app`, and records its calls into a trace, an SQLite file.\n"
    "The program is neither recompiled nor relinked. Exits as the job did, or with 1 if the job succeeded but its "
    "trace\n"
    "could not be written. A script that starts several MPI jobs gives one trace per job: t.db, t-2.db, ...\n";
static const char run_notes[] =
    "Environment:\n"
    "  MPISTAIR_SPOOL_LIMIT  as --room\n"
    "  MPISTAIR_PREALLOCATE  spool room that a node reserves in MPI_Init (K, M, G; default: grow as needed)\n"
    "  MPISTAIR_STACK        stack frames to keep with each operation (0 to 63; default 0)\n"
    "  MPISTAIR_WINDOW       when to record (10s-1.5m since MPI_Init, or mark 3-5 of MPI_Pcontrol; default: always)\n"
    "  MPISTAIR_JOIN_S       seconds that MPI_Init waits for processes without the library (default 60)\n"
    "  MPISTAIR_DETAIL       none: as --sums; full: the default\n";

struct job_options {
    const char *output;
    const char *machine;
    const char *placement;
    const char *spool;
    const char *room;
    uint64_t shards;
    bool keep_spools, sums;
    char **command;
};

/* True for a size as the recorder takes it (interpose/backend/run/run.c). */
static bool is_size(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    return digits > 0 && digits < 16 && (*unit == '\0' || (strchr("KMGkmg", *unit) != NULL && unit[1] == '\0'));
}

/* Returns OPTIONS_READ, or the exit code. */
static int read_options(int argc, char **argv, struct job_options *options)
{
    const struct option_row rows[] = {
        {'o', "output", "FILE",
         "the trace; an existing file is replaced once the new one is complete; default: a new mpistair-JOB.db in the "
         "working directory",
         .text = &options->output},
        {'m', "machine", "NAME|FILE",
         "predict the run with this machine table, as 'mpistair predict' does: a shipped one ('mpistair machine "
         "list'), "
         "or a .tbl file; the report then holds the laws against what was measured",
         .text = &options->machine, .words = WORDS_MACHINE},
        {0, "placement", "L.csv",
         "node and socket of each rank (columns rank,node,socket), in place of the observed ones",
         .text = &options->placement},
        {0, "spool", "DIR",
         "the folder in which the processes record, on every node; no other run may use it; default: FILE.spool, or a "
         "folder in TMPDIR if FILE is on a network file system",
         .text = &options->spool},
        {0, "room", "BYTES",
         "how much the spools of a node may take at most (K, M, G; default 1G): of a job that records more, single "
         "calls and messages are kept for parts of the run, and the totals of all",
         .text = &options->room},
        {0, "sums", NULL,
         "record no single calls and messages: the trace has the totals of all, by call site, communicator, partner "
         "and "
         "size, and the course of each rank's time, in a megabyte a rank however long the job runs",
         .flag = &options->sums},
        {0, "shards", "N",
         "files beside the trace for rows of single messages, calls and rounds, as 'mpistair ingest' has",
         .whole = &options->shards, .least = 1, .most = SHARDS_MOST},
        {0, "keep-spools", NULL, "keep the spools after they are ingested", .flag = &options->keep_spools},
    };
    const struct option_table table = {
        "run", run_usage, rows, sizeof rows / sizeof rows[0], .notes = run_notes, .is_launcher = true};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc < 1)
        return wrong_usage("run", "no job: expected a launcher and its arguments, such as -- mpiexec -n 8 ./app");
    if (options->output != NULL && (options->output[0] == '\0' || strcmp(options->output, "-") == 0))
        return wrong_usage("run", "-o: expected a file name; a trace cannot be written to standard output");
    if (options->spool != NULL && options->spool[0] == '\0')
        return wrong_usage("run", "--spool: expected a folder name");
    if (options->room != NULL && !is_size(options->room))
        return wrong_usage("run", "--room: expected a number of bytes with K, M or G, not '%s'", options->room);
    options->command = argv;
    return OPTIONS_READ;
}

/* A trace may have taken hours of a machine, so a name of our own choice never replaces a file, and all that is wrong
 * with a name is found before the job starts. */

struct output_name {
    char path[PATH_MAX]; /* absolute */
    bool is_given;       /* the user named it: a trace of that name is replaced */
};

enum { MOST_NUMBERS = 10000 };

/* Returns the number of the batch system's job in which this process is; NULL: there is none. */
static const char *batch_job(void)
{
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"};
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        if (getenv(jobs[i]) != NULL && getenv(jobs[i])[0] != '\0')
            return getenv(jobs[i]);
    return NULL;
}

/* Takes the name from the option (NULL: none), else from the batch system's job or this process. Returns 0, or -1 with
 * the reason: it must be possible to put a file there. */
static int output_name_find(struct output_name *output, const char *given, struct error *error)
{
    char name[PATH_MAX], folder[PATH_MAX], file[PATH_MAX];
    const char *job = batch_job();
    if (job != NULL)
        snprintf(name, sizeof name, "mpistair-%.100s.db", job);
    else
        snprintf(name, sizeof name, "mpistair-%ld.db", (long)getpid());
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

/* Writes PATH, PATH-2, PATH-3, ... with the suffix kept, for number 1, 2, 3, ... Returns 0, or -1 where that is too
 * long. */
static int output_name_number(const char *path, unsigned number, char numbered[PATH_MAX])
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

/* Finds the next number, from *number on, to whose name no other run records and whose name no trace has that would be
 * lost. Traces that were there before `since` are replaced where the user gave the name, as those of the same script
 * run again. The first number is the run's own claim. Returns 0 with *number and its name, or -1 with the reason. */
static int output_name_next(const struct output_name *output, struct timespec since, unsigned *number,
                            char numbered[PATH_MAX], struct error *error)
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

/* One script may start several jobs, whose spools lie in one folder. A key stands in the header of every spool, with
 * the time at which its run started. */

struct run_key {
    char text[sizeof((struct spool_header){0}.run_key)];
    uint64_t started_unix_ns;
    bool is_done; /* run_keys_done was called for it */
    char *trace;  /* name of the trace made of it, released with the keys; NULL: none of its own */
};

struct run_keys {
    struct run_key *keys; /* [n], in the order in which the runs started */
    size_t n;
};

/* Adds a key in the order of the starts. */
static void add_key(struct run_keys *keys, const struct run_key *key)
{
    size_t place = keys->n;
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].text, key->text) == 0)
            return;
    array_grow(&keys->keys, keys->n, sizeof *keys->keys);
    for (; place > 0 && keys->keys[place - 1].started_unix_ns > key->started_unix_ns; place--)
        keys->keys[place] = keys->keys[place - 1];
    keys->keys[place] = *key;
    keys->n++;
}

/* Adds the keys of the spools in a folder that are not there yet. Files that are no spools are passed over: ingest
 * reports them. */
static void run_keys_add(struct run_keys *keys, const char *folder)
{
    DIR *stream = opendir(folder);
    if (stream == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        struct spool_header header;
        struct run_key key;
        if (!spool_folder_read_header(folder, entry->d_name, &header) || header.run_key[0] == '\0' ||
            memchr(header.run_key, '\0', sizeof header.run_key) == NULL)
            continue;
        key = (struct run_key){.started_unix_ns = header.started_unix_ns};
        strcpy(key.text, header.run_key);
        add_key(keys, &key);
    }
    closedir(stream);
}

/* Marks a key as done: its run is in a trace. */
static void run_keys_done(void *context, const char *key)
{
    struct run_keys *keys = context;
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].text, key) == 0)
            keys->keys[i].is_done = true;
}

/* Writers are processes that outlive their launcher: a launcher that is terminated may leave some for a moment, a
 * script for longer. Their spools would be read while they still write. */
enum { WAIT_FOR_WRITERS_MS = 10000, POLL_MS = 20 };

/* True if a process runs; what has ended and waits for its parent does not. */
static bool is_running(uint32_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    bool is_there = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL)
        fclose(file);
    const char *name_end = is_there ? strrchr(line, ')') : NULL;
    return name_end != NULL && name_end[1] == ' ' && strchr("ZX", name_end[2]) == NULL;
}

/* Counts the spools in the folder of processes of this host that still run. A process number that the system has given
 * away meanwhile costs the time of the wait, no more. */
static size_t count_writers(const char *folder)
{
    struct spool_header header;
    char host[sizeof header.host] = "";
    size_t n = 0;
    DIR *stream = opendir(folder);
    if (stream == NULL || gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    for (struct dirent *entry; host[0] != '\0' && (entry = readdir(stream)) != NULL;)
        n += spool_folder_read_header(folder, entry->d_name, &header) && header.end == SPOOL_END_NONE &&
             strncmp(header.host, host, sizeof header.host) == 0 && is_running(header.pid);
    if (stream != NULL)
        closedir(stream);
    return n;
}

/* Waits until no process of this host writes to the folder, at most 10 s. Returns how many still do. */
static size_t wait_for_writers(const char *folder)
{
    size_t n = count_writers(folder);
    for (int waited_ms = 0; n > 0 && waited_ms < WAIT_FOR_WRITERS_MS; waited_ms += POLL_MS) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        n = count_writers(folder);
    }
    return n;
}

/* A signal between the end of the job and that of ingest, as a batch system sends when the time is over, prints how the
 * trace is made of the spools. A handler may not format text, so that it is made before. One that comes while the job
 * runs is handed on to it, and the trace is made of what it leaves; but not in a batch job, where SIGKILL follows at
 * once if the script ends by the signal, as a shell does: it would leave half a trace and not a word. */
static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { N_FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static char ingest_hint[4 * PATH_MAX + 256];
static bool is_handled[N_FATAL_SIGNALS];
static bool is_ending; /* the batch system ends the job, and the hint is printed */

static void write_ingest_hint(void)
{
    if (write(STDERR_FILENO, ingest_hint, strlen(ingest_hint)) < 0)
        (void)0; /* nobody reads it */
}

static void print_ingest_hint(int number)
{
    write_ingest_hint();
    output_file_remove_all();
    raise(number);
}

/* Called while the job runs. A job that has left nothing has no hint. */
static void end_with_batch_job(void *spool_folder)
{
    const struct spool_folder *folder = spool_folder;
    bool is_elsewhere = strcmp(folder->collected, folder->path) != 0;
    if (is_ending || (!is_elsewhere && spool_folder_count(folder->path) == 0))
        return;
    write_ingest_hint();
    is_ending = true;
}

/* Returns the folders in which spools of this run may lie. */
static size_t spool_folders(const struct spool_folder *folder, const char *folders[2])
{
    folders[0] = folder->path;
    folders[1] = folder->collected;
    return strcmp(folder->collected, folder->path) != 0 ? 2 : 1;
}

/* True if processes of the job may run on nodes whose disks this process does not see. */
static bool has_other_nodes(char *const *command)
{
    size_t allocated = collect_allocated_nodes();
    return collect_knows(command) && (allocated > 1 || (allocated == 0 && strcmp(file_name(command[0]), "srun") == 0));
}

/* Returns the command that makes the trace later; the caller frees it. */
static char *later_command(const struct spool_folder *folder, const char *output, char *const *command)
{
    const char *folders[2];
    size_t n = spool_folders(folder, folders);
    if (n == 2 && spool_folder_count(folder->collected) == 0)
        n = 1;
    return has_other_nodes(command) ? collect_command(command, folders, n, output, NULL, 0)
                                    : xasprintf("mpistair ingest %s%s%s -o %s", folders[0], n > 1 ? " " : "",
                                                n > 1 ? folders[1] : "", output);
}

static void set_ingest_hint(const struct spool_folder *folder, const char *output, char *const *command)
{
    char *later = later_command(folder, output, command);
    snprintf(ingest_hint, sizeof ingest_hint,
             "mpistair: ended before the trace was made; the spools are in %s%s, it is made by: %s\n", folder->path,
             strcmp(folder->collected, folder->path) != 0 ? " of each node" : "", later);
    free(later);
}

/* Makes fatal signals print the hint before they end the process. Signals that are ignored stay so. */
static void handle_fatal_signals(void)
{
    for (int i = 0; i < N_FATAL_SIGNALS; i++) {
        struct sigaction before, ours = {.sa_handler = print_ingest_hint, .sa_flags = (int)SA_RESETHAND};
        is_handled[i] = sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                        sigaction(fatal_signals[i], &ours, NULL) == 0;
    }
}

static void restore_fatal_signals(void)
{
    for (int i = 0; i < N_FATAL_SIGNALS; i++)
        if (is_handled[i])
            signal(fatal_signals[i], SIG_DFL);
}

/* `mpistair run` inside `mpistair run`: the inner one records, the outer one says so. The outer one has set
 * MPISTAIR_KEY and MPISTAIR_SPOOL in our environment; our job gets others. The trace's name is left in the outer folder
 * as the target of a symbolic link, so that it is there as a whole or not at all. */
#define INNER_RUN_PREFIX "inner-run-"

static void leave_name_to_outer_run(const char *output)
{
    const char *key = getenv("MPISTAIR_KEY"), *folder = getenv("MPISTAIR_SPOOL");
    char link[PATH_MAX];
    if (key == NULL || folder == NULL ||
        snprintf(link, sizeof link, "%s/" INNER_RUN_PREFIX "%ld", folder, (long)getpid()) >= (int)sizeof link)
        return;
    if (symlink(output, link) != 0)
        return; /* the outer run has ended, or is on another host */
}

/* Prints and removes the names that inner runs left. Returns how many. */
static size_t print_inner_runs(const char *folder)
{
    DIR *stream = opendir(folder);
    size_t n = 0;
    if (stream == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        char output[PATH_MAX];
        if (strncmp(entry->d_name, INNER_RUN_PREFIX, strlen(INNER_RUN_PREFIX)) != 0)
            continue;
        ssize_t length = readlinkat(dirfd(stream), entry->d_name, output, sizeof output - 1);
        if (length <= 0)
            continue;
        output[length] = '\0';
        inform("the mpistair run inside this one recorded its job: %s", output);
        unlinkat(dirfd(stream), entry->d_name, 0);
        n++;
    }
    closedir(stream);
    return n;
}

/* Finds the trace's name, and a folder of spools that is this run's own. Returns 0, or -1 with the reason. */
static int claim_output(const struct job_options *options, struct output_name *output, struct spool_folder *folder,
                        struct error *error)
{
    struct output_name wanted;
    if (output_name_find(&wanted, options->output, error) != 0)
        return -1;
    for (unsigned number = 1; output_name_number(wanted.path, number, output->path) == 0; number++) {
        output->is_given = wanted.is_given && number == 1;
        if (!output->is_given && access(output->path, F_OK) == 0)
            continue;
        enum spool_folder_result result = spool_folder_make(folder, output->path, options->spool, error);
        if (result == SPOOL_FOLDER_FAILED)
            return -1;
        if (result == SPOOL_FOLDER_TAKEN)
            continue;
        if (number > 1)
            inform("%s %s: the trace of this run goes to %s",
                   wanted.is_given ? "another mpistair run records to" : "there is already a trace, or a run, of",
                   wanted.path, output->path);
        return 0;
    }
    return error_set(error, "%s: no free name for another trace beside it", wanted.path);
}

/* Reads the placement now, so that a mistake in it shows before the job; the ingest reads it again. */
static int check_placement(const char *path, struct error *error)
{
    struct placement placement = {0};
    int result = path != NULL ? placement_read_csv(path, &placement, error) : 0;
    placement_release(&placement);
    return result;
}

extern char **environ;

/* Runs another command of this program and discards its standard output: tables and models stand above this folder.
 * words end with NULL. Returns its exit code, or -1 where it could not be run or was killed. */
static int run_command(char *const *words)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    bool started = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
                   posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return started && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns EXIT_DONE, or the exit code after the reason was printed. */
static int check_machine(const char *machine)
{
    char *words[] = {"mpistair", "machine", "show", "--", (char *)(uintptr_t)machine, NULL};
    int code = machine != NULL ? run_command(words) : EXIT_DONE;
    return code < 0 ? fail("--machine %s: cannot be checked", machine) : code;
}

/* Predicts the runs whose traces were made. The traces stay where that fails. */
static void predict_runs(const struct run_keys *keys, const char *machine)
{
    for (size_t i = 0; i < keys->n; i++) {
        const char *trace = keys->keys[i].trace;
        char *words[] = {"mpistair", "predict", "--machine", (char *)(uintptr_t)machine, "--", (char *)(uintptr_t)trace,
                         NULL};
        if (trace != NULL && run_command(words) != EXIT_DONE)
            inform("note: nothing was predicted; the trace stays, to try again: mpistair predict %s --machine %s",
                   trace, machine);
    }
}

/* Makes a trace of the spools of one run, and of those that were joined to it. Returns the exit code. */
static int ingest_run(const char *const *folders, size_t n_folders, struct run_keys *keys, size_t number,
                      const char *output, const char *unfinished, const struct job_options *options)
{
    const char *path = options->placement != NULL ? options->placement : setting("MPISTAIR_PLACEMENT");
    struct placement placement = {0};
    struct error error;
    struct ingest_options ingest_options = {.folders = (char *const *)(uintptr_t)folders,
                                            .n_folders = n_folders,
                                            .run_key = keys->keys[number].text,
                                            .output = output,
                                            .unfinished = unfinished,
                                            .shards = (size_t)options->shards,
                                            .calls = true,
                                            .is_replacement_known = options->output != NULL && number == 0,
                                            .run_done = run_keys_done,
                                            .context = keys};
    int result = 0;
    if (path != NULL && path[0] != '\0') {
        result = placement_read_csv(path, &placement, &error);
        ingest_options.placement = &placement;
    }
    if (result == 0)
        result = ingest(&ingest_options, &error);
    placement_release(&placement);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

/* Prints a line for each run on how its trace is made by hand. */
static void print_ingest_commands(const char *const *folders, size_t n_folders, const struct run_keys *keys,
                                  const struct output_name *output, const char *machine)
{
    for (size_t i = 0; i < keys->n; i++) {
        char name[PATH_MAX];
        if (output_name_number(output->path, (unsigned)i + 1, name) != 0)
            continue;
        bool has_keys = keys->n > 1, has_two = n_folders > 1;
        inform("MPISTAIR_INGEST=0: no trace yet; it is made by: mpistair ingest%s%s %s%s%s -o %s",
               has_keys ? " --run " : "", has_keys ? keys->keys[i].text : "", folders[0], has_two ? " " : "",
               has_two ? folders[1] : "", name);
        if (machine != NULL)
            inform("then predict it: mpistair predict %s --machine %s", name, machine);
    }
}

/* Returns the folder for a trace until it is whole: SIGKILL, which a batch system sends, leaves it there with the
 * spools. NULL where a trace could not be renamed from there. */
static const char *unfinished_folder(const struct spool_folder *folder)
{
    struct stat status, above;
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%s", folder->collected);
    bool is_there =
        lstat(folder->collected, &status) == 0 && S_ISDIR(status.st_mode) && stat(dirname(parent), &above) == 0;
    return is_there && status.st_dev == above.st_dev ? folder->collected : NULL;
}

/* Makes traces of all runs in the folders. Returns the exit code. */
static int ingest_runs(const char *const *folders, size_t n_folders, struct run_keys *keys,
                       const struct output_name *output, const struct spool_folder *folder,
                       const struct job_options *options)
{
    const char *unfinished = unfinished_folder(folder);
    unsigned number = 1;
    for (size_t i = 0; i < keys->n; i++) {
        char name[PATH_MAX];
        struct error error;
        if (keys->keys[i].is_done)
            continue;
        if (output_name_next(output, folder->output_claim.since, &number, name, &error) != 0)
            return error_report(&error);
        number++;
        int code = ingest_run(folders, n_folders, keys, i, name, unfinished, options);
        if (code != EXIT_DONE)
            return code;
        keys->keys[i].trace = xstrdup(name);
        leave_name_to_outer_run(name);
    }
    return EXIT_DONE;
}

/* Says why nothing was recorded: the reasons that the command shows, else those that are likely. Returns the exit code.
 */
static int fail_unrecorded(const struct spool_folder *folder, const struct job_options *options)
{
    int code = fail("nothing was recorded: no process of the job left a spool in %s", folder->path);
    if (unrecorded_print(options->command) == 0)
        fputs("Likely reasons:\n"
              "  - the job failed before MPI_Init, or its program uses no MPI or is statically linked to it\n"
              "  - the launcher does not pass LD_PRELOAD on (a container, sudo, an option such as -genvnone)\n"
              "  - there is no backend for its MPI, or it bypasses the loader to call its MPI: see the message above\n",
              stderr);
    fputs("'mpistair doctor' checks what recording needs here\n", stderr);
    return code;
}

/* Brings what this run left on other nodes. Returns 0, or -1 after the reason was printed. */
static int collect_spools(const struct spool_folder *folder, const struct seen_runs *seen,
                          const struct job_options *options, uint64_t started_unix_ns)
{
    const char *folders[2];
    struct error error;
    const char **keys = xcalloc(seen->n, sizeof *keys);
    for (size_t i = 0; i < seen->n; i++)
        keys[i] = seen->runs[i].key;
    const struct collection collection = {.launcher = options->command,
                                          .starts_job = true,
                                          .folders = folders,
                                          .n_folders = spool_folders(folder, folders),
                                          .destination = folder->collected,
                                          .keys = keys,
                                          .n_keys = seen->n,
                                          .since_unix_ns = started_unix_ns,
                                          .is_removed = !options->keep_spools,
                                          .family = seen->n > 0 ? seen->runs[0].family : SPOOL_FAMILY_UNKNOWN};
    int result = collect(&collection, &error);
    if (result != 0)
        error_report(&error);
    free(keys);
    return result;
}

/* Says of which nodes no spool is here, and how they are brought later. Returns whether there are any. */
static bool print_missing_nodes(const struct spool_folder *folder, const struct output_name *output,
                                const struct job_options *options, const struct seen_runs *seen)
{
    const char *folders[2];
    size_t n_folders = spool_folders(folder, folders);
    bool is_missing = false;
    for (size_t i = 0; i < seen->n; i++) {
        const struct seen_run *run = &seen->runs[i];
        if (run->n_missing == 0 || run->n_hosts == 1)
            continue;
        /* The node that sees the trace's folder has to be one of those. */
        char own[256] = "";
        gethostname(own, sizeof own - 1);
        char *nodes = run->missing_hosts == NULL ? NULL
                                                 : xasprintf("%s%s%s", run->has_own_host ? own : "",
                                                             run->has_own_host ? "," : "", run->missing_hosts);
        char *later = collect_command(options->command, folders, n_folders, output->path, nodes,
                                      run->n_missing_hosts + run->has_own_host);
        inform("%zu of %d spools are not here%s%s; those that are stay, and the trace of all is made by: %s",
               run->n_missing, run->world_size, run->missing_hosts != NULL ? ", of " : "",
               run->missing_hosts != NULL ? run->missing_hosts : "", later);
        free(later);
        free(nodes);
        is_missing = true;
    }
    return is_missing;
}

/* Brings together what lies on several nodes. Returns whether something is missing that may lie on one of them; then it
 * was said. */
static bool bring_together(const struct spool_folder *folder, const struct output_name *output,
                           const struct job_options *options, uint64_t started_unix_ns)
{
    const char *folders[2];
    size_t n_folders = spool_folders(folder, folders);
    struct seen_runs seen;
    bool has_failed = false;
    seen_runs_find(folders, n_folders, &seen);
    if (launch_wants_ingest() && collect_knows(options->command) &&
        (seen_runs_lack(&seen, NULL) || (seen.n == 0 && has_other_nodes(options->command)))) {
        has_failed = collect_spools(folder, &seen, options, started_unix_ns) != 0;
        seen_runs_release(&seen);
        seen_runs_find(folders, n_folders, &seen);
    }
    bool is_missing = print_missing_nodes(folder, output, options, &seen);
    if (has_failed && seen.n == 0) {
        char *later = collect_command(options->command, folders, n_folders, output->path, NULL, 0);
        inform(
            "what the job recorded stays in %s of its nodes; with -o in a folder that they see, the trace is made by: "
            "%s",
            folder->path, later);
        free(later);
        is_missing = true;
    }
    seen_runs_release(&seen);
    return is_missing;
}

/* Turns the spools into the trace, or into a trace for each run where a script started several. Returns the exit code.
 */
static int ingest_spools(const struct spool_folder *folder, const struct output_name *output,
                         const struct job_options *options, bool is_missing)
{
    const char *folders[2];
    size_t n_folders = 0;
    struct run_keys keys = {0};
    bool wanted = launch_wants_ingest();
    if (spool_folder_count(folder->path) > 0)
        folders[n_folders++] = folder->path;
    if (strcmp(folder->collected, folder->path) != 0 && spool_folder_count(folder->collected) > 0)
        folders[n_folders++] = folder->collected;
    size_t inner = print_inner_runs(folder->path);
    if (n_folders == 0 && inner > 0)
        return EXIT_DONE;
    if (n_folders == 0)
        return is_missing ? EXIT_WORK_FAILED : fail_unrecorded(folder, options);
    int code = EXIT_DONE;
    for (size_t i = 0; i < n_folders; i++)
        run_keys_add(&keys, folders[i]);
    if (keys.n == 0)
        code = fail("%s: no spool in it can be read", folder->path);
    if (code == EXIT_DONE && wanted)
        code = ingest_runs(folders, n_folders, &keys, output, folder, options);
    else if (code == EXIT_DONE && !is_missing)
        print_ingest_commands(folders, n_folders, &keys, output, options->machine);
    if (code == EXIT_DONE && wanted && !options->keep_spools && !is_missing)
        spool_folder_remove(folder);
    else if (wanted)
        inform("the spools are in %s%s%s", folders[0], n_folders > 1 ? " and " : "", n_folders > 1 ? folders[1] : "");
    restore_fatal_signals();
    if (options->machine != NULL)
        predict_runs(&keys, options->machine);
    for (size_t i = 0; i < keys.n; i++)
        free(keys.keys[i].trace);
    free(keys.keys);
    return code;
}

static int make_traces(const struct spool_folder *folder, const struct output_name *output,
                       const struct job_options *options, uint64_t started_unix_ns)
{
    size_t writers = wait_for_writers(folder->path);
    if (writers > 0)
        fprintf(stderr,
                "mpistair: %zu process%s of the job outlive%s the launcher; the trace ends where they are now\n",
                writers, writers == 1 ? "" : "es", writers == 1 ? "s" : "");
    bool is_missing = bring_together(folder, output, options, started_unix_ns);
    set_ingest_hint(folder, output->path, options->command);
    return ingest_spools(folder, output, options, is_missing);
}

/* Returns a time before the job's start on its nodes, whose clocks may be a little behind. */
static uint64_t time_before_job(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)(now.tv_sec - 1) * UINT64_C(1000000000);
}

int cmd_run(int argc, char **argv)
{
    struct job_options options = {0};
    char preload[PATH_MAX];
    struct output_name output;
    struct spool_folder folder;
    struct error error;
    int code = read_options(argc, argv, &options);
    if (code >= 0)
        return code;
    code = check_machine(options.machine);
    if (code != EXIT_DONE)
        return code;
    if (check_placement(options.placement, &error) != 0 || launch_find_preload(preload, &error) != 0 ||
        claim_output(&options, &output, &folder, &error) != 0)
        return error_report(&error);
    if (output.is_given)
        replaced_note(output.path, "will be replaced");
    if (options.room != NULL)
        setenv("MPISTAIR_SPOOL_LIMIT", options.room, 1);
    if (options.sums)
        setenv("MPISTAIR_DETAIL", "none", 1);
    struct launch job = {.command = options.command,
                         .preload = preload,
                         .spool = folder.path,
                         .output = output.path,
                         .ending = batch_job() != NULL ? end_with_batch_job : NULL,
                         .folder = &folder};
    if (batch_job() != NULL) { /* SIGKILL may follow SIGTERM before this process can say anything */
        char *later = later_command(&folder, output.path, options.command);
        inform("records into %s%s; if the job is killed, the trace is made by: %s", folder.path,
               strcmp(folder.collected, folder.path) != 0 ? " of each node" : "", later);
        free(later);
    }
    set_ingest_hint(&folder, output.path, options.command);
    uint64_t started_unix_ns = time_before_job();
    handle_fatal_signals(); /* the job takes them while it runs; one at its end is ours */
    int status = launch(&job, &error);
    if (status < 0) {
        restore_fatal_signals();
        spool_folder_release(&folder);
        return error_report(&error);
    }
    set_ingest_hint(&folder, output.path, options.command);
    code = is_ending ? EXIT_WORK_FAILED : make_traces(&folder, &output, &options, started_unix_ns);
    restore_fatal_signals();
    spool_folder_release(&folder);
    return status != 0 ? status : code;
}
