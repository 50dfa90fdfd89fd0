/* Runs `mpistair calibrate`: runs the calibration programs under the user's launcher, keeps their samples, fits them to
 * a machine table, and says what was measured and what was left out.
 *
 * The samples go to machine.raw.csv.part as they come (raw_file.h). Only when all is measured does that replace
 * machine.raw.csv, and the fit of it the table: a calibration that was killed leaves both as they were, and the same
 * call continues it. A calibration that was too disturbed (drift.h) leaves them too: its samples are set aside. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/job/calibration.h"
#include "calibrate/command/cmd_machine.h"
#include "calibrate/fit/fit_machine.h"
#include "calibrate/gpu/gpu_path.h"
#include "calibrate/job/launcher.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "calibrate/samples/raw_file.h"
#include "calibrate/samples/samples.h"
#include "calibrate/fit/drift.h"
#include "calibrate/machine/machine.h"
#include "share/base/error.h"
#include "calibrate/fit/fit_memory.h"
#include "calibrate/samples/memory_samples.h"

/* What `mpistair calibrate --memory` has of its own: its options and its fit.
 *
 * Two calibrations share a command, a launcher and a file of samples, but neither options nor a fit. */

struct memory_call {
    bool is_asked;
    int placements; /* the place of the word in "model|all" */
    struct memory_request request;
    bool memory_given[3];   /* --placements, --skip-beyond-peak, --allow-cpu-copy are there */
    bool messages_given[6]; /* --quick, --launches, --shared-link, --cached, --gpu, --path are there */
};

/* Checks that no option is of the other kind of calibration, and completes the request. Returns OPTIONS_READ, or
 * EXIT_WRONG_USAGE after saying what was expected. */
static int memory_call_check(struct memory_call *call)
{
    static const char *const of_memory[] = {"placements", "skip-beyond-peak", "allow-cpu-copy"};
    static const char *const of_messages[] = {"quick", "launches", "shared-link", "cached", "gpu", "path"};
    for (size_t i = 0; i < sizeof of_memory / sizeof of_memory[0] && !call->is_asked; i++)
        if (call->memory_given[i])
            return wrong_usage("calibrate", "--%s requires --memory", of_memory[i]);
    for (size_t i = 0; i < sizeof of_messages / sizeof of_messages[0] && call->is_asked; i++)
        if (call->messages_given[i])
            return wrong_usage("calibrate", "--%s does not apply to --memory", of_messages[i]);
    call->request.placements = call->placements == 0 ? "model" : "all";
    return OPTIONS_READ;
}

/* Gives the complete samples their name, and fits them to the machine. Returns 0, or -1 with the reason. */
static int memory_call_fit(struct raw_file *raw, struct machine *machine, FILE *remarks, struct error *error)
{
    struct memory_samples samples;
    if (raw_file_commit(raw, error) != 0 || memory_samples_read_csv(raw->path, &samples, error) != 0)
        return -1;
    int result = fit_memory(&samples, machine, remarks, error);
    memory_samples_release(&samples);
    return result;
}

/* Time of all launches, starts included, s: with the fit it stays below a minute, --quick below 25 s. */
#define SECONDS_NORMAL 57.0
#define SECONDS_QUICK  23.0
enum { LAUNCHES_MAX = 1000 };
/* Time of a launch, s, three of them where the time suffices: processors of a shared machine are faster in some seconds
 * than in others, and memory lies differently in each process, so a benchmark is spread over the time and over jobs. */
#define LAUNCH_S         19.0
#define LAUNCHES_DEFAULT 3.0

struct calibrate_request {
    const char *output;
    char name[64];
    bool restart;
    bool continues; /* there must be something to continue */
    struct memory_call memory;
    struct launcher launcher;
    struct calibration calibration;
};

static const char calibrate_usage[] =
    "usage: mpistair calibrate [-o machine.tbl] [--name N] [--quick] [--seconds S] [--launches K] [--restart] "
    "[--shared-link A-B,C-D] [--gpu also|only] [--path P,P] -- mpiexec -n 8\n"
    "       mpistair calibrate --memory [--placements model|all] [--skip-beyond-peak] [--allow-cpu-copy] [-o "
    "machine.tbl] -- mpiexec -n 2\n"
    "\n"
    "Measures this machine with the given launcher and writes a machine table. --memory measures how computing cores\n"
    "and a message being received share the memory bandwidth.\n";
