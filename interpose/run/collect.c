/* Only the launcher of a job knows how to reach its nodes, and the user has told it all it needs: so the collector is
 * started by the same command, in place of the job's program. For that the launcher's options have to be told from the
 * program behind them; where that fails, nothing is started, and a line says what to type. */
#include "interpose/run/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interpose/collect/collected.h"
#include "interpose/run/launch.h"
#include "interpose/run/spool_folder.h"
#include "share/base/array.h"
#include "share/base/installation.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/one_of.h"

/* What is here: files are KEY-RANK.mpispool, and KEY.run has a line `RANK N HOST` for each node, with its lowest rank
 * and how many it has. */

/* Of a run's ranks [world_size]. */
struct here {
    bool *is_here;
    int32_t *n; /* of a node, by its lowest rank: spools here that say they are of it */
};

static struct seen_run *find_run(struct seen_runs *seen, const char *key, size_t length)
{
    for (size_t i = 0; i < seen->n; i++)
        if (strncmp(seen->runs[i].key, key, length) == 0 && seen->runs[i].key[length] == '\0')
            return &seen->runs[i];
    return NULL;
}

/* Adds the runs of a folder whose headers can be read. */
static void add_runs(struct seen_runs *seen, const char *folder)
{
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        struct spool_header header;
        if (!spool_folder_read_header(folder, entry->d_name, &header) || header.world_size <= 0 ||
            header.world_size > 1 << 24 || memchr(header.run_key, '\0', sizeof header.run_key) == NULL ||
            header.run_key[0] == '\0' || find_run(seen, header.run_key, strlen(header.run_key)) != NULL)
            continue;
        struct seen_run run = {.started_unix_ns = header.started_unix_ns,
                               .world_size = header.world_size,
                               .family = header.family,
                               .n_missing = (size_t)header.world_size};
        strcpy(run.key, header.run_key);
        ARRAY_ADD(seen->runs, seen->n, run);
    }
    if (stream != NULL)
        closedir(stream);
}

/* Marks the ranks of all runs whose spools lie in the folder. */
static void mark_ranks(struct seen_runs *seen, const char *folder, struct here *here)
{
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        char *end;
        struct spool_header header;
        const char *name = entry->d_name, *dash = strrchr(name, '-');
        long rank = dash != NULL && dash[1] >= '0' && dash[1] <= '9' ? strtol(dash + 1, &end, 10) : -1;
        if (rank < 0 || strcmp(end, SPOOL_SUFFIX) != 0)
            continue;
        struct seen_run *run = find_run(seen, name, (size_t)(dash - name));
        struct here *of_run = run != NULL ? &here[run - seen->runs] : NULL;
        if (run == NULL || rank >= run->world_size || of_run->is_here[rank])
            continue;
        of_run->is_here[rank] = true;
        run->n_missing--;
        if (spool_folder_read_header(folder, name, &header) && header.node_leader >= 0 &&
            header.node_leader < run->world_size)
            of_run->n[header.node_leader]++;
    }
    if (stream != NULL)
        closedir(stream);
}

/* Reads which nodes the run has, and notes those of which not all is here. */
static void find_hosts(struct seen_run *run, const char *folder, const struct here *here)
{
    char path[PATH_MAX], host[REPORT_HOST_BYTES], own[REPORT_HOST_BYTES] = "";
    int rank, n;
    gethostname(own, sizeof own - 1);
    snprintf(path, sizeof path, "%s/%s.run", folder, run->key);
    FILE *file = run->n_hosts == 0 ? fopen(path, "re") : NULL;
    while (file != NULL && fscanf(file, "%d %d %255s", &rank, &n, host) == 3) {
        run->n_hosts++;
        if (rank < 0 || rank >= run->world_size || here->n[rank] >= n) {
            run->has_own_host = run->has_own_host || strcmp(host, own) == 0;
            continue;
        }
        char *longer = xasprintf("%s%s%s", run->missing_hosts != NULL ? run->missing_hosts : "",
                                 run->missing_hosts != NULL ? "," : "", host);
        free(run->missing_hosts);
        run->missing_hosts = longer;
        run->n_missing_hosts++;
    }
    if (file != NULL)
        fclose(file);
}

