/* The page is share/html/page.html; a word between two pairs of @ there is replaced by what `parts` says. Data go
 * into the page as JSON, each picture's in an element of its own; every '<' in them is written as an escape, so
 * that no text of the trace can end the element. */
#include "report/html/page.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/activity.h"
#include "report/html/pictures.h"
#include "report/render/render.h"
#include "share/base/installation.h"
#include "share/base/text_file.h"

enum { MAX_FILE = 16 << 20, PICTURES_MOST = 16, RANK_BINS = 128, DIGITS = 9 };

struct page {
    FILE *stream;
    const struct document *document;
    const struct report *report; /* NULL: a page without pictures */
    const char *title;
    char *library; /* NULL: not installed */
    struct picture pictures[PICTURES_MOST];
    struct error *error;
};

/* Returns a file of share/html for free(), NULL with the reason. */
static char *read_shared(const char *name, struct error *error)
{
    char path[PATH_MAX], shared[256];
    snprintf(shared, sizeof shared, "html/%s", name);
    if (installation_find(INSTALLATION_SHARE, shared, path, sizeof path, error) != 0)
        return NULL;
    return text_file_read(path, MAX_FILE, error);
}

static int write_shared(struct page *page, const char *name)
{
    char *text = read_shared(name, page->error);
    if (text == NULL)
        return -1;
    fputs(text, page->stream);
    free(text);
    return 0;
}

static int write_title(struct page *page)
{
    render_html_text(page->stream, page->title);
    return 0;
}

static int write_style(struct page *page)
{
    return write_shared(page, "page.css");
}

/* Writes the first section without the title, which the page has already. */
static int write_summary(struct page *page)
{
    const struct document *document = page->document;
    render_html(page->stream, document, document->is_titled ? 1 : 0, document->n_first);
    return 0;
}

static int write_details(struct page *page)
{
    render_html(page->stream, page->document, page->document->n_first, page->document->n_blocks);
    return 0;
}

static void write_picture(FILE *stream, const struct picture_kind *kind, const struct picture *picture, bool drawn)
{
    fprintf(stream, "<figure id=\"%s\"%s aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", kind->name,
            kind->wide ? " class=\"wide\"" : "", kind->name, kind->name, kind->title);
    if (picture->missing != NULL) {
        fputs("<p class=\"missing\">", stream);
        render_html_text(stream, json_string_value(picture->missing));
        fputs("</p>\n</figure>\n", stream);
        return;
    }
    if (drawn)
        fprintf(stream, "<div class=\"drawing\" data-picture=\"%s\"></div>\n", kind->name);
    fprintf(stream, "<figcaption>%s", kind->caption);
    size_t i;
    json_t *note;
    json_array_foreach(picture->notes, i, note)
    {
        fputc(' ', stream);
        render_html_text(stream, json_string_value(note));
    }
    fputs("</figcaption>\n</figure>\n", stream);
}

static int write_pictures(struct page *page)
{
    if (page->library == NULL && page->report != NULL)
        fputs("<p class=\"missing\">This mpistair was built without the library that draws the pictures (package "
              "libjs-vega of Debian and Ubuntu): there are tables alone.</p>\n",
              page->stream);
    for (size_t i = 0; page->library != NULL && i < n_picture_kinds; i++)
        write_picture(page->stream, &picture_kinds[i], &page->pictures[i], true);
    return 0;
}

static int put_escaped(const char *text, size_t size, void *stream)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<')
            fputs("\\u003c", stream);
        else
            fputc(text[i], stream);
    return 0;
}

static int write_data(struct page *page)
{
    for (size_t i = 0; page->library != NULL && i < n_picture_kinds; i++) {
        const struct picture *picture = &page->pictures[i];
        char name[64];
        if (picture->missing != NULL)
            continue;
        fprintf(page->stream, "<script type=\"application/json\" id=\"data-%s\">", picture_kinds[i].name);
        json_t *data = json_pack("{s:O, s:O}", "tables", picture->tables, "values", picture->values);
        int failed = data == NULL || json_dump_callback(data, put_escaped, page->stream,
                                                        JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) != 0;
        json_decref(data);
        if (failed)
            return error_set(page->error, "%s: no memory for its pictures", page->report->path);
        fprintf(page->stream, "</script>\n<script type=\"application/json\" id=\"drawing-%s\">\n",
                picture_kinds[i].name);
        snprintf(name, sizeof name, "%s.vg.json", picture_kinds[i].name);
        if (write_shared(page, name) != 0)
            return -1;
        fputs("</script>\n", page->stream);
    }
    return 0;
}