static const char calibrate_notes[] =
    "Samples go to machine.raw.csv.part until the measurement is complete. After a kill the same command continues.\n"
    "Samples disturbed by other programs are measured again. If too many are disturbed, no table is written and the\n"
    "exit code is 1; MPISTAIR_DISTURBED=1 accepts them.\n"
    "Only levels that the job spans can be measured: two ranks on a socket, on two sockets, on two nodes.\n"
    "MPISTAIR_PLACEMENT=L.csv (rank,node,socket) gives the places of the ranks if they cannot be observed.\n";

static void default_name(char name[64])
{
    if (gethostname(name, 63) != 0 || name[0] == '\0')
        strcpy(name, "machine");
    name[63] = '\0';
    name[strcspn(name, ".")] = '\0';
    if (!machine_name_valid(name))
        strcpy(name, "machine");
}

/* Accepts two or more pairs of numbers: 0-2,1-3. */
static bool is_link(const char *text)
{
    int n_pairs = 0, length = 0;
    unsigned first, second;
    while (sscanf(text, "%u-%u%n", &first, &second, &length) == 2 && first != second) {
        n_pairs++;
        text += length;
        if (*text == '\0')
            return n_pairs > 1;
        if (*text++ != ',')
            return false;
    }
    return false;
}

/* Chooses what was not given (0). */
static void set_time(struct calibration *calibration, double seconds, double launches)
{
    if (!(seconds > 0))
        seconds = fmax(SECONDS_NORMAL, LAUNCH_S * launches);
    if (!(launches > 0))
        launches = fmax(fmin(floor(seconds / LAUNCH_S), LAUNCHES_DEFAULT), 1);
    calibration->launches = (unsigned)launches;
    calibration->seconds = seconds / launches;
}

static int take_name(void *context, const char *text)
{
    struct calibrate_request *request = context;
    if (!machine_name_valid(text))
        return wrong_usage("calibrate", "--name %s: expected a word of letters, digits, '.', '_', '-'", text);
    snprintf(request->name, sizeof request->name, "%s", text);
    return 0;
}

static int take_link(void *context, const char *text)
{
    struct calibrate_request *request = context;
    if (!is_link(text))
        return wrong_usage("calibrate", "--shared-link %s: expected two or more pairs of nodes, like 0-2,1-3", text);
    request->calibration.shared_link = text;
    return 0;
}

/* Takes what is to be measured of GPUs. */
static int take_gpu_paths(void *context, const char *text)
{
    struct calibrate_request *request = context;
    const char *at = text;
    char word[GPU_WORD_BYTES];
    enum gpu_path path;
    while (word_next(&at, word, sizeof word))
        if (strcmp(word, GPU_COPY_NAME) != 0 && strcmp(word, GPU_HOST_NAME) != 0 && gpu_path_parse(word, &path) != 0)
            return wrong_usage(
                "calibrate",
                "--path: no path '%s': expected copy, host, gpudirect, 3-step, extra-message or duplicate-pointer",
                word);
    request->calibration.gpu_paths = text;
    return 0;
}

