/* A word between two pairs of @ in share/html/page.html is replaced (write_part). Data go into the page as JSON,
 * each picture's in an element of its own; every '<' in them is written as an escape, so that no text can end the
 * element. Rows are small arrays and not objects, since a page may have tens of thousands of them; share/html/page.js
 * makes objects of them. */
#include "share/base/html_page.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/installation.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/text_file.h"

enum { MAX_FILE = 16 << 20 };

void picture_init(struct picture *picture)
{
    *picture = (struct picture){.tables = json_object(), .values = json_object()};
}

void picture_release(struct picture *picture)
{
    json_release(picture->tables);
    json_release(picture->values);
    for (size_t i = 0; i < picture->n_notes; i++)
        free(picture->notes[i]);
    free(picture->notes);
    free(picture->missing);
    *picture = (struct picture){0};
}

void picture_table(struct picture *picture, const char *name, const char *fields)
{
    struct json *names = json_array();
    picture->rows = json_array();
    while (*fields != '\0') {
        size_t length = strcspn(fields, " ");
        char *field = xstrndup(fields, length);
        json_add(names, json_string(field));
        free(field);
        fields += length + (fields[length] == ' ' ? 1 : 0);
    }
    json_set(picture->tables, name, json_pack("{so so}", "fields", names, "rows", picture->rows));
}

void picture_row(struct picture *picture, const char *letters, ...)
{
    va_list values;
    struct json *row = json_array();
    va_start(values, letters);
    for (; *letters != '\0'; letters++)
        json_add(row, *letters == 'i'   ? json_integer(va_arg(values, int64_t))
                      : *letters == 'd' ? json_finite(va_arg(values, double))
                                        : json_string(va_arg(values, const char *)));
    va_end(values);
    json_add(picture->rows, row);
}

void picture_value(struct picture *picture, const char *name, struct json *value)
{
    json_set(picture->values, name, value);
}

static char *sentence(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        no_memory(0);
    return text;
}

void picture_note(struct picture *picture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    picture->notes = xreallocarray(picture->notes, picture->n_notes + 1, sizeof *picture->notes);
    picture->notes[picture->n_notes++] = sentence(format, arguments);
    va_end(arguments);
}

void picture_lacks(struct picture *picture, const char *format, ...)
{
    va_list arguments;
    free(picture->missing);
    va_start(arguments, format);
    picture->missing = sentence(format, arguments);
    va_end(arguments);
}

void html_text(FILE *stream, const char *text)
{
    static const char *const entities[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 128 && entities[byte] != NULL)
            fputs(entities[byte], stream);
        else
            fputc(byte, stream);
    }
}

