/* mpistair calibrate: runs the calibration programs under the user's launcher, keeps their samples, fits them to a
 * machine table, and says what was measured and what was left out.
 */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "fit_machine.h"
#include "launcher.h"
#include "output_file.h"
#include "table_print.h"

/* Seconds of all programs together; --quick stays below half a minute, the other below a minute, starts included. */
#define SECONDS_NORMAL 52.0
#define SECONDS_QUICK  18.0
/* Over its time a program needs that long at most to start and end. */
#define START_S 60.0

static const struct {
    const char *name;
    double share; /* of the time */
} programs[] = {{"pingpong", 0.35}, {"algorithm1", 0.65}};

enum { N_PROGRAMS = sizeof programs / sizeof programs[0] };

struct request {
    const char *output;
    char name[64];
    double seconds;
    struct launcher launcher;
};

/* What the programs told besides samples. */
struct told {
    int ranks;
    char library[128];
    struct fit_options options; /* with rendezvous_bytes */
    FILE *remarks;              /* lines for the user */
};

static void usage(void)
{
    puts("usage: mpistair calibrate [-o machine.tbl] [--name N] [--quick] [--seconds S] -- mpiexec -n 8\n\n"
         "Measures this machine with the given launcher and writes a machine table.\n\n"
         "  -o FILE      the table (machine.tbl); the samples go beside it (machine.raw.csv)\n"
         "  --name N     of the machine in the table (the host's name)\n"
         "  --quick      18 s of measurements instead of 52\n"
         "  --seconds S  that many\n\n"
         "Only levels that the job spans can be measured: two ranks on a socket, on two sockets, on two nodes.\n"
         "MPISTAIR_PLACEMENT=L.csv (rank,node,socket) places the ranks by hand.");
}

static void default_name(char name[64])
{
    if (gethostname(name, 63) != 0 || name[0] == '\0')
        strcpy(name, "machine");
    name[63] = '\0';
    name[strcspn(name, ".")] = '\0';
    if (!machine_name_valid(name))
        strcpy(name, "machine");
}

static int parse(int argc, char **argv, struct request *request)
{
    static const struct option known[] = {
        {"output", required_argument, NULL, 'o'}, {"name", required_argument, NULL, 'n'},
        {"quick", no_argument, NULL, 'q'},        {"seconds", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    *request = (struct request){.output = "machine.tbl", .seconds = SECONDS_NORMAL};
    default_name(request->name);
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "+o:h", known, NULL)) != -1;) {
        char *end;
        switch (option) {
        case 'o':
            request->output = optarg;
            break;
        case 'n':
            if (!machine_name_valid(optarg))
                return wrong_usage(argv[0], "--name %s: expected a word of letters, digits, '.', '_', '-'", optarg);
            snprintf(request->name, sizeof request->name, "%s", optarg);
            break;
        case 'q':
            request->seconds = SECONDS_QUICK;
            break;
        case 's':
            request->seconds = strtod(optarg, &end);
            if (end == optarg || *end != '\0' || !(request->seconds >= 1 && request->seconds <= 36000))
                return wrong_usage(argv[0], "--seconds %s: expected a number from 1 to 36000", optarg);
            break;
        case 'h':
            usage();
            return -1;
        default:
            return wrong_usage(argv[0], "option '%s' is not known or lacks its value", argv[optind - 1]);
        }
    }
    if (optind >= argc)
        return wrong_usage(argv[0], "no launcher: expected -- mpiexec -n RANKS");
    request->launcher.words = argv + optind;
    request->launcher.n_words = argc - optind;
    return 0;
}

/* Takes one note of a program; what both programs say is taken from the first. */
static void take_note(struct told *told, const char *note, bool first)
{
    char level[32], variable[96];
    double bytes;
    if (sscanf(note, "rendezvous %31s %lf %95s", level, &bytes, variable) == 3) {
        for (int i = 0; i < LEVEL_COUNT; i++)
            if (strcmp(level, machine_level_name[i]) == 0 && first) {
                told->options.rendezvous_bytes[i] = bytes;
                fprintf(told->remarks, "%s: rendezvous from %.0f B, told by the MPI (%s)\n", level, bytes, variable);
            }
    } else if (sscanf(note, "ranks %d", &told->ranks) == 1) {
        return;
    } else if (strncmp(note, "library ", 8) == 0) {
        snprintf(told->library, sizeof told->library, "%.*s", (int)strcspn(note + 8, "\r\n,"), note + 8);
    } else if (first || strncmp(note, "left_out ", 9) != 0) {
        bool left_out = strncmp(note, "left_out ", 9) == 0;
        fprintf(told->remarks, "%s%s", left_out ? "left out: " : "", note + (left_out ? 9 : 0));
    }
}

