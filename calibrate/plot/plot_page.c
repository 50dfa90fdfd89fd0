/* A page may have any number of panels, and text above them that a user wrote: where the panels stand, and what stands
 * above, is settled once all of them are there. */
#include "calibrate/plot/plot_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/plot/gnuplot.h"
#include "share/base/output_file.h"

/* Are in pixels, as far as an SVG has some. */
enum {
    CELL_WIDTH = 600,
    CELL_HEIGHT = 480,
    LEFT = 88,
    RIGHT = 16,
    RIGHT_AXIS = 74,
    TOP = 44,
    BOTTOM = 52,
    LINE = 17,
    MARGIN = 14
};
enum { LETTER = 7 }; /* least pixels of most letters of the text above; longer lines are cut at a blank */

struct page {
    size_t columns;
    size_t rows;
    int width;
    int height;
    int head;  /* height of the text above */
    int right; /* of the drawing area of a panel */
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
    struct page page = {.columns = picture->n_panels < 2   ? 1
                                   : picture->n_panels < 7 ? 2
                                                           : 3,
                        .right = picture->right_axis ? RIGHT_AXIS : RIGHT};
    if (picture->columns > 0)
        page.columns = picture->columns < picture->n_panels ? picture->columns : picture->n_panels;
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
            (x + CELL_WIDTH - page->right) / page->width, 1 - (y + TOP) / page->height,
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

int page_begin(struct picture *picture, struct error *error)
{
    picture->data = open_memstream(&picture->data_text, &picture->data_size);
    return picture->data != NULL ? 0 : error_set(error, "no memory");
}

/* Returns the gnuplot script of the whole page, which the caller frees; NULL without memory or panels. */
static char *script_make(const struct picture *picture)
{
    char *script = NULL;
    size_t script_size;
    FILE *stream = picture->failed || picture->n_panels == 0 ? NULL : open_memstream(&script, &script_size);
    if (stream == NULL)
        return NULL;
    write_script(stream, picture, picture->data_text);
    if (fclose(stream) == 0)
        return script;
    free(script);
    return NULL;
}

/* Copies a whole picture. Returns false for one that does not end as an SVG does. */
static bool copy_whole(FILE *drawn, FILE *stream)
{
    char part[BUFSIZ], tail[16] = "";
    const size_t length = sizeof tail - 1;
    size_t n;
    rewind(drawn);
    while ((n = fread(part, 1, sizeof part, drawn)) > 0) {
        size_t kept = n < length ? length - n : 0, fresh = length - kept;
        memmove(tail, tail + fresh, kept);
        memcpy(tail + kept, part + n - fresh, fresh);
        fwrite(part, 1, n, stream);
    }
    return strstr(tail, "</svg>") != NULL;
}

/* Draws into a file without a name first, since gnuplot does not report a full disk. */
static int draw(const char *script, const char *path, struct error *error)
{
    struct output_file file;
    FILE *drawn = tmpfile();
    if (drawn == NULL)
        return error_set(error, "no temporary file for gnuplot: %s", strerror(errno));
    int result = output_file_open(&file, path, error);
    if (result == 0) {
        result = gnuplot_run(script, drawn, error);
        if (result == 0 && !copy_whole(drawn, file.stream))
            result =
                error_set(error, "%s: gnuplot could not write all of it; is the disk of temporary files full?", path);
        if (result == 0)
            result = output_file_commit(&file, error);
        else
            output_file_discard(&file);
    }
    fclose(drawn);
    return result;
}

int page_end(struct picture *picture, const char *nothing, const char *path, struct error *error)
{
    if (fclose(picture->data) != 0)
        picture->failed = true;
    char *script = script_make(picture);
    int result = script != NULL
                     ? draw(script, path, error)
                     : error_set(error, "%s", picture->n_panels == 0 && !picture->failed ? nothing : "no memory");
    for (size_t i = 0; i < picture->n_panels; i++)
        free(picture->panels[i]);
    free(picture->data_text);
    free(script);
    return result;
}