void seen_runs_find(const char *const *folders, size_t n_folders, struct seen_runs *seen)
{
    *seen = (struct seen_runs){0};
    for (size_t i = 0; i < n_folders; i++)
        add_runs(seen, folders[i]);
    struct here *here = xcalloc(seen->n, sizeof *here);
    for (size_t i = 0; i < seen->n; i++) {
        size_t n_ranks = (size_t)seen->runs[i].world_size;
        here[i] = (struct here){xcalloc(n_ranks, sizeof *here[i].is_here), xcalloc(n_ranks, sizeof *here[i].n)};
    }
    for (size_t i = 0; i < n_folders; i++)
        mark_ranks(seen, folders[i], here);
    for (size_t i = 0; i < seen->n; i++) {
        for (size_t folder = 0; folder < n_folders; folder++)
            find_hosts(&seen->runs[i], folders[folder], &here[i]);
        free(here[i].is_here);
        free(here[i].n);
    }
    free(here);
}

void seen_runs_release(struct seen_runs *seen)
{
    for (size_t i = 0; i < seen->n; i++)
        free(seen->runs[i].missing_hosts);
    free(seen->runs);
    *seen = (struct seen_runs){0};
}

bool seen_runs_lack(const struct seen_runs *seen, const char *key)
{
    for (size_t i = 0; i < seen->n; i++)
        if (seen->runs[i].n_missing > 0 && seen->runs[i].n_hosts != 1 &&
            (key == NULL || strcmp(seen->runs[i].key, key) == 0))
            return true;
    return false;
}

void seen_runs_tell_missing(const struct seen_runs *seen, const char *key)
{
    for (size_t i = 0; i < seen->n; i++) {
        const struct seen_run *run = &seen->runs[i];
        if (run->n_missing > 0 && (key == NULL || strcmp(run->key, key) == 0))
            inform("%zu of %d spools of run %s are not here%s%s", run->n_missing, run->world_size, run->key,
                   run->missing_hosts != NULL ? ", of " : "", run->missing_hosts != NULL ? run->missing_hosts : "");
    }
}

/* Launchers and their options. Each function says how many words an option takes with its values. */

enum launcher { LAUNCHER_UNKNOWN, LAUNCHER_SRUN, LAUNCHER_MPIEXEC };

static enum launcher launcher_of(const char *command)
{
    char path[PATH_MAX];
    const char *found = launch_find_command(command, path) ? file_name(path) : "";
    const char *names[] = {file_name(command), found};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], "srun") == 0)
            return LAUNCHER_SRUN;
        if (BEGINS_WITH_ONE_OF(names[i], "mpiexec", "mpirun", "orterun", "prterun", "prun"))
            return LAUNCHER_MPIEXEC;
    }
    return LAUNCHER_UNKNOWN;
}

static size_t words_of_srun(const char *word)
{
    if (word[1] != '-') /* letters: some have no value, or one that must stand in the same word */
        return word[2] != '\0' || strchr("EHhIKklOPQsuVvXZ", word[1]) != NULL ? 1 : 2;
    return word[2] == '\0' || strchr(word, '=') != NULL ||
                   WORD_IS_ONE_OF(word + 2, "contiguous", "core-spec", "disable-status", "exact", "exclusive",
                                  "external", "get-user-env", "help", "hold", "immediate", "interactive",
                                  "kill-on-bad-exit", "label", "mpi-combine", "multi-prog", "nice", "no-allocate",
                                  "no-kill", "overcommit", "overlap", "oversubscribe", "preserve-env", "propagate",
                                  "pty", "quiet", "quit-on-interrupt", "reboot", "resv-ports", "send-libs",
                                  "spread-job", "test-only", "unbuffered", "use-min-nodes", "verbose", "version",
                                  "wait-all-nodes", "whole", "x11")
               ? 1
               : 2;
}