static void take_notes(struct launch *launch, struct told *told, bool first)
{
    char *line = NULL;
    size_t size = 0;
    rewind(launch->err);
    while (getline(&line, &size, launch->err) > 0)
        if (strncmp(line, LAUNCH_NOTE, sizeof LAUNCH_NOTE - 1) == 0)
            take_note(told, line + sizeof LAUNCH_NOTE - 1, first);
    free(line);
}

/* Appends a program's CSV to the raw samples, the header only from the first; what else came on standard output, from
 * the launcher or a shell's start-up files, goes to the user. */
static void append_samples(struct launch *launch, const char *program, FILE *raw, bool first)
{
    static const char header[] = "benchmark,";
    char *line = NULL;
    size_t size = 0, length = strlen(program);
    while (getline(&line, &size, launch->out) > 0) {
        bool is_header = strncmp(line, header, sizeof header - 1) == 0;
        bool is_sample = strncmp(line, program, length) == 0 && line[length] == ',';
        if (is_sample || (is_header && first))
            fputs(line, raw);
        else if (!is_header)
            fputs(line, stderr);
    }
    free(line);
}

static int measure(const struct request *request, FILE *raw, struct told *told, struct error *error)
{
    for (int i = 0; i < N_PROGRAMS; i++) {
        char seconds[32];
        snprintf(seconds, sizeof seconds, "%.1f", request->seconds * programs[i].share);
        char *arguments[] = {"--seconds", seconds, NULL};
        struct launch launch;
        if (launcher_run(&request->launcher, programs[i].name, arguments,
                         START_S + 2 * request->seconds * programs[i].share, programs[i].name, &launch, error) != 0)
            return -1;
        launch_echo(&launch);
        take_notes(&launch, told, i == 0);
        append_samples(&launch, programs[i].name, raw, i == 0);
        launch_release(&launch);
        if (told->ranks < 2)
            return error_set(error, "%s started %d rank: expected two or more", request->launcher.words[0],
                             told->ranks);
    }
    return 0;
}

/* machine.tbl -> machine.raw.csv; for standard output NAME.raw.csv. */
static void raw_path(const struct request *request, char path[PATH_MAX])
{
    size_t length = strlen(request->output);
    if (strcmp(request->output, "-") == 0)
        snprintf(path, PATH_MAX, "%s.raw.csv", request->name);
    else if (length > 4 && strcmp(request->output + length - 4, ".tbl") == 0)
        snprintf(path, PATH_MAX, "%.*s.raw.csv", (int)(length - 4), request->output);
    else
        snprintf(path, PATH_MAX, "%s.raw.csv", request->output);
}

static int fit(const struct request *request, const char *raw, struct told *told, struct machine *machine,
               struct error *error)
{
    struct samples samples;
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    snprintf(machine->name, sizeof machine->name, "%s", request->name);
    snprintf(machine->source, sizeof machine->source, "mpistair calibrate, %s, %s, %d ranks, %.0f s; %s", date,
             told->library, told->ranks, request->seconds, "relative least squares of the median per size");
    if (samples_read_csv(raw, &samples, error) != 0)
        return -1;
    int result = fit_machine(&samples, &told->options, machine, told->remarks, error);
    samples_release(&samples);
    return result;
}

static int write_table(const char *path, const struct machine *machine, struct error *error)
{
    struct output_file file;
    if (output_file_open(&file, path, error) != 0)
        return -1;
    machine_write(file.stream, machine);
    return output_file_commit(&file, error);
}

int cmd_calibrate(int argc, char **argv)
{
    struct request request;
    struct error error;
    int code = parse(argc, argv, &request);
    if (code != 0)
        return code < 0 ? EXIT_DONE : code;
    char *remarks = NULL, raw[PATH_MAX];
    size_t remarks_size = 0;
    struct told told = {.library = "unknown MPI", .remarks = open_memstream(&remarks, &remarks_size)};
    struct output_file raw_file;
    struct machine machine = {0};
    if (told.remarks == NULL)
        return fail("no memory");
    raw_path(&request, raw);
    /* Opened before anything is measured: a minute is too long to learn that the folder is not writable. */
    int result = launcher_identify(&request.launcher, &error);
    if (result == 0)
        result = output_file_open(&raw_file, raw, &error);
    if (result == 0) {
        result = measure(&request, raw_file.stream, &told, &error);
        if (result == 0)
            result = output_file_commit(&raw_file, &error);
        else
            output_file_discard(&raw_file);
    }
    if (result == 0)
        result = fit(&request, raw, &told, &machine, &error);
    if (result == 0)
        result = write_table(request.output, &machine, &error);
    fclose(told.remarks);
    if (result == 0) {
        FILE *stream = strcmp(request.output, "-") == 0 ? stderr : stdout;
        table_print_text(stream, &machine);
        fprintf(stream, "\n%swritten: %s, samples in %s\n", remarks, request.output, raw);
    } else {
        fputs(remarks, stderr);
    }
    free(remarks);
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
