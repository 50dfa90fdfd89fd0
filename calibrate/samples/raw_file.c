/* A calibration may be killed at any moment, and a second one may be started on the same file: what was measured is
 * kept, and never mixed with anything else. */
#include "calibrate/samples/raw_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "calibrate/samples/probing.h"

static const char first_line[] = "# mpistair calibrate 1";
static const char header_start[] = "benchmark,";

const struct stage *raw_file_stage(const struct raw_file *raw, const char *program, unsigned launch)
{
    for (size_t i = 0; i < raw->n_stages; i++)
        if (raw->stages[i].launch == launch && strcmp(raw->stages[i].program, program) == 0)
            return &raw->stages[i];
    return NULL;
}

/* Makes a stage the current one. */
static void stage_enter(struct raw_file *raw, const char *program, unsigned launch, double seconds)
{
    const struct stage *known = raw_file_stage(raw, program, launch);
    if (known != NULL) {
        raw->current = (size_t)(known - raw->stages);
        return;
    }
    array_grow(&raw->stages, raw->n_stages, sizeof *raw->stages);
    raw->current = raw->n_stages++;
    raw->stages[raw->current] = (struct stage){.launch = launch, .seconds = seconds};
    snprintf(raw->stages[raw->current].program, sizeof raw->stages->program, "%s", program);
}

static size_t count_fields(const char *line)
{
    size_t n = 1;
    for (; *line != '\0'; line++)
        n += *line == ',';
    return n;
}

/* Counts a sample of the current stage; returns false if it is none. Its first field names the benchmark; a program of
 * several benchmarks is not named after any of them. */