/* MPICH's hydra and Open MPI's orterun and prterun: what means different things to them is in none of the lists. */
static size_t words_of_mpiexec(const char *word)
{
    const char *name = word + 1 + (word[1] == '-');
    if (strchr(name, '=') != NULL)
        return 1;
    if (WORD_IS_ONE_OF(name, "env", "genv", "gmca", "gpmixmca", "gprtemca", "mca", "omca", "pmixmca", "prtemca"))
        return 3;
    return WORD_IS_ONE_OF(name, "H", "N", "am", "app", "bind-to", "c", "configfile", "control-port", "cpu-list",
                          "cpu-set", "cpus-per-proc", "cpus-per-rank", "default-hostfile", "demux", "dir", "display",
                          "dvm", "dvm-uri", "envlist", "errfile-pattern", "f", "genvlist", "gpu-subdevs-per-proc",
                          "gpus-per-proc", "host", "hostfile", "hosts", "iface", "launcher", "launcher-exec",
                          "localhost", "machinefile", "map-by", "max-restarts", "membind", "n", "nameserver", "np",
                          "npernode", "npersocket", "order-nodes", "outfile-pattern", "output", "output-filename",
                          "path", "perhost", "personality", "pmi-args", "ppn", "prefix", "prepend-pattern", "rank-by",
                          "rankfile", "rf", "rmk", "runtime-options", "s", "stdin", "timeout", "topolib", "tune",
                          "usize", "wd", "wdir", "x", "xterm")
               ? 2
               : 1;
}

/* Options by which the collector would write over files of the job, or take its input. */
static bool is_dropped(enum launcher launcher, const char *word)
{
    char name[64];
    const char *begin = word + 1 + (word[1] == '-');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "="), begin);
    if (launcher == LAUNCHER_SRUN && word[1] != '-')
        return strchr("oei", word[1]) != NULL;
    return WORD_IS_ONE_OF(name, "output", "error", "input", "pty", "output-filename", "outfile-pattern",
                          "errfile-pattern", "stdin", "xterm");
}

