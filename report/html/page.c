/* Collects the data of the pictures and puts them and the sections of a document on a page (share/base/html_page.h). */
#include "report/html/page.h"

#include "report/html/pictures.h"
#include "report/render/render.h"

enum { PICTURES_MOST = 16, RANK_BINS = 128 };

/* Writes the first section without the title, which the page has already. */
static void write_summary(FILE *stream, const void *context)
{
    const struct document *document = context;
    render_html(stream, document, document->is_titled ? 1 : 0, document->n_first);
}

static void write_details(FILE *stream, const void *context)
{
    const struct document *document = context;
    render_html(stream, document, document->n_first, document->n_blocks);
}

/* Marks the shares that notes of a picture name, and says of what all of them are. */
static void mark_notes(struct picture *picture, const char *reason)
{
    for (size_t i = 0; i < picture->n_notes; i++)
        whole_mark(picture->notes[i]);
    picture_note(picture, "Of what was recorded alone: %s.", reason);
}

static int collect_pictures(struct page_picture *pictures, const struct report *report, sqlite3 *database,
                            struct error *error)
{
    int64_t ranks = 0;
    if (rank_bins_count(&ranks, database, report->path, error) != 0 ||
        activity_tables_make(database, report->path, error) != 0)
        return -1;
    struct picture_source source = {database, report, rank_bins_of(ranks, RANK_BINS)};
    for (size_t i = 0; i < n_picture_kinds; i++) {
        struct picture *picture = &pictures[i].data;
        if (ranks == 0)
            picture_lacks(picture, "The trace names no ranks.");
        else if (picture_kinds[i].collect(picture, &source, error) != 0)
            return -1;
        if (!report->whole.is_whole)
            mark_notes(picture, report->whole.reason);
    }
    return 0;
}

int page_write(FILE *stream, const struct document *document, const char *title, struct error *error)
{
    const struct html_page page = {
        .title = title, .write_summary = write_summary, .write_details = write_details, .context = document};
    return html_page_write(stream, &page, error);
}

int page_write_report(FILE *stream, const struct document *document, const struct report *report, sqlite3 *database,
                      struct error *error)
{
    struct page_picture pictures[PICTURES_MOST];
    const struct html_page page = {.title = report->run.command,
                                   .pictures = pictures,
                                   .n_pictures = n_picture_kinds,
                                   .write_summary = write_summary,
                                   .write_details = write_details,
                                   .context = document};
    for (size_t i = 0; i < n_picture_kinds; i++) {
        const struct picture_kind *kind = &picture_kinds[i];
        pictures[i] = (struct page_picture){.name = kind->name,
                                            .drawing = kind->name,
                                            .title = kind->title,
                                            .caption = kind->caption,
                                            .wide = kind->wide};
        picture_init(&pictures[i].data);
    }
    int result = html_page_draws() ? collect_pictures(pictures, report, database, error) : 0;
    if (result == 0)
        result = html_page_write(stream, &page, error);
    for (size_t i = 0; i < n_picture_kinds; i++)
        picture_release(&pictures[i].data);
    return result;
}