static bool sample_count(struct raw_file *raw, const char *line)
{
    if (raw->header == NULL || raw->n_stages == 0 || count_fields(line) != count_fields(raw->header))
        return false;
    struct stage *stage = &raw->stages[raw->current];
    size_t length = strcspn(line, ",");
    char *end;
    double at_s = strtod(strrchr(line, ',') + 1, &end);
    if (length == 0 || strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_") != length || *end != '\0' || !(at_s >= 0))
        return false;
    stage->spent_s = at_s > stage->spent_s ? at_s : stage->spent_s;
    stage->n_samples++;
    raw->n_samples++;
    return true;
}

/* Takes a comment of a file that is continued: text is what stands behind `# `. */
static int raw_file_read_comment(struct raw_file *raw, const char *text, struct error *error)
{
    char program[24];
    unsigned launch;
    double seconds;
    int length = 0;
    if (sscanf(text, "asked %n", &length) == 0 && length > 0)
        text_list_append(&raw->asked, text + length);
    else if (sscanf(text, "begin %23s %u %lf", program, &launch, &seconds) == 3)
        stage_enter(raw, program, launch, seconds);
    else if (sscanf(text, "done %23s %u %lf", program, &launch, &seconds) == 3) {
        stage_enter(raw, program, launch, seconds);
        raw->stages[raw->current].done = true;
        raw->stages[raw->current].spent_s = seconds;
    } else {
        return notes_take(&raw->notes, text, error) < 0 ? -1 : 0;
    }
    return 0;
}

/* Returns whether the line is a whole probe of a calibration program. */
static bool is_probe(const char *line)
{
    struct probing epoch;
    struct error error;
    return strncmp(line, "# ", 2) == 0 && probing_is_probe(line + 2) && probing_parse(line + 2, &epoch, &error) == 0;
}

/* Reads what is there; *end becomes the end of its last whole line. */
static int read_lines(struct raw_file *raw, long *end, struct error *error)
{
    char *line = NULL;
    size_t size = 0, number = 0;
    int result = 0;
    *end = 0;
    for (ssize_t length; result == 0 && (length = getline(&line, &size, raw->stream)) > 0;) {
        if (line[length - 1] != '\n')
            break;
        line[length - 1] = '\0';
        bool known = strlen(line) == (size_t)length - 1;
        if (number++ == 0) {
            known = known && strcmp(line, first_line) == 0;
        } else if (known && strncmp(line, "# ", 2) == 0 && probing_is_probe(line + 2)) {
            known = is_probe(line);
        } else if (known && strncmp(line, "# ", 2) == 0) {
            result = raw_file_read_comment(raw, line + 2, error);
        } else if (known && strncmp(line, header_start, sizeof header_start - 1) == 0 && raw->header == NULL) {
            raw->header = xstrdup(line);
        } else {
            known = known && sample_count(raw, line);
        }
        if (!known)
            result = error_set(error, "%s:%zu: not written by an interrupted calibration; --restart begins anew",
                               raw->part, number);
        *end += length;
    }
    free(line);
    return result;
}

static int compare_asked(const struct raw_file *raw, const struct text_list *asked, struct error *error)
{
    const char *before = NULL, *now = NULL;
    for (size_t i = 0; i < raw->asked.n && before == NULL; i++)
        if (!text_list_holds(asked, raw->asked.texts[i]))
            before = raw->asked.texts[i];
    for (size_t i = 0; i < asked->n && now == NULL; i++)
        if (!text_list_holds(&raw->asked, asked->texts[i]))
            now = asked->texts[i];
    if (before == NULL && now == NULL)
        return 0;
    return error_set(
        error,
        "%s: an interrupted calibration with %zu samples had '%.200s', this one has '%.200s'; run the same "
        "command as then to continue, or add --restart to begin anew",
        raw->part, raw->n_samples, before != NULL ? before : "nothing of the kind",
        now != NULL ? now : "nothing of the kind");
}

static void forget(struct raw_file *raw)
{
    free(raw->header);
    raw->header = NULL;
    free(raw->stages);
    raw->stages = NULL;
    text_list_release(&raw->asked);
    notes_release(&raw->notes);
    raw->n_stages = raw->current = raw->n_samples = raw->notes.n_places = 0;
}

static int write_error(const struct raw_file *raw, struct error *error)
{
    return error_set(error, "%s: cannot be written: %s", raw->part, strerror(errno));
}

static int begin_anew(struct raw_file *raw, const struct text_list *asked, struct error *error)
{
    forget(raw);
    rewind(raw->stream);
    if (ftruncate(fileno(raw->stream), 0) != 0)
        return write_error(raw, error);
    fprintf(raw->stream, "%s\n", first_line);
    for (size_t i = 0; i < asked->n; i++)
        fprintf(raw->stream, "# asked %s\n", asked->texts[i]);
    return raw_file_flush(raw, error);
}

/* Takes what is there, or begins anew: with nothing to lose, or where that was asked for. */
static int take_or_begin(struct raw_file *raw, const struct text_list *asked, bool restart, struct error *error)
{
    long end = 0;
    if (restart)
        return begin_anew(raw, asked, error);
    if (read_lines(raw, &end, error) != 0)
        return -1;
    if (raw->n_samples == 0)
        return begin_anew(raw, asked, error);
    if (compare_asked(raw, asked, error) != 0)
        return -1;
    raw->continued = true;
    if (ftruncate(fileno(raw->stream), end) != 0 || fseek(raw->stream, 0, SEEK_END) != 0)
        return write_error(raw, error);
    return 0;
}

int raw_file_open(struct raw_file *raw, const char *path, const struct text_list *asked, bool restart,
                  struct error *error)
{
    *raw = (struct raw_file){0};
    if (snprintf(raw->path, sizeof raw->path, "%s", path) >= (int)sizeof raw->path)
        return error_set(error, "%.200s...: the name is too long", path);
    snprintf(raw->part, sizeof raw->part, "%s.part", raw->path);
    int descriptor = open(raw->part, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
    struct stat opened, named;
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(descriptor);
        return error_set(error, "%s: another calibration writes it; give another file by -o", raw->part);
    }
    /* The calibration before may have renamed the file between open and lock. */
    if (descriptor >= 0 && fstat(descriptor, &opened) == 0 &&
        (stat(raw->part, &named) != 0 || opened.st_ino != named.st_ino)) {
        close(descriptor);
        return error_set(error, "%s: another calibration has just ended; call this one again", raw->part);
    }
    raw->stream = descriptor >= 0 ? fdopen(descriptor, "a+") : NULL;
    if (raw->stream == NULL) {
        write_error(raw, error);
        if (descriptor >= 0)
            close(descriptor);
        return -1;
    }
    rewind(raw->stream);
    int result = take_or_begin(raw, asked, restart, error);
    if (result != 0) { /* leave it as it was found */
        fclose(raw->stream);
        raw->stream = NULL;
        forget(raw);
    }
    return result;
}

int raw_file_begin(struct raw_file *raw, const char *program, unsigned launch, double seconds, struct error *error)
{
    bool is_new = raw_file_stage(raw, program, launch) == NULL;
    stage_enter(raw, program, launch, seconds);
    /* A stage that goes on is begun again: what follows in the file belongs to it. */
    fprintf(raw->stream, "# begin %s %u %g\n", program, launch, is_new ? seconds : raw->stages[raw->current].seconds);
    return raw_file_flush(raw, error);
}

int raw_file_done(struct raw_file *raw, double spent_s, struct error *error)
{
    struct stage *stage = &raw->stages[raw->current];
    stage->spent_s = spent_s;
    stage->done = true;
    fprintf(raw->stream, "# done %s %u %.3f\n", stage->program, stage->launch, spent_s);
    return raw_file_flush(raw, error);
}

int raw_file_line(struct raw_file *raw, const char *line, struct error *error)
{
    if (is_probe(line))
        return fprintf(raw->stream, "%s\n", line) < 0 ? write_error(raw, error) : 1;
    if (strncmp(line, header_start, sizeof header_start - 1) == 0) {
        if (raw->header != NULL && strcmp(raw->header, line) != 0)
            return error_set(error,
                             "%s: begun with the columns %.200s, a program now writes %.200s; --restart begins "
                             "anew",
                             raw->part, raw->header, line);
        if (raw->header != NULL)
            return 1;
        raw->header = xstrdup(line);
    } else if (!sample_count(raw, line)) {
        return 0;
    }
    return fprintf(raw->stream, "%s\n", line) < 0 ? write_error(raw, error) : 1;
}

int raw_file_note(struct raw_file *raw, const char *text, struct error *error)
{
    int result = notes_take(&raw->notes, text, error);
    if (result > 0)
        fprintf(raw->stream, "# %s\n", text);
    return result < 0 ? -1 : 0;
}

int raw_file_flush(struct raw_file *raw, struct error *error)
{
    return fflush(raw->stream) != 0 || ferror(raw->stream) ? write_error(raw, error) : 0;
}

int raw_file_commit(struct raw_file *raw, struct error *error)
{
    int result = raw_file_flush(raw, error);
    if (result == 0 && fsync(fileno(raw->stream)) != 0 && errno != EINVAL && errno != EROFS)
        result = write_error(raw, error);
    if (result == 0 && rename(raw->part, raw->path) != 0)
        result = error_set(error, "%s: cannot be replaced: %s", raw->path, strerror(errno));
    fclose(raw->stream);
    raw->stream = NULL;
    return result;
}

int raw_file_set_aside(struct raw_file *raw, struct error *error)
{
    size_t length = strlen(raw->path);
    static const char suffix[] = ".disturbed";
    if (length + sizeof suffix > sizeof raw->path)
        return error_set(error, "%.200s...: the name is too long", raw->path);
    memcpy(raw->path + length, suffix, sizeof suffix);
    return raw_file_commit(raw, error);
}

bool raw_file_leave(struct raw_file *raw)
{
    if (raw->stream == NULL)
        return false;
    bool left = raw->n_samples > 0;
    if (!left)
        unlink(raw->part);
    fclose(raw->stream);
    raw->stream = NULL;
    return left;
}

void raw_file_release(struct raw_file *raw)
{
    raw_file_leave(raw);
    forget(raw);
}