static bool is_program(const char *word)
{
    char path[PATH_MAX];
    struct stat status;
    return launch_find_command(word, path) && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

struct words {
    char **words; /* [n], NULL behind the last; borrowed but for those that are added */
    size_t n, capacity;
};

static void add_word(struct words *words, const char *word)
{
    array_reserve(&words->words, &words->capacity, words->n + 2, sizeof *words->words);
    words->words[words->n++] = (char *)(uintptr_t)word;
    words->words[words->n] = NULL;
}

/* What takes the place of a program in a template of words. */
static char program_here[] = "";

/* Makes the template of a launcher's command: its options, program_here, and the same behind each ':'. Returns false
 * where a program is not where it should be. */
static bool make_template(char *const *command, bool starts_job, struct words *made)
{
    enum launcher launcher = launcher_of(command[0]);
    if (launcher == LAUNCHER_UNKNOWN && starts_job)
        return false;
    add_word(made, command[0]);
    for (size_t i = 1; command[i] != NULL; i++) {
        size_t n = 1;
        bool is_option = command[i][0] == '-' && command[i][1] != '\0';
        if (!starts_job) {
            add_word(made, command[i]);
            continue;
        }
        if (!is_option) {
            if (!is_program(command[i]))
                return false;
            add_word(made, program_here);
            while (command[i] != NULL && strcmp(command[i], ":") != 0)
                i++;
            if (command[i] == NULL)
                return true;
            add_word(made, command[i]);
            continue;
        }
        n = launcher == LAUNCHER_SRUN ? words_of_srun(command[i]) : words_of_mpiexec(command[i]);
        for (size_t word = 0; word < n && command[i + word] != NULL; word++)
            if (!is_dropped(launcher, command[i]))
                add_word(made, command[i + word]);
        for (; n > 1 && command[i + 1] != NULL; n--)
            i++;
    }
    if (!starts_job)
        add_word(made, program_here);
    return !starts_job;
}

bool collect_knows(char *const *command)
{
    struct words made = {0};
    bool result = make_template(command, true, &made);
    free(made.words);
    return result;
}

static size_t number_in(const char *text)
{
    char *end;
    unsigned long number = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    return number > 0 && *end == '\0' ? number : 0;
}

size_t collect_allocated_nodes(void)
{
    return number_in(getenv("SLURM_JOB_NUM_NODES"));
}

/* Returns how many nodes an srun of this template takes: by -N, else all of the allocation; 0 where that is not plain,
 * since other options choose nodes, too. */
static size_t nodes_of_srun(const struct words *made)
{
    size_t nodes = collect_allocated_nodes();
    for (size_t i = 1; i < made->n; i++) {
        const char *word = made->words[i];
        if (strcmp(word, ":") == 0)
            return 0;
        if (strcmp(word, "-N") == 0 || strcmp(word, "--nodes") == 0)
            nodes = i + 1 < made->n ? number_in(made->words[i + 1]) : 0;
        else if (strncmp(word, "-N", 2) == 0)
            nodes = number_in(word + 2);
        else if (strncmp(word, "--nodes=", 8) == 0)
            nodes = number_in(word + 8);
        else if (nodes == collect_allocated_nodes() &&
                 (BEGINS_WITH_ONE_OF(word, "-w", "-x", "-r", "-F", "--node", "--exclude", "--relative", "-m",
                                     "--distribution", "--het")))
            nodes = 0;
    }
    return nodes;
}

/* Options of srun that give one process a node, and an end where one process fails; the last ones win. */
static void add_srun_options(const struct words *made, struct words *command, char text[4][64])
{
    size_t nodes = nodes_of_srun(made);
    add_word(command, "--kill-on-bad-exit=1");
    if (getenv("SLURM_JOB_ID") == NULL) /* it makes an allocation of its own, for which nobody wants to wait long */
        add_word(command, "--immediate=60");
    if (nodes == 0)
        return;
    snprintf(text[0], sizeof text[0], "--nodes=%zu", nodes);
    snprintf(text[1], sizeof text[1], "--ntasks=%zu", nodes);
    add_word(command, text[0]);
    add_word(command, text[1]);
    add_word(command, "--ntasks-per-node=1");
}

/* The launcher's run. What it says is kept: shown where it fails. */

#define TRY_AGAIN_S 150.0 /* more than the collector gives its processes to meet */

static const char *const mpis[] = {"openmpi", "mpich", "abi"};

/* Becomes the command, in the child. */
_Noreturn static void become(char *const *words, int said)
{
    static const char *const unset[] = {"LD_PRELOAD", "SLURM_STDOUTMODE", "SLURM_STDERRMODE", "SLURM_STDINMODE"};
    for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++)
        unsetenv(unset[i]);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(said, STDOUT_FILENO) >= 0 &&
        dup2(said, STDERR_FILENO) >= 0 && setenv("MPISTAIR_DISABLE", "1", 1) == 0)
        execvp(words[0], words);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Runs the command to its end; returns what it said, NULL where it could not be started. */
static char *run_launcher(char *const *words)
{
    enum { SAID_BYTES = 16384 };
    int said = memfd_create("said", MFD_CLOEXEC), status;
    fflush(NULL);
    pid_t child = said < 0 ? -1 : fork();
    if (child == 0)
        become(words, said);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    char *text = child > 0 ? xcalloc(SAID_BYTES + 1, 1) : NULL;
    off_t end = child > 0 ? lseek(said, 0, SEEK_END) : 0, begin = end > SAID_BYTES ? end - SAID_BYTES : 0;
    if (text != NULL && pread(said, text, SAID_BYTES, begin) < 0)
        text[0] = '\0';
    if (said >= 0)
        close(said);
    return text;
}

