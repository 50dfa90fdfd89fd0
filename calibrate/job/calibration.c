/* Divides the time: a launch has a deadline. The programs that have not run yet share what is left until then, each by
 * its weight and less the starts to come, so that what one did not use goes to those after it. */
#include "calibrate/job/calibration.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/gpu/gpu_path.h"
#include "share/base/monotonic.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"

/* Time that a program may take beyond its own to start and end, s. */
#define START_LIMIT_S 60.0
/* Start-up estimate before any was seen, s; afterwards 1.5 x the last one. */
#define START_S 0.7
/* Least time of a program however late it is, s; a needed one gets this part of what it would have without starts. */
#define SECONDS_MIN 0.2
#define NEEDED_MIN  0.5
/* Limit of memory contention, s, above what any machine takes: the number of cores is not known before. */
#define MEMORY_LIMIT_S 43200.0

/* First words of the note of a job without a GPU. */
#define NO_GPU "not_available gpu"

enum condition { ALWAYS, SHARED_LINK, SEVERAL_NODES, GPU_COPIES, GPU_WAYS, MEMORY };

/* The programs, in the order in which they run. */
static const struct program {
    const char *name;
    double weight; /* share of the time */
    enum condition condition;
    bool is_needed; /* there is no table without it */
} programs[] = {
    {"eager", 0.06, ALWAYS, false},          /* thresholds: they take one or two seconds */
    {"buffer", 0.08, ALWAYS, false},         /* what the transport takes without a receiver */
    {"burst", 0.10, SEVERAL_NODES, false},   /* what passes a network card at once: it rests most of its time */
    {"backlog", 0.08, SEVERAL_NODES, false}, /* what stands before a network card while a stream is sent */
    {"fine", 0.10, ALWAYS, false},           /* what many messages cost, by interface: its threads need their own MPI */
    {"contention", 0.40, SHARED_LINK, false}, /* the user asks for it, so it gets time */
    {"curves", 1.00, ALWAYS, true},           /* all that is measured over sizes and processes */
    {"gpu_copy", 0.15, GPU_COPIES, false},    /* copies to and from a GPU */
    {"gpu_paths", 0.40, GPU_WAYS, false},     /* ways from one GPU to another */
    {"memory_contention", 1.00, MEMORY, true},
};

enum { N_PROGRAMS = sizeof programs / sizeof programs[0], MAX_ARGUMENTS = 20 };

/* A calibration under way. */
struct run {
    const struct calibration *calibration;
    struct raw_file *raw;
    double deadline_s; /* when the launch must end */
    double end_s;      /* when all launches must end */
    double start_s;    /* how long a program takes to start */
    double begin_s;    /* when the program began */
    bool heard;        /* the program has said something */
    bool stopped;      /* a listener gave up: no other program may run */
    bool no_slots;     /* the launcher says that it has fewer slots than ranks were asked for */
    bool refused;      /* the program says why it measures nothing on this machine */
    bool terminal;
    double left_s; /* what a program without a time limit says that it still takes */
    char doing[96];
};

static bool is_of_gpu(const struct program *program)
{
    return program->condition == GPU_COPIES || program->condition == GPU_WAYS;
}

/* Returns whether the user asks for what a program of GPUs measures; otherwise it need not start. */
static bool gpu_is_asked(const struct calibration *calibration, const struct program *program)
{
    const char *paths = calibration->gpu_paths;
    if (calibration->gpu == GPU_NOT)
        return false;
    return program->condition == GPU_COPIES ? gpu_word_listed(paths, GPU_COPY_NAME)
                                            : paths == NULL || strcmp(paths, GPU_COPY_NAME) != 0;
}

/* Returns whether a program belongs to this calibration, as far as known: the first program reports the nodes. */
static bool applies(const struct run *run, const struct program *program)
{
    if ((program->condition == MEMORY) != (run->calibration->memory != NULL))
        return false;
    if (is_of_gpu(program))
        return gpu_is_asked(run->calibration, program) && notes_find(&run->raw->notes, NO_GPU) == NULL;
    if (run->calibration->gpu == GPU_ONLY)
        return false;
    if (program->condition == SEVERAL_NODES)
        return notes_several_nodes(&run->raw->notes);
    return program->condition != SHARED_LINK || run->calibration->shared_link != NULL;
}

static bool is_needed(const struct run *run, const struct program *program)
{
    return program->is_needed || (is_of_gpu(program) && run->calibration->gpu == GPU_ONLY);
}

