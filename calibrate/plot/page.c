/* Lays out the page: which panels there are, where they stand, and the line above them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate/plot/gnuplot.h"
#include "share/base/array.h"
#include "share/base/output_file.h"
#include "calibrate/plot/panel.h"
#include "calibrate/plot/plot.h"

/* Are in pixels, as far as an SVG has some. */
enum { CELL_WIDTH = 600, CELL_HEIGHT = 480, LEFT = 88, RIGHT = 16, TOP = 44, BOTTOM = 52, LINE = 17, MARGIN = 14 };
enum { LETTER = 7 }; /* least pixels of most letters of the text above; longer lines are cut at a blank */

struct page {
    size_t columns;
    size_t rows;
    int width;
    int height;
    int head; /* height of the text above */
};

/* Writes the text as labels of at most `letters` bytes a line; returns the lines. With script NULL only counts. */
static int text_lines(FILE *script, const struct page *page, const char *text, int line)
{
    size_t letters = (size_t)(page->width - 2 * MARGIN) / LETTER, rest = strlen(text);
    while (rest > 0) {
        size_t length = rest;
        if (rest > letters)
            for (length = letters; length > letters / 2 && text[length] != ' ';)
                length--;
        if (rest > letters && text[length] != ' ')
            for (length = letters; length > 1 && ((unsigned char)text[length] & 0xc0) == 0x80;)
                length--; /* a word without end is cut between two characters */
        if (script != NULL) {
            fputs("set label ", script);
            gnuplot_string(script, text, length);
            fprintf(script, " at screen %.6f, screen %.6f front\n", (double)MARGIN / page->width,
                    1 - (double)(MARGIN + line * LINE) / page->height);
        }
        line++;
        text += length;
        rest -= length;
        while (*text == ' ') {
            text++;
            rest--;
        }
    }
    return line;
}

static struct page page_make(const struct picture *picture)
{
    struct page page = {.columns = picture->n_panels < 2 ? 1 : picture->n_panels < 7 ? 2 : 3};
    page.rows = (picture->n_panels + page.columns - 1) / page.columns;
    page.width = (int)page.columns * CELL_WIDTH;
    page.head = MARGIN + LINE * text_lines(NULL, &page, picture->machine->source, 1) + LINE;
    page.height = page.head + (int)page.rows * CELL_HEIGHT;
    return page;
}

static void write_place(FILE *script, const struct page *page, size_t panel)
{
    double x = (double)(panel % page->columns) * CELL_WIDTH;
    double y = page->head + (double)(panel / page->columns) * CELL_HEIGHT; /* from above */
    fprintf(script, "reset\nset encoding utf8\nset micro\nset border 3 lc rgb '#444444'\nset tics nomirror\n");
    fprintf(script, "set grid lc rgb '#e4e4e4' lw 0.5\nset key font ',10'\n");
    fprintf(script, "L = %.6f; R = %.6f; T = %.6f; B = %.6f\n", (x + LEFT) / page->width,
            (x + CELL_WIDTH - RIGHT) / page->width, 1 - (y + TOP) / page->height,
            1 - (y + CELL_HEIGHT - BOTTOM) / page->height);
}

static void write_script(FILE *script, const struct picture *picture, const char *data)
{
    struct page page = page_make(picture);
    const char *name = picture->machine->name;
    fprintf(script, "set encoding utf8\nset terminal svg size %d,%d fixed noenhanced background '#ffffff' ", page.width,
            page.height);
    fprintf(script, "font 'sans-serif,11' name 'mpistair'\n%sset multiplot\n", data);
    for (size_t i = 0; i < picture->n_panels; i++) {
        write_place(script, &page, i);
        if (i == 0) {
            fputs("set label ", script);
            gnuplot_string(script, name, strlen(name));
            fprintf(script, " at screen %.6f, screen %.6f font ',15' front\n", (double)MARGIN / page.width,
                    1 - (double)MARGIN / page.height);
            text_lines(script, &page, picture->machine->source, 1);
        }
        fputs(picture->panels[i], script);
    }
    fputs("unset multiplot\n", script);
}

static void panels_make(struct picture *picture)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        panel_times(picture, (enum level)level);
        panel_bandwidth(picture, (enum level)level);
        panel_domains(picture, (enum level)level);
    }
    panel_injection(picture);
    panel_queue(picture);
    panel_contention(picture);
    panel_outcomes(picture);
}

