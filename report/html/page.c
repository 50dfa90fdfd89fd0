/* The page: the sections of a document, and pictures, whose table this is, with what they share: bins of ranks, and
 * one pass over messages and calls. share/base/html_page.h puts both on a page. */
#include "report/html/page.h"

#include <inttypes.h>

#include "interpose/database/database.h"
#include "report/html/picture_scan.h"
#include "report/html/pictures.h"
#include "report/render/sections.h"
#include "share/base/progress.h"

static const struct {
    struct page_picture place;
    int (*collect)(struct picture *picture, const struct picture_source *source);
} picture_kinds[] = {
    {{"timeline", "timeline", "Timeline",
      "What each rank does over time, and its messages. Drag to move, hold Ctrl and turn the wheel to zoom, drag in "
      "the "
      "strip below to choose a time, double-click to see all.",
      .wide = true},
     picture_timeline},
    {{"ranks", "ranks", "Where the time of ranks goes", "A bar a rank, divided by what it spends its time on.",
      .wide = true},
     picture_ranks},
    {{"course", "course", "Course of the run", "How much of each part of the run ranks are inside MPI.", .wide = true},
     picture_course},
    {{"efficiency", "efficiency", "Efficiency over time", "The efficiencies of the run in each window of its course.",
      .wide = true},
     picture_efficiency},
    {{"matrix", "matrix", "Who sends to whom", "Senders from top to bottom, receivers from left to right.",
      .wide = false},
     picture_matrix},
    {{"map", "map", "Nodes and sockets",
      "The outer ring has the nodes, the inner one their sockets; ribbons are the traffic between them.",
      .wide = false},
     picture_map},
    {{"scatter", "scatter", "Measured against modelled",
      "Each point is the time of a rank in messages; on the line a model says what was measured.", .wide = false},
     picture_scatter},
    {{"sizes", "sizes", "Sizes of messages", "Messages by size, in powers of two.", .wide = false}, picture_sizes},
    {{"path", "path", "Critical path",
      "The calls that the length of the run is made of, by the stored replay: shortening anything else does not "
      "shorten "
      "it.",
      .wide = true},
     picture_path},
};
enum { PICTURES = sizeof picture_kinds / sizeof picture_kinds[0], RANK_BINS = 128, TIMELINE_ROWS = 64 };

void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what)
{
    if (bins->width > 1)
        picture_note(picture, "Each %s stands for %" PRId64 " of the %" PRId64 " ranks.", what, bins->width,
                     bins->ranks);
}

void picture_bins(struct picture *picture, const struct rank_bins *bins, const char *what)
{
    picture_value(picture, "span", json_integer(bins->width));
    picture_value(picture, "ranks", json_integer(bins->ranks));
    picture_note_bins(picture, bins, what);
}

struct rank_bins rank_bins_of(int64_t ranks, int64_t most)
{
    int64_t width = ranks > most ? (ranks + most - 1) / most : 1;
    return (struct rank_bins){.ranks = ranks, .width = width, .n = (ranks + width - 1) / width};
}

int64_t rank_bins_size(const struct rank_bins *bins, int64_t bin)
{
    int64_t rest = bins->ranks - bin * bins->width;
    return rest < bins->width ? rest : bins->width;
}

const char *const activity_name[SPENT_COUNT] = {"computation", "point-to-point", "collectives",   "one-sided",
                                                "files",       "other MPI",      "between polls", "not recorded"};

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

/* A damaged trace may name any rank: what lies beyond MAX_RANK is left out of pictures. */
static int collect_pictures(struct page_picture *pictures, const struct report *report, sqlite3 *database,
                            struct error *error)
{
    struct picture_source source = {database, report, .error = error};
    struct cursor rows;
    int64_t ranks = 0;
    picture_query(
        &rows, &source,
        "SELECT max(coalesce((SELECT max(rank) FROM process), -1) + 1, coalesce((SELECT world_size FROM run), 0))", "");
    if (cursor_next(&rows))
        ranks = cursor_integer(&rows, 0);
    if (cursor_close(&rows) != 0)
        return -1;
    ranks = ranks < 0 ? 0 : ranks > MAX_RANK ? MAX_RANK : ranks;
    source.bins = rank_bins_of(ranks, RANK_BINS);
    source.rows = rank_bins_of(ranks, TIMELINE_ROWS);
    struct picture_rows found = {0};
    source.found = &found;
    progress_show("report: pictures");
    int result = ranks > 0 ? picture_rows_read(&found, &source) : 0;
    for (size_t i = 0; result == 0 && i < PICTURES; i++) {
        struct picture *picture = &pictures[i].data;
        if (ranks == 0)
            picture_lacks(picture, "The trace names no ranks.");
        else
            result = picture_kinds[i].collect(picture, &source);
        if (!report->whole.is_whole)
            mark_notes(picture, report->whole.reason);
    }
    progress_show(NULL);
    picture_rows_release(&found);
    return result;
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
    struct page_picture pictures[PICTURES];
    const struct html_page page = {.title = report->run.command,
                                   .pictures = pictures,
                                   .n_pictures = PICTURES,
                                   .write_summary = write_summary,
                                   .write_details = write_details,
                                   .context = document};
    for (size_t i = 0; i < PICTURES; i++) {
        pictures[i] = picture_kinds[i].place;
        picture_init(&pictures[i].data);
    }
    int result = html_page_draws() ? collect_pictures(pictures, report, database, error) : 0;
    if (result == 0)
        result = html_page_write(stream, &page, error);
    for (size_t i = 0; i < PICTURES; i++)
        picture_release(&pictures[i].data);
    return result;
}