static int write_library(struct page *page)
{
    if (page->library != NULL)
        fputs(page->library, page->stream);
    return 0;
}

static int write_script(struct page *page)
{
    return write_shared(page, "page.js");
}

static const struct {
    const char *name;
    int (*write)(struct page *page);
} parts[] = {
    {"title", write_title},     {"style", write_style}, {"summary", write_summary}, {"pictures", write_pictures},
    {"details", write_details}, {"data", write_data},   {"library", write_library}, {"script", write_script},
};

/* Writes the template with its words replaced. */
static int expand(struct page *page, const char *text)
{
    for (;;) {
        const char *word = strstr(text, "@@"), *end = word != NULL ? strstr(word + 2, "@@") : NULL;
        if (end == NULL)
            return fputs(text, page->stream) < 0 ? -1 : 0;
        fwrite(text, 1, (size_t)(word - text), page->stream);
        size_t length = (size_t)(end - word) - 2, i = 0;
        while (i < sizeof parts / sizeof parts[0] &&
               (strlen(parts[i].name) != length || strncmp(parts[i].name, word + 2, length) != 0))
            i++;
        if (i == sizeof parts / sizeof parts[0])
            return error_set(page->error,
                             "html/page.html: @@%.*s@@ stands for nothing: is it that of another mpistair?",
                             length < 40 ? (int)length : 40, word + 2);
        if (parts[i].write(page) != 0)
            return -1;
        text = end + 2;
    }
}

/* Marks the shares that notes of a picture name, and says of what all of them are. */
static void mark_notes(struct picture *picture, const char *reason)
{
    for (size_t i = 0; i < json_array_size(picture->notes); i++) {
        char *text = strdup(json_string_value(json_array_get(picture->notes, i)));
        if (text != NULL)
            whole_mark(text);
        picture->failed |= text == NULL || json_array_set_new(picture->notes, i, json_string(text)) != 0;
        free(text);
    }
    picture_note(picture, "Of what was recorded alone: %s.", reason);
}

static int collect_pictures(struct page *page, sqlite3 *database)
{
    int64_t ranks = 0;
    const char *path = page->report->path;
    if (rank_bins_count(&ranks, database, path, page->error) != 0 ||
        activity_tables_make(database, path, page->error) != 0)
        return -1;
    struct picture_source source = {database, page->report, rank_bins_of(ranks, RANK_BINS)};
    for (size_t i = 0; i < n_picture_kinds; i++) {
        struct picture *picture = &page->pictures[i];
        if (picture_init(picture) == 0 && ranks == 0)
            picture_lacks(picture, "The trace names no ranks.");
        else if (!picture->failed && picture_kinds[i].collect(picture, &source, page->error) != 0)
            return -1;
        if (!page->report->whole.is_whole)
            mark_notes(picture, page->report->whole.reason);
        if (picture->failed)
            return error_set(page->error, "%s: no memory for its pictures", path);
    }
    return 0;
}

int page_write(FILE *stream, const struct document *document, const char *title, struct error *error)
{
    struct page page = {.stream = stream, .document = document, .title = title, .error = error};
    char *template = read_shared("page.html", error);
    int result = template == NULL ? -1 : expand(&page, template);
    free(template);
    return result;
}

int page_write_report(FILE *stream, const struct document *document, const struct report *report, sqlite3 *database,
                      struct error *error)
{
    struct page page = {
        .stream = stream, .document = document, .report = report, .title = report->run.command, .error = error};
    struct error none;
    char *template = read_shared("page.html", error);
    page.library = read_shared("vega.js", &none);
    int result = template == NULL ? -1 : 0;
    if (result == 0 && page.library != NULL)
        result = collect_pictures(&page, database);
    if (result == 0)
        result = expand(&page, template);
    for (size_t i = 0; i < n_picture_kinds; i++)
        picture_release(&page.pictures[i]);
    free(page.library);
    free(template);
    return result;
}