static int parse_calibrate(int argc, char **argv, struct calibrate_request *request)
{
    uint64_t launches = 0;
    double seconds = 0; /* not given */
    bool quick = false;
    int gpu = 0;
    *request = (struct calibrate_request){.output = "machine.tbl"};
    default_name(request->name);
    const struct option_row rows[] = {
        {'o', "output", "FILE", "the table (machine.tbl); the samples are written beside it (machine.raw.csv)",
         .text = &request->output},
        {0, "name", "N", "name of the machine in the table (default: the host's)", .take = take_name},
        {0, "seconds", "S", "time for all launches, with their start (57, or 19 per launch if that is more)",
         .real = &seconds, .least = 1, .most = 36000},
        {0, "quick", NULL, "the same as --seconds 23", .flag = &quick, .given = &request->memory.messages_given[0]},
        {0, "launches", "K", "number of launches that share the time, each of new jobs (one per 19 s, at most 3)",
         .whole = &launches, .given = &request->memory.messages_given[1], .least = 1, .most = LAUNCHES_MAX},
        {0, "shared-link", "A-B,C-D",
         "also measure the contention of these pairs of nodes, whose paths share a link; nodes are numbered from 0 in "
         "the order of the ranks",
         .take = take_link, .given = &request->memory.messages_given[2]},
        {0, "gpu", "also|only", "measure copies of a GPU and paths between GPUs, too, or only these", .choice = &gpu,
         .given = &request->memory.messages_given[4]},
        {0, "path", "P[,P]",
         "what --gpu measures: copy, host, gpudirect, 3-step, extra-message, duplicate-pointer; default: all that are "
         "available",
         .take = take_gpu_paths, .given = &request->memory.messages_given[5], .words = WORDS_NONE},
        {0, "cached", NULL, "send every message from the same buffer, so that it stays in the cache",
         .flag = &request->calibration.cached, .given = &request->memory.messages_given[3]},
        {0, "restart", NULL, "start from scratch instead of continuing an interrupted calibration",
         .flag = &request->restart},
        {0, "continue", NULL, "fail if there is no interrupted calibration to continue", .flag = &request->continues},
        {.help = "Memory contention, with two processes on two nodes:"},
        {0, "memory", NULL,
         "measure only memory contention; --seconds is the approximate time for its samples (0.5 s each)",
         .flag = &request->memory.is_asked},
        {0, "placements", "model|all",
         "NUMA nodes of the data of cores and messages: the first one of the computing socket or of another socket "
         "(model), or all combinations",
         .choice = &request->memory.placements, .given = &request->memory.memory_given[0]},
        {0, "skip-beyond-peak", NULL, "skip the numbers of cores between that of the highest bandwidth and all",
         .flag = &request->memory.request.skip_beyond_peak, .given = &request->memory.memory_given[1]},
        {0, "allow-cpu-copy", NULL,
         "measure even if a processor copies the messages, or with two cores; the table says so",
         .flag = &request->memory.request.allow_cpu_copy, .given = &request->memory.memory_given[2]},
    };
    const struct option_table table = {.command = "calibrate",
                                       .usage = calibrate_usage,
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0],
                                       .notes = calibrate_notes,
                                       .context = request,
                                       .is_launcher = true};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc < 1)
        return wrong_usage("calibrate", "no launcher: expected -- mpiexec -n RANKS");
    if (request->restart && request->continues)
        return wrong_usage("calibrate", "--restart and --continue exclude each other");
    if (request->memory.messages_given[4])
        request->calibration.gpu = gpu == 0 ? GPU_ALSO : GPU_ONLY;
    if (request->memory.messages_given[5] && !request->memory.messages_given[4])
        return wrong_usage("calibrate", "--path requires --gpu also or --gpu only");
    code = memory_call_check(&request->memory);
    if (code != OPTIONS_READ)
        return code;
    request->launcher.words = argv;
    request->launcher.n_words = argc;
    if (request->memory.is_asked) {
        request->calibration.memory = &request->memory.request;
        request->calibration.launches = 1;
        request->calibration.seconds = seconds;
    } else {
        set_time(&request->calibration, quick && !(seconds > 0) ? SECONDS_QUICK : seconds, (double)launches);
    }
    request->calibration.launcher = &request->launcher;
    return OPTIONS_READ;
}

/* Writes machine.raw.csv for machine.tbl; NAME.raw.csv for standard output. */
static void raw_path(const struct calibrate_request *request, char path[PATH_MAX])
{
    size_t length = ends_with(request->output, ".tbl") ?: strlen(request->output);
    if (strcmp(request->output, "-") == 0)
        snprintf(path, PATH_MAX, "%s.raw.csv", request->name);
    else
        snprintf(path, PATH_MAX, "%.*s.raw.csv", (int)length, request->output);
}

/* Writes the source: `mpistair calibrate, 2026-01-31, Open MPI v4.1.4, 8 ranks unbound on 1 node, 57 s; METHOD`. */
static void describe(const struct calibrate_request *request, const struct raw_file *raw, struct machine *machine)
{
    char date[32], job[128], launches[32] = "";
    const char *cached = request->calibration.cached ? ", messages in the cache" : "";
    const char *library = notes_find(&raw->notes, "library");
    time_t now = time(NULL);
    struct tm utc;
    double spent_s = 0;
    for (size_t i = 0; i < raw->n_stages; i++)
        spent_s += raw->stages[i].spent_s;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    notes_describe_job(&raw->notes, job, sizeof job);
    if (request->calibration.launches > 1)
        snprintf(launches, sizeof launches, " of %u launches", request->calibration.launches);
    library = library != NULL ? library : "unknown MPI";
    snprintf(machine->name, sizeof machine->name, "%s", request->name);
    snprintf(machine->source, sizeof machine->source, "mpistair calibrate%s, %s, %.*s, %s, %.0f s%s%s; %s",
             request->memory.is_asked ? " --memory" : "", date, (int)strcspn(library, ","), library, job, spent_s,
             launches, cached,
             request->memory.is_asked ? "maxima of the medians per number of cores"
                                      : "relative least squares of the median per size");
}