static bool is_done(const struct raw_file *raw, const struct program *program, unsigned launch)
{
    const struct stage *stage = raw_file_stage(raw, program->name, launch);
    return stage != NULL && stage->done;
}

static void progress_wipe(const struct run *run)
{
    if (run->terminal)
        fputs("\r\033[K", stderr);
}

static void progress_show(const struct run *run)
{
    bool is_limited = run->calibration->memory == NULL;
    double left_s = is_limited ? run->end_s - clock_now_s() : run->left_s;
    if (run->terminal)
        fprintf(stderr, "\rcalibrating: %s, %s %.0f s left\033[K", run->doing, is_limited ? "at most" : "about",
                left_s > 0 ? left_s : 0);
}

/* Shows `progress NAME DONE OF REMAINING_S`. */
static void take_progress(struct run *run, const char *text)
{
    char name[24];
    unsigned long done, of;
    double left_s = 0;
    if (sscanf(text, "progress %23s %lu %lu %lf", name, &done, &of, &left_s) < 3)
        return;
    snprintf(run->doing, sizeof run->doing, "%s, %lu of %lu %s", name, done, of,
             run->calibration->memory != NULL ? "samples" : "known well");
    run->left_s = left_s;
}

/* Prints why a program measures nothing, and drops what its launcher says after that. Returns whether the line was
 * one of these. */
static bool take_refusal(struct run *run, const char *note)
{
    static const char word[] = "refused ";
    if (note == NULL || strncmp(note, word, sizeof word - 1) != 0)
        return run->refused && note == NULL;
    run->refused = true;
    progress_wipe(run);
    fprintf(stderr, "mpistair: %s\n", note + sizeof word - 1);
    return true;
}

/* Takes a line: samples and notes go to the raw file; what the launcher or a shell's start-up files say goes to the
 * user. */
static int listen(void *context, enum child_stream stream, const char *line, bool whole, struct error *error)
{
    struct run *run = context;
    int taken = 0;
    const char *note =
        strncmp(line, MEASURE_NOTE, sizeof MEASURE_NOTE - 1) == 0 ? line + sizeof MEASURE_NOTE - 1 : NULL;
    if (!run->heard && note != NULL) {
        run->heard = true;
        run->start_s = 1.5 * (clock_now_s() - run->begin_s);
    }
    if (take_refusal(run, note)) {
        taken = 1;
    } else if (note != NULL) {
        take_progress(run, note);
        taken = whole && raw_file_note(run->raw, note, error) != 0 ? -1 : 1;
    } else if (stream == CHILD_OUT && whole) {
        taken = raw_file_line(run->raw, line, error);
    }
    if (taken == 0) {
        progress_wipe(run);
        fprintf(stderr, "%s\n", line);
    }
    run->no_slots = run->no_slots || strstr(line, "not enough slots") != NULL;
    run->stopped = run->stopped || taken < 0;
    return taken < 0 ? -1 : 0;
}

static int tick(void *context, struct error *error)
{
    struct run *run = context;
    progress_show(run);
    run->stopped = raw_file_flush(run->raw, error) != 0;
    return run->stopped ? -1 : 0;
}

/* Returns the seconds that programs[index] gets now. */
static double share_of(const struct run *run, int index, unsigned launch)
{
    if (run->calibration->memory != NULL)
        return run->calibration->seconds;
    double left_s = run->deadline_s - clock_now_s(), weights = 0, all_weights = 0;
    for (int i = 0; i < N_PROGRAMS; i++)
        all_weights += applies(run, &programs[i]) ? programs[i].weight : 0;
    for (int i = index; i < N_PROGRAMS; i++)
        if (applies(run, &programs[i]) && !is_done(run->raw, &programs[i], launch)) {
            weights += programs[i].weight;
            left_s -= run->start_s;
        }
    double seconds = left_s * programs[index].weight / weights, least_s = SECONDS_MIN;
    if (is_needed(run, &programs[index]))
        least_s += NEEDED_MIN * run->calibration->seconds * programs[index].weight / all_weights;
    return seconds > least_s ? seconds : least_s;
}

/* Appends the arguments of memory contention; spent has its time so far. Returns their number. */
static int add_memory(const struct memory_request *memory, char *spent, char **arguments, int n)
{
    arguments[n++] = "--spent";
    arguments[n++] = spent;
    arguments[n++] = "--placements";
    arguments[n++] = (char *)memory->placements;
    if (memory->skip_beyond_peak)
        arguments[n++] = "--skip-beyond-peak";
    if (memory->allow_cpu_copy)
        arguments[n++] = "--allow-cpu-copy";
    return n;
}