/* Starts the collector of one MPI. Returns what was said. */
static char *start_collector(const struct collection *collection, const struct words *made, const char *program,
                             const char *token)
{
    char text[4][64], since[32], n_keys[32];
    struct words command = {0};
    enum launcher launcher = launcher_of(collection->launcher[0]);
    snprintf(since, sizeof since, "%" PRIu64, collection->since_unix_ns);
    snprintf(n_keys, sizeof n_keys, "%zu", collection->n_keys);
    for (size_t i = 0; i < made->n; i++) {
        if (made->words[i] != program_here) {
            add_word(&command, made->words[i]);
            continue;
        }
        if (launcher == LAUNCHER_SRUN)
            add_srun_options(made, &command, text);
        const char *const own[] = {
            program, collection->destination, token, since, collection->is_removed ? "remove" : "keep", n_keys};
        for (size_t word = 0; word < sizeof own / sizeof own[0]; word++)
            add_word(&command, own[word]);
        for (size_t key = 0; key < collection->n_keys; key++)
            add_word(&command, collection->keys[key]);
        for (size_t folder = 0; folder < collection->n_folders; folder++)
            add_word(&command, collection->folders[folder]);
    }
    char *said = run_launcher(command.words);
    free(command.words);
    return said;
}

struct collected {
    size_t n_nodes;
    uint64_t n_files, n_bytes, n_failed;
    char reason[512];
    bool is_ended, is_whole; /* the report is there; nothing failed */
};

static void read_report(const char *destination, const char *token, struct collected *collected)
{
    char path[PATH_MAX], line[1024], word[128];
    snprintf(path, sizeof path, "%s/" REPORT_NAME, destination);
    *collected = (struct collected){0};
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char host[REPORT_HOST_BYTES];
        uint64_t n_files, n_bytes, n_failed;
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "node %255s %" SCNu64 " %" SCNu64 " %" SCNu64 " %n", host, &n_files, &n_bytes, &n_failed,
                   &at) == 4) {
            collected->n_nodes += n_files > 0;
            collected->n_files += n_files;
            collected->n_bytes += n_bytes;
            if (n_failed > 0 && collected->n_failed == 0)
                snprintf(collected->reason, sizeof collected->reason, "of %.100s %.300s", host, line + at);
            collected->n_failed += n_failed;
        } else if (sscanf(line, "%127s", word) == 1 && strlen(line) > strlen(word) &&
                   strcmp(line + strlen(word) + 1, token) == 0) {
            collected->is_ended = true;
            collected->is_whole = strcmp(word, REPORT_WHOLE) == 0;
        }
    }
    if (file != NULL)
        fclose(file);
    unlink(path);
}

static void write_token(const char *folder, const char *token)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" REPORT_TOKEN, folder);
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, token, strlen(token)) < 0)
        (void)0; /* nobody will see it, and the collector says so */
    if (file >= 0)
        close(file);
}

static void remove_token(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" REPORT_TOKEN, folder);
    unlink(path);
}

static bool is_of_family(const struct collection *collection, const char *mpi)
{
    return collection->family == SPOOL_FAMILY_UNKNOWN || strcmp(mpi, "abi") == 0 ||
           strcmp(mpi, collection->family == SPOOL_FAMILY_MPICH ? "mpich" : "openmpi") == 0;
}

/* True unless a collector has come to an end that another MPI would not change. */
static bool may_try(const char *said, const struct collected *collected)
{
    return !collected->is_ended && (said == NULL || strstr(said, REPORT_UNSEEN) == NULL);
}

/* Runs the collectors of all MPIs that the launcher may start, until one has come to its end. Returns what the last one
 * said; NULL: there is none. */
static char *run_collectors(const struct collection *collection, const struct words *made, const char *token,
                            struct collected *collected)
{
    char *said = NULL;
    for (size_t i = 0; i < sizeof mpis / sizeof mpis[0] && may_try(said, collected); i++) {
        char name[64], program[PATH_MAX];
        snprintf(name, sizeof name, "mpistair-collector-%s", mpis[i]);
        if (!is_of_family(collection, mpis[i]) ||
            installation_find(INSTALLATION_COLLECTOR, name, program, sizeof program, NULL) != 0)
            continue;
        free(said);
        said = start_collector(collection, made, program, token);
        read_report(collection->destination, token, collected);
    }
    return said;
}

/* Returns 0, or -1 with the reason. An end before its time is tried once more: processes of Open MPI 4.1 crash at times
 * as they connect to each other by TCP. */