/* Returns the gnuplot script of the whole page, which the caller frees; NULL with the reason. */
static char *script_make(struct picture *picture, struct error *error)
{
    char *data = NULL, *script = NULL;
    size_t data_size, script_size;
    picture->data = open_memstream(&data, &data_size);
    if (picture->data == NULL) {
        error_set(error, "no memory");
        return NULL;
    }
    panels_make(picture);
    if (fclose(picture->data) != 0)
        picture->failed = true;
    FILE *stream = picture->failed || picture->n_panels == 0 ? NULL : open_memstream(&script, &script_size);
    if (stream != NULL) {
        write_script(stream, picture, data);
        if (fclose(stream) != 0) {
            free(script);
            script = NULL;
        }
    }
    if (script == NULL)
        error_set(error, "%s",
                  picture->n_panels == 0 && !picture->failed ? "nothing to draw: the table has no tau and bw of a level"
                                                             : "no memory");
    for (size_t i = 0; i < PANEL_MAX; i++)
        free(picture->panels[i]);
    free(data);
    return script;
}

/* Adds the curve of messages to oneself, which curves_make() leaves out. Returns 0, or -1 without memory. */
static int curves_add_self(const struct samples *samples, struct curves *curves)
{
    struct group group = {0};
    struct curve curve = {.level = LEVEL_SELF, .benchmark = BENCHMARK_SELF, .n = 1};
    if (!group_next(samples, BENCHMARK_SELF, &group) || (curves->n_curves > 0 && curves->curves[0].level == LEVEL_SELF))
        return 0;
    if (array_grow(&curves->curves, curves->n_curves, sizeof *curves->curves) != 0)
        return -1;
    curve.bytes = calloc(samples->n_samples, sizeof *curve.bytes);
    curve.seconds = calloc(samples->n_samples, sizeof *curve.seconds);
    curve.n_samples = calloc(samples->n_samples, sizeof *curve.n_samples);
    curves->curves[curves->n_curves++] = curve;
    if (curve.bytes == NULL || curve.seconds == NULL || curve.n_samples == NULL)
        return -1;
    do {
        const struct sample *sample = &samples->samples[group.first];
        if (sample->level != LEVEL_SELF || sample->n != 1)
            continue;
        size_t point = curves->curves[curves->n_curves - 1].n_points++;
        curve.bytes[point] = (double)sample->bytes;
        curve.seconds[point] = group_median(samples, &group);
        curve.n_samples[point] = group.end - group.first;
    } while (group_next(samples, BENCHMARK_SELF, &group));
    return 0;
}

/* Copies without what no machine gives (years for a message, powers of bytes): one such value would leave the others a
 * point on the axis, or gnuplot without an answer. Returns 0, or -1 without memory. */
static int believable_copy(const struct machine *machine, const struct samples *samples, struct machine *some_machine,
                           struct samples *some_samples)
{
    *some_machine = *machine;
    some_machine->parameters = NULL;
    some_machine->n_parameters = 0;
    *some_samples = (struct samples){0};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        bool believable = row->value <= 1e18 && (row->value >= 1e-18 || !(row->value > 0)) &&
                          (row->n == MACHINE_NO_N || row->n <= 1000000000);
        if (believable && machine_append(some_machine, row) != 0)
            return -1;
    }
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        bool believable = sample->seconds >= 1e-12 && sample->seconds <= 1e8 && sample->bytes <= 1ULL << 50 &&
                          sample->n <= 1000000000;
        if (believable && samples_append(some_samples, sample) != 0)
            return -1;
    }
    return 0;
}

/* Says whether the file ends as an SVG does, since gnuplot does not report a full disk. A pipe cannot be looked at. */
static bool is_whole(FILE *stream)
{
    static const char end[] = "</svg>";
    char tail[16] = "";
    struct stat status;
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    off_t from = status.st_size - (off_t)(sizeof tail - 1);
    return from >= 0 && pread(fileno(stream), tail, sizeof tail - 1, from) > 0 && strstr(tail, end) != NULL;
}

/* Draws to the file. */
static int draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error)
{
    struct curves curves;
    if (curves_make(samples, STATISTIC_MEDIAN, &curves) != 0)
        return error_set(error, "no memory");
    struct picture picture = {.machine = machine, .samples = samples, .curves = &curves};
    bool complete = curves_add_self(samples, &curves) == 0;
    char *script = complete ? script_make(&picture, error) : NULL;
    curves_release(&curves);
    if (script == NULL)
        return complete ? -1 : error_set(error, "no memory");
    struct output_file file;
    int result = output_file_open(&file, path, error);
    if (result == 0) {
        result = gnuplot_run(script, file.stream, error);
        if (result == 0 && file.temporary != NULL && !is_whole(file.stream))
            result = error_set(error, "%s: gnuplot could not write all of it; is the disk full?", path);
        if (result == 0)
            result = output_file_commit(&file, error);
        else
            output_file_discard(&file);
    }
    free(script);
    return result;
}

int plot_draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error)
{
    struct machine some_machine;
    struct samples some_samples;
    int result = believable_copy(machine, samples, &some_machine, &some_samples) == 0
                     ? draw(&some_machine, &some_samples, path, error)
                     : error_set(error, "no memory");
    machine_release(&some_machine);
    samples_release(&some_samples);
    return result;
}
