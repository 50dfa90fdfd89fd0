/* Writes the section on partitioned messages: whether their bytes moved while the sender made the rest ready. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"
#include "report/render/words.h"

static void present_row(struct document *document, const struct report_partitioned *row)
{
    document_cell(document, "%" PRId64, row->messages);
    document_bytes(document, row->messages > 0 ? row->bytes / (double)row->messages : NAN);
    document_cell(document, "%" PRId64, row->partitions);
    document_seconds(document, row->ready_s);
    document_seconds(document, row->arrival_s);
    document_percent(document, row->hidden_share, false);
    words_site(document, &row->site);
}

void present_partitions(struct document *document, const struct report *report)
{
    static const struct document_column columns[] = {{"messages", true}, {"bytes", true},   {"parts", true},
                                                     {"ready", true},    {"arrival", true}, {"hidden", true},
                                                     {"in", false}};
    const struct report_partitions *all = &report->partitions;
    bool unknown = false;
    if (all->unsummed)
        document_add(document, DOCUMENT_LINE,
                     "this trace was made before its partitions were summed; make it once more of "
                     "its spools by mpistair ingest");
    if (all->n == 0)
        return;
    document_add(document, DOCUMENT_LINE,
                 "%" PRId64 " message%s from %" PRId64 " place%s; means of a message:", all->messages,
                 words_plural(all->messages), all->sites, words_plural(all->sites));
    document_table(document, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < all->n; i++) {
        present_row(document, &all->rows[i]);
        unknown = unknown || isnan(all->rows[i].hidden_share);
    }
    document_add(document, DOCUMENT_LINE,
                 "ready: from the first partition made ready to the last one; arrival: from there "
                 "until all had arrived; hidden: bytes that had arrived before the last "
                 "partition was ready");
    if (unknown)
        document_add(document, DOCUMENT_LINE,
                     "hidden is known where MPISTAIR_PARTITIONS=1 kept each partition, and the "
                     "receiver asks for each by MPI_Parrived");
    if ((size_t)all->sites > all->n)
        document_add(document, DOCUMENT_LINE, "and %" PRId64 " more: mpistair query TRACE partition_sites",
                     all->sites - (int64_t)all->n);
}