/* A page on its way to the stream. */
struct writing {
    FILE *stream;
    const struct html_page *page;
    char *library; /* NULL: not installed, or no pictures */
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

static int write_shared(struct writing *writing, const char *name)
{
    char *text = read_shared(name, writing->error);
    if (text == NULL)
        return -1;
    fputs(text, writing->stream);
    free(text);
    return 0;
}

static void write_picture(FILE *stream, const struct page_picture *picture)
{
    fprintf(stream, "<figure id=\"%s\"%s aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", picture->name,
            picture->wide ? " class=\"wide\"" : "", picture->name, picture->name);
    html_text(stream, picture->title);
    fputs("</h2>\n", stream);
    if (picture->data.missing != NULL) {
        fputs("<p class=\"missing\">", stream);
        html_text(stream, picture->data.missing);
        fputs("</p>\n</figure>\n", stream);
        return;
    }
    fprintf(stream, "<div class=\"drawing\" data-picture=\"%s\" data-drawing=\"%s\"></div>\n<figcaption>",
            picture->name, picture->drawing);
    html_text(stream, picture->caption);
    for (size_t i = 0; i < picture->data.n_notes; i++) {
        fputc(' ', stream);
        html_text(stream, picture->data.notes[i]);
    }
    fputs("</figcaption>\n</figure>\n", stream);
}

static void write_pictures(const struct writing *writing)
{
    if (writing->library == NULL && writing->page->n_pictures > 0)
        fputs("<p class=\"missing\">This mpistair was built without the library that draws the pictures (package "
              "libjs-vega of Debian and Ubuntu): there are tables alone.</p>\n",
              writing->stream);
    for (size_t i = 0; writing->library != NULL && i < writing->page->n_pictures; i++)
        write_picture(writing->stream, &writing->page->pictures[i]);
}

/* Writes the specification of a picture, unless one before it has the same. */
static int write_drawing(struct writing *writing, const struct page_picture *picture)
{
    char name[64];
    for (const struct page_picture *before = writing->page->pictures; before < picture; before++)
        if (before->data.missing == NULL && strcmp(before->drawing, picture->drawing) == 0)
            return 0;
    fprintf(writing->stream, "<script type=\"application/json\" id=\"drawing-%s\">\n", picture->drawing);
    snprintf(name, sizeof name, "%s.vg.json", picture->drawing);
    if (write_shared(writing, name) != 0)
        return -1;
    fputs("</script>\n", writing->stream);
    return 0;
}

static int write_data(struct writing *writing)
{
    const struct html_page *page = writing->page;
    for (size_t i = 0; writing->library != NULL && i < page->n_pictures; i++) {
        const struct page_picture *picture = &page->pictures[i];
        if (picture->data.missing != NULL)
            continue;
        fprintf(writing->stream, "<script type=\"application/json\" id=\"data-%s\">", picture->name);
        fputs("{\"tables\":", writing->stream);
        int result = json_print(writing->stream, picture->data.tables, JSON_PAGE);
        fputs(",\"values\":", writing->stream);
        if ((json_print(writing->stream, picture->data.values, JSON_PAGE) | result) != 0)
            return error_set(writing->error, "the picture %s has text that is not UTF-8", picture->name);
        fputs("}</script>\n", writing->stream);
        if (write_drawing(writing, picture) != 0)
            return -1;
    }
    return 0;
}

/* Writes what stands in the place of a word of the template. */
static int write_part(struct writing *writing, const char *word)
{
    const struct html_page *page = writing->page;
    if (strcmp(word, "title") == 0)
        html_text(writing->stream, page->title);
    else if (strcmp(word, "style") == 0)
        return write_shared(writing, "page.css");
    else if (strcmp(word, "summary") == 0)
        page->write_summary(writing->stream, page->context);
    else if (strcmp(word, "pictures") == 0)
        write_pictures(writing);
    else if (strcmp(word, "data") == 0)
        return write_data(writing);
    else if (strcmp(word, "library") == 0)
        fputs(writing->library != NULL ? writing->library : "", writing->stream);
    else if (strcmp(word, "script") == 0)
        return write_shared(writing, "page.js");
    else if (strcmp(word, "details") != 0)
        return error_set(writing->error,
                         "html/page.html: unknown placeholder @@%.40s@@: is the file from another version of mpistair?",
                         word);
    else if (page->write_details != NULL)
        page->write_details(writing->stream, page->context);
    return 0;
}

/* Writes the template with its words replaced. */
static int expand(struct writing *writing, const char *text)
{
    for (;;) {
        const char *word = strstr(text, "@@"), *end = word != NULL ? strstr(word + 2, "@@") : NULL;
        if (end == NULL) {
            fputs(text, writing->stream);
            return 0;
        }
        fwrite(text, 1, (size_t)(word - text), writing->stream);
        char *name = xstrndup(word + 2, (size_t)(end - word) - 2);
        int result = write_part(writing, name);
        free(name);
        if (result != 0)
            return -1;
        text = end + 2;
    }
}

bool html_page_draws(void)
{
    char path[PATH_MAX];
    return installation_find(INSTALLATION_SHARE, "html/vega.js", path, sizeof path, NULL) == 0;
}

int html_page_write(FILE *stream, const struct html_page *page, struct error *error)
{
    struct writing writing = {.stream = stream, .page = page, .error = error};
    char *template = read_shared("page.html", error);
    if (template == NULL)
        return -1;
    if (page->n_pictures > 0)
        writing.library = read_shared("vega.js", NULL);
    int result = expand(&writing, template);
    free(writing.library);
    free(template);
    return result;
}