static int try_collectors(const struct collection *collection, const struct words *made, const char *token,
                          struct error *error)
{
    struct collected collected = {0};
    double begin_s = clock_now_s();
    char *said = run_collectors(collection, made, token, &collected);
    if (said != NULL && may_try(said, &collected) && strstr(said, REPORT_OTHER_MPI) == NULL &&
        clock_now_s() - begin_s < TRY_AGAIN_S) {
        free(said);
        said = run_collectors(collection, made, token, &collected);
    }
    if (collected.is_whole) {
        if (collected.n_files > 0)
            inform("brought %" PRIu64 " file%s, %.1f MB, of %zu other node%s to %s", collected.n_files,
                   collected.n_files == 1 ? "" : "s", (double)collected.n_bytes / 1e6, collected.n_nodes,
                   collected.n_nodes == 1 ? "" : "s", collection->destination);
        free(said);
        return 0;
    }
    if (!collected.is_ended && said != NULL)
        fputs(said, stderr);
    if (collected.is_ended)
        error_set(error, "%" PRIu64 " of %" PRIu64 " files of other nodes could not be brought to %s: %s",
                  collected.n_failed, collected.n_files, collection->destination, collected.reason);
    else if (said == NULL)
        error_set(error, "this mpistair has no program that collects spools for the launcher's MPI");
    else
        error_set(error, "%s: the program that collects the spools of other nodes did not reach its end",
                  collection->launcher[0]);
    free(said);
    return -1;
}

int collect(const struct collection *collection, struct error *error)
{
    char token[64];
    struct words made = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(token, sizeof token, "%ld-%lld.%09ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
    int result = -1;
    if (!make_template(collection->launcher, collection->starts_job, &made))
        error_set(error, "%s: no launcher that mpistair can start a program of its own with", collection->launcher[0]);
    else {
        for (size_t i = 0; i < collection->n_folders; i++)
            write_token(collection->folders[i], token);
        write_token(collection->destination, token);
        result = try_collectors(collection, &made, token, error);
        for (size_t i = 0; i < collection->n_folders; i++)
            remove_token(collection->folders[i]);
        remove_token(collection->destination);
    }
    free(made.words);
    return result;
}

/* Adds a word as a shell takes it. */
static void print_word(FILE *stream, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        fprintf(stream, " %s", word);
        return;
    }
    fputs(" '", stream);
    for (const char *c = word; *c != '\0'; c++)
        if (*c == '\'')
            fputs("'\\''", stream);
        else
            fputc(*c, stream);
    fputc('\'', stream);
}

char *collect_command(char *const *command, const char *const *folders, size_t n_folders, const char *output,
                      const char *nodes, size_t n_nodes)
{
    char *text = NULL;
    size_t size = 0;
    struct words made = {0};
    FILE *stream = or_no_memory(open_memstream(&text, &size));
    bool is_known = make_template(command, true, &made);
    enum launcher launcher = launcher_of(command[0]);
    const char *allocated = getenv("SLURM_JOB_NODELIST");
    if (nodes == NULL && allocated != NULL) {
        nodes = allocated;
        n_nodes = collect_allocated_nodes();
    }
    if (is_known && launcher != LAUNCHER_SRUN && nodes != NULL && allocated != NULL) {
        fprintf(stream, "salloc --nodes=%zu", n_nodes);
        if (getenv("SLURM_NTASKS") != NULL)
            fprintf(stream, " --ntasks=%s", getenv("SLURM_NTASKS"));
        fprintf(stream, " --nodelist=%s ", nodes);
    }
    fputs("mpistair ingest", stream);
    for (size_t i = 0; i < n_folders; i++)
        print_word(stream, folders[i]);
    fputs(" -o", stream);
    print_word(stream, output);
    fputs(" --", stream);
    for (size_t i = 0; is_known && i < made.n && strcmp(made.words[i], ":") != 0; i++)
        if (made.words[i] != program_here)
            print_word(stream, made.words[i]);
    if (!is_known)
        fputs(" srun", stream);
    if ((!is_known || launcher == LAUNCHER_SRUN) && nodes != NULL)
        fprintf(stream, " --nodes=%zu --ntasks=%zu --nodelist=%s", n_nodes, n_nodes, nodes);
    fclose(stream);
    free(made.words);
    return text;
}