/* Runs one program, or what is left of it. */
static int run_program(struct run *run, int index, unsigned launch, struct error *error)
{
    char seconds[32], number[16], spent[32];
    const struct program *program = &programs[index];
    const struct stage *stage = raw_file_stage(run->raw, program->name, launch);
    double given_s = stage != NULL ? stage->seconds : share_of(run, index, launch);
    double spent_s = stage != NULL ? stage->spent_s : 0;
    char *absolute = realpath(run->raw->part, NULL);
    char *arguments[MAX_ARGUMENTS] = {"--seconds", seconds, "--launch", number, "--seed", number};
    int n = 6;
    snprintf(seconds, sizeof seconds, "%.2f", given_s);
    snprintf(number, sizeof number, "%u", launch);
    if (stage != NULL && stage->n_samples > 0) {
        arguments[n++] = "--resume";
        arguments[n++] = absolute != NULL ? absolute : run->raw->part;
    }
    if (run->calibration->cached)
        arguments[n++] = "--cached";
    if (program->condition == SHARED_LINK) {
        arguments[n++] = "--link";
        arguments[n++] = (char *)run->calibration->shared_link;
    }
    if (is_of_gpu(program) && run->calibration->gpu_paths != NULL) {
        arguments[n++] = "--path";
        arguments[n++] = (char *)run->calibration->gpu_paths;
    }
    snprintf(spent, sizeof spent, "%.3f", spent_s);
    if (program->condition == MEMORY)
        n = add_memory(run->calibration->memory, spent, arguments, n);
    double limit_s = program->condition == MEMORY ? MEMORY_LIMIT_S : START_LIMIT_S + 2 * given_s;
    const struct child_listener listener = {.line = listen, .tick = tick, .context = run};
    int result = raw_file_begin(run->raw, program->name, launch, given_s, error);
    snprintf(run->doing, sizeof run->doing, "%s", program->name);
    run->begin_s = clock_now_s();
    run->heard = false;
    run->stopped = result != 0;
    if (result == 0)
        result = launcher_run(run->calibration->launcher, program->name, arguments, limit_s, &listener, error);
    progress_wipe(run);
    free(absolute);
    if (result == 0 && run->refused)
        return error_set(error, "nothing was measured, for the reasons above%s",
                         run->calibration->memory->allow_cpu_copy
                             ? ""
                             : "; with two cores or more --allow-cpu-copy measures anyway, and the table "
                               "says so");
    if (result == 0)
        result = raw_file_done(run->raw, spent_s + clock_now_s() - run->begin_s, error);
    return result;
}

/* Explains that the launcher starts no process, and would not for the next program. */
static int refuse(const struct error *reason, struct error *error)
{
    return error_set(error,
                     "%s; there are more ranks than processors: add --oversubscribe --bind-to none (Open MPI 5: "
                     "--map-by :oversubscribe --bind-to none) to its options, or ask for fewer ranks",
                     reason->text);
}

/* Forgives the failure of a program that is not needed: reports it now and keeps it as a note. */
static int forgive(struct run *run, const struct program *program, const struct error *reason, struct error *error)
{
    char text[sizeof reason->text + 64];
    fprintf(stderr, "mpistair: %s; continuing without it\n", reason->text);
    snprintf(text, sizeof text, "failed %s: %s", program->name, reason->text);
    text[strcspn(text, "\r\n")] = '\0';
    return raw_file_note(run->raw, text, error);
}

static int run_launch(struct run *run, unsigned launch, struct error *error)
{
    int result = 0;
    for (int i = 0; i < N_PROGRAMS && result == 0; i++) {
        struct error reason;
        if (!applies(run, &programs[i]) || is_done(run->raw, &programs[i], launch))
            continue;
        if (run_program(run, i, launch, &reason) == 0)
            continue;
        if (run->no_slots) {
            result = refuse(&reason, error);
        } else if (is_needed(run, &programs[i]) || run->stopped || child_interrupted() != 0) {
            *error = reason;
            result = -1;
        } else {
            result = forgive(run, &programs[i], &reason, error);
        }
    }
    return result;
}

/* Returns what a launch has spent in the calibration that is continued, in seconds. */
static double spent_before(const struct raw_file *raw, unsigned launch)
{
    double spent_s = 0;
    for (size_t i = 0; i < raw->n_stages; i++)
        if (raw->stages[i].launch == launch)
            spent_s += raw->stages[i].spent_s;
    return spent_s;
}

