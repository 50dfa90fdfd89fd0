/* Writes the sections on collectives, one-sided communication and files: the call sites that take most time, and how
 * much of it ranks wait for others to arrive. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"
#include "report/render/words.h"

static void count_cells(struct document *document, const struct report_site *site)
{
    document_cells(document, "ib", site->calls,
                   site->calls > 0 && site->is_transfer ? (double)site->bytes / (double)site->calls : NAN);
}

static double waiting(double wait_s, double transfer_s)
{
    return wait_s + transfer_s > 0 ? wait_s / (wait_s + transfer_s) : NAN;
}

/* Explains the marks, and says how many sites are left out and where they are. */
static void present_rest(struct document *document, const struct report_sites *sites, const char *query)
{
    bool marked = false;
    for (size_t i = 0; i < sites->n; i++)
        marked = marked || sites->rows[i].nonblocking;
    if (marked)
        document_line(document, "* until another call reported its end: what was computed meanwhile counts");
    if ((size_t)sites->sites > sites->n)
        document_line(document, "and %" PRId64 " more: mpistair query TRACE %s", sites->sites - (int64_t)sites->n,
                      query);
}

/* Adds the line on how the time of joint calls divides. */
static void present_waiting(struct document *document, const struct report_sites *sites, const char *what)
{
    double share = waiting(sites->wait_s, sites->transfer_s);
    if (!isnan(share))
        document_line(document, "%s: %.1f %% waiting for the last rank to arrive, %.1f %% behind that", what,
                      100 * share, 100 - 100 * share);
}

static void present_head(struct document *document, const struct report_sites *sites, const char *moved)
{
    document_line(document, "%" PRId64 " call%s from %" PRId64 " place%s", sites->calls, words_plural(sites->calls),
                  sites->sites, words_plural(sites->sites));
    document_table(document, "|>");
    document_cells(document, "tbts", moved, (double)sites->bytes, "time of all ranks", sites->inside_s);
}

void present_collectives(struct document *document, const struct report *report)
{
    const struct report_sites *sites = &report->collectives;
    bool waited = false;
    if (sites->n == 0)
        return;
    present_head(document, sites, "bytes handed in");
    present_waiting(document, sites, "joint calls");
    document_table(document, "calls>|a call>|time>|waiting>|for>|in");
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        count_cells(document, site);
        document_cells(document, "sp", site->time_s, waiting(site->wait_s, site->transfer_s));
        bool named = site->last_rank >= 0 && waiting(site->wait_s, site->transfer_s) >= 5e-4;
        waited = waited || named;
        if (named)
            document_cell(document, "%" PRId64 ", %.0f %%", site->last_rank, 100 * site->last_s / site->wait_s);
        else
            document_cell(document, "-");
        words_site(document, site);
    }
    if (waited)
        document_line(document, "for: the rank that the others waited for longest, its part of the waiting");
    present_rest(document, sites, "collective_sites");
}

void present_rma(struct document *document, const struct report *report)
{
    const struct report_sites *sites = &report->rma;
    if (sites->n == 0)
        return;
    present_head(document, sites, "bytes moved");
    document_line(document, "%.1f %% in transfers, the rest in synchronisation",
                  words_percent(sites->inside_s > 0 ? sites->transfers_s / sites->inside_s : NAN));
    present_waiting(document, sites, "joint calls");
    document_table(document, "calls>|a call>|inside>|to the end>|waiting>|in");
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        count_cells(document, site);
        document_cells(document, "ssp", site->inside_s, site->time_s, waiting(site->wait_s, site->transfer_s));
        words_site(document, site);
    }
    present_rest(document, sites, "rma_sites");
}

void present_files(struct document *document, const struct report *report)
{
    const struct report_sites *sites = &report->files;
    if (sites->n == 0)
        return;
    present_head(document, sites, "bytes read and written");
    present_waiting(document, sites, "joint calls");
    if (sites->failed > 0)
        document_warning(document, "%" PRId64 " call%s failed", sites->failed, words_plural(sites->failed));
    document_table(document, "calls>|a call>|time>|waiting>|a s>|in");
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        count_cells(document, site);
        document_cells(document, "spb", site->time_s, site->joint ? waiting(site->wait_s, site->transfer_s) : NAN,
                       site->bytes_per_s);
        words_site(document, site);
    }
    document_line(document, "a s: bytes in a second of a rank that does not wait for others");
    present_rest(document, sites, "files");
}