/* Renames the complete samples to their final name; to another one, with -1, where they are of no use. */
static int keep(struct raw_file *raw, const struct samples *samples, struct error *error)
{
    struct drift drift;
    struct error reason;
    drift_find(samples, &drift);
    if (drift_check(&drift, samples, &reason) == 0)
        return raw_file_commit(raw, error);
    if (disturbed_are_taken()) {
        fprintf(stderr, "mpistair: %s; kept because MPISTAIR_DISTURBED=1\n", reason.text);
        return raw_file_commit(raw, error);
    }
    if (raw_file_set_aside(raw, error) != 0)
        return -1;
    return error_set(error,
                     "%s; stop other programs on these processors, bind the ranks to free ones, or increase "
                     "--seconds, then run it again; the samples are in %s",
                     reason.text, raw->path);
}

/* Fits the complete samples and gives them their name, even where there is no fit, which would not be better the next
 * time. Samples of a GPU alone may be of ways that have no rows. */
static int fit_calibration(const struct calibration *calibration, struct raw_file *raw, struct machine *machine,
                           FILE *remarks, struct error *error)
{
    struct samples samples;
    struct fit_options options = {.may_be_empty = calibration->gpu == GPU_ONLY};
    struct error ignored;
    if (samples_read_csv(raw->part, &samples, error) != 0) {
        raw_file_commit(raw, &ignored);
        return -1;
    }
    int result = keep(raw, &samples, error);
    if (result == 0)
        result = fit_machine(&samples, &options, machine, remarks, error);
    samples_release(&samples);
    return result;
}

/* Measures, or finds out that the raw file holds all already. */
static int measure_machine(const struct calibrate_request *request, struct raw_file *raw, struct error *error)
{
    char path[PATH_MAX];
    struct text_list identity = calibration_identity(&request->calibration);
    raw_path(request, path);
    /* Open the file before the measurement, so that a folder without write permission is noticed at once. */
    int result = raw_file_open(raw, path, &identity, request->restart, error);
    text_list_release(&identity);
    if (result != 0)
        return -1;
    if (request->continues && !raw->continued) {
        raw_file_leave(raw);
        return error_set(error,
                         "--continue: %s has no samples of an interrupted calibration; run without --continue to begin",
                         raw->part);
    }
    if (raw->continued)
        fprintf(stderr, "mpistair: continuing with the %zu samples of %s\n", raw->n_samples, raw->part);
    if (calibration_run(&request->calibration, raw, error) == 0)
        return 0;
    if (raw_file_leave(raw))
        fprintf(stderr, "mpistair: %zu samples are in %s; run the same command again to continue\n", raw->n_samples,
                raw->part);
    return -1;
}

int cmd_calibrate(int argc, char **argv)
{
    struct calibrate_request request;
    struct error error;
    int code = parse_calibrate(argc, argv, &request);
    if (code != OPTIONS_READ)
        return code;
    char *remarks = NULL;
    size_t remarks_size = 0;
    struct raw_file raw = {0};
    struct machine machine = {0};
    FILE *stream = or_no_memory(open_memstream(&remarks, &remarks_size));
    int result = launcher_identify(&request.launcher, &error);
    if (result == 0)
        result = measure_machine(&request, &raw, &error);
    notes_print(&raw.notes, stream);
    if (result == 0) {
        describe(&request, &raw, &machine);
        result = request.memory.is_asked ? memory_call_fit(&raw, &machine, stream, &error)
                                         : fit_calibration(&request.calibration, &raw, &machine, stream, &error);
    }
    if (result == 0 && machine.n_parameters > 0)
        result = machine_command_write(request.output, &machine, &error);
    fclose(stream);
    if (result == 0 && machine.n_parameters == 0) {
        printf("%swritten: samples in %s; a table has no rows of them\n", remarks, raw.path);
    } else if (result == 0) {
        stream = strcmp(request.output, "-") == 0 ? stderr : stdout;
        table_print_text(stream, &machine);
        fprintf(stream, "\n%swritten: %s, samples in %s\n", remarks, request.output, raw.path);
    } else {
        fputs(remarks, stderr);
    }
    free(remarks);
    raw_file_release(&raw);
    machine_release(&machine);
    if (result == 0)
        return EXIT_DONE;
    error_report(&error);
    return child_interrupted() != 0 ? 128 + child_interrupted() : EXIT_WORK_FAILED;
}