int calibration_run(const struct calibration *calibration, struct raw_file *raw, struct error *error)
{
    struct run run = {
        .calibration = calibration, .raw = raw, .start_s = START_S, .terminal = isatty(STDERR_FILENO) == 1};
    double before_s = 0;
    for (unsigned launch = 1; launch <= calibration->launches; launch++)
        before_s += spent_before(raw, launch);
    run.end_s = clock_now_s() + calibration->launches * calibration->seconds - before_s;
    int result = 0;
    for (unsigned launch = 1; launch <= calibration->launches && result == 0; launch++) {
        run.deadline_s = clock_now_s() + calibration->seconds - spent_before(raw, launch);
        result = run_launch(&run, launch, error);
    }
    if (result == 0 && calibration->gpu == GPU_ONLY && raw->n_samples == 0)
        return error_set(error, "nothing of a GPU was measured, for the reasons above");
    return result;
}

/* Samples of two different measurements must not end up in one file, so whatever could make them differ is written down
 * and compared before a calibration is continued. */

/* Writes a word as a shell would read it; control characters, which a line of text cannot hold, become '?'. */
static void write_word(FILE *stream, const char *word)
{
    bool plain = word[0] != '\0' && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                      "_-./:,=+@%")] == '\0';
    if (plain) {
        fputs(word, stream);
        return;
    }
    putc('\'', stream);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            fputs("'\\''", stream);
        else
            putc(iscntrl((unsigned char)*word) ? '?' : *word, stream);
    putc('\'', stream);
}

static void append_words(struct text_list *lines, const char *key, char *const *words, size_t n_words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = or_no_memory(open_memstream(&text, &size));
    fputs(key, stream);
    for (size_t i = 0; i < n_words; i++) {
        putc(' ', stream);
        write_word(stream, words[i]);
    }
    if (fclose(stream) != 0)
        no_memory(0);
    text_list_append(lines, text);
    free(text);
}

/* Appends key and word, unless the word is NULL. */
static void append_word(struct text_list *lines, const char *key, const char *word)
{
    char *words[] = {(char *)word};
    if (word != NULL)
        append_words(lines, key, words, 1);
}

static void append_number(struct text_list *lines, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%s %.9g", key, value);
    text_list_append(lines, text);
}

/* Appends the variables that set MPI libraries and their transports, but not those that say how to reach the nodes
 * (host files, temporary folders) and change from one batch job to the next. */
static void append_settings(struct text_list *lines)
{
    extern char **environ;
    for (char **variable = environ; *variable != NULL; variable++)
        if (BEGINS_WITH_ONE_OF(*variable, "OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "MV2_", "UCX_", "FI_") &&
            !BEGINS_WITH_ONE_OF(*variable, "OMPI_MCA_orte_", "OMPI_MCA_plm_", "OMPI_MCA_oob_", "OMPI_MCA_ras_",
                                "I_MPI_HYDRA_", "MPICH_INTERFACE_HOSTNAME"))
            append_word(lines, "environment", *variable);
}

struct text_list calibration_identity(const struct calibration *calibration)
{
    struct text_list lines = {0};
    const char *placement = getenv("MPISTAIR_PLACEMENT");
    append_words(&lines, "launcher", calibration->launcher->words, (size_t)calibration->launcher->n_words);
    append_word(&lines, "mpi", calibration->launcher->mpi);
    append_number(&lines, "seconds", calibration->seconds * calibration->launches);
    append_number(&lines, "launches", calibration->launches);
    if (calibration->cached)
        text_list_append(&lines, "cached");
    append_word(&lines, "shared-link", calibration->shared_link);
    if (calibration->gpu != GPU_NOT)
        text_list_append(&lines, calibration->gpu == GPU_ALSO ? "gpu also" : "gpu only");
    append_word(&lines, "path", calibration->gpu_paths);
    if (calibration->memory != NULL) {
        append_word(&lines, "memory", calibration->memory->placements);
        if (calibration->memory->skip_beyond_peak)
            text_list_append(&lines, "skip-beyond-peak");
        if (calibration->memory->allow_cpu_copy)
            text_list_append(&lines, "allow-cpu-copy");
    }
    if (placement != NULL && placement[0] != '\0')
        append_word(&lines, "placement", placement);
    append_settings(&lines);
    return lines;
}
