/* Writes the sections on collectives, one-sided communication and files - the call sites that take most time, and how
 * much of it ranks wait for others to arrive - and on partitioned messages: whether their bytes moved while the sender
 * made the rest ready. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/render/sections.h"
#include "share/base/one_of.h"

enum { SITE_WIDTH = 35 };

/* Adds a cell that names a site: "Allreduce at dot halo.c:119, rows". What does not fit on a line of 80 columns goes
 * without the caller's name. */
static void present_site(struct document *document, const struct report_site *site)
{
    const char *function = site->function, *mark = site->nonblocking ? "*" : "";
    const char *comma = site->communicator[0] != '\0' ? ", " : "";
    char file[NAME_MAX + 32] = "";
    if (strncmp(function, "MPI_", 4) == 0)
        function += strncmp(function, "MPI_File_", 9) == 0 ? 9 : 4;
    if (site->file[0] != '\0')
        snprintf(file, sizeof file, " %.*s:%" PRId64, NAME_MAX, file_name(site->file), site->line);
    size_t width = strlen(function) + strlen(mark) + strlen(" at ") + strlen(site->caller) + strlen(file) +
                   strlen(comma) + strlen(site->communicator);
    bool named = site->caller[0] != '\0' && (file[0] == '\0' || width <= SITE_WIDTH);
    char caller[4 * SITE_WIDTH + 4];
    words_shorten(caller, sizeof caller, site->caller, SITE_WIDTH);
    document_cell(document, "%s%s%s%s%s%s%s", function, mark, named ? " at " : "", named ? caller : "", file, comma,
                  site->communicator);
}

/* Returns the bytes of a call. */
static double each_bytes(const struct report_site *site)
{
    return site->calls > 0 && site->is_transfer ? (double)site->bytes / (double)site->calls : NAN;
}

static double waiting(double wait_s, double transfer_s)
{
    return wait_s + transfer_s > 0 ? wait_s / (wait_s + transfer_s) : NAN;
}

/* Explains the marks, and says how many sites are left out and where they are. */
static void present_other_sites(struct document *document, const struct report_sites *sites, const char *query)
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

/* Adds how much was moved, and how the time divides: of transfers and synchronisation where both are there, of joint
 * calls. */
static void present_site_head(struct document *document, const struct report_sites *sites, const char *moved,
                              bool transfers)
{
    document_line(document, "%" PRId64 " call%s from %" PRId64 " place%s", sites->calls, words_plural(sites->calls),
                  sites->sites, words_plural(sites->sites));
    document_table(document, "|>");
    document_cells(document, "tbts", moved, (double)sites->bytes, "time of all ranks", sites->inside_s);
    if (transfers)
        document_line(document, "%.1f %% in transfers, the rest in synchronisation",
                      words_percent(sites->inside_s > 0 ? sites->transfers_s / sites->inside_s : NAN));
    double share = waiting(sites->wait_s, sites->transfer_s);
    if (!isnan(share))
        document_line(document, "joint calls: %.1f %% waiting for the last rank to arrive, %.1f %% behind that",
                      100 * share, 100 - 100 * share);
}

void present_collectives(struct document *document, const struct report *report)
{
    const struct report_sites *sites = &report->collectives;
    bool waited = false;
    if (sites->n == 0)
        return;
    present_site_head(document, sites, "bytes handed in", false);
    document_table(document, "calls>|a call>|time>|waiting>|for>|in");
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        document_cells(document, "ibsp", site->calls, each_bytes(site), site->time_s,
                       waiting(site->wait_s, site->transfer_s));
        bool named = site->last_rank >= 0 && waiting(site->wait_s, site->transfer_s) >= 5e-4;
        waited = waited || named;
        if (named)
            document_cell(document, "%" PRId64 ", %.0f %%", site->last_rank, 100 * site->last_s / site->wait_s);
        else
            document_cell(document, "-");
        present_site(document, site);
    }
    if (waited)
        document_line(document, "for: the rank that the others waited for longest, its part of the waiting");
    present_other_sites(document, sites, "collective_sites");
}

void present_rma(struct document *document, const struct report *report)
{
    const struct report_sites *sites = &report->rma;
    if (sites->n == 0)
        return;
    present_site_head(document, sites, "bytes moved", true);
    document_table(document, "calls>|a call>|inside>|to the end>|waiting>|in");
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        document_cells(document, "ibssp", site->calls, each_bytes(site), site->inside_s, site->time_s,
                       waiting(site->wait_s, site->transfer_s));
        present_site(document, site);
    }
    present_other_sites(document, sites, "rma_sites");
}

void present_files(struct document *document, const struct report *report)
{
    const struct report_sites *sites = &report->files;
    if (sites->n == 0)
        return;
    present_site_head(document, sites, "bytes read and written", false);
    if (sites->failed > 0)
        document_warning(document, "%" PRId64 " call%s failed", sites->failed, words_plural(sites->failed));
    document_table(document, "calls>|a call>|time>|waiting>|a s>|in");
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        document_cells(document, "ibspb", site->calls, each_bytes(site), site->time_s,
                       site->joint ? waiting(site->wait_s, site->transfer_s) : NAN, site->bytes_per_s);
        present_site(document, site);
    }
    document_line(document, "a s: bytes in a second of a rank that does not wait for others");
    present_other_sites(document, sites, "files");
}

static void present_partitioned(struct document *document, const struct report_partitioned *row)
{
    document_cells(document, "ibissp", row->messages, row->messages > 0 ? row->bytes / (double)row->messages : NAN,
                   row->partitions, row->ready_s, row->arrival_s, row->hidden_share);
    present_site(document, &row->site);
}

void present_partitions(struct document *document, const struct report *report)
{
    const struct report_partitions *all = &report->partitions;
    bool unknown = false;
    if (all->n == 0)
        return;
    document_line(document, "%" PRId64 " message%s from %" PRId64 " place%s; means of a message:", all->messages,
                  words_plural(all->messages), all->sites, words_plural(all->sites));
    document_table(document, "messages>|bytes>|parts>|ready>|arrival>|hidden>|in");
    for (size_t i = 0; i < all->n; i++) {
        present_partitioned(document, &all->rows[i]);
        unknown = unknown || isnan(all->rows[i].hidden_share);
    }
    document_line(document, "ready: from the first partition made ready to the last one; arrival: from there "
                            "until all had arrived; hidden: bytes that had arrived before the last "
                            "partition was ready");
    if (unknown)
        document_line(document, "hidden is known where MPISTAIR_PARTITIONS=1 kept each partition, and the "
                                "receiver asks for each by MPI_Parrived");
    if ((size_t)all->sites > all->n)
        document_line(document, "and %" PRId64 " more: mpistair query TRACE partition_sites",
                      all->sites - (int64_t)all->n);
}
