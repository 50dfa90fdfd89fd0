/* Writes the section on partitioned messages: whether their bytes moved while the sender made the rest ready. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"
#include "report/render/words.h"

static void present_row(struct document *document, const struct report_partitioned *row)
{
    document_cells(document, "ibissp", row->messages, row->messages > 0 ? row->bytes / (double)row->messages : NAN,
                   row->partitions, row->ready_s, row->arrival_s, row->hidden_share);
    words_site(document, &row->site);
}

void present_partitions(struct document *document, const struct report *report)
{
    const struct report_partitions *all = &report->partitions;
    bool unknown = false;
    if (all->unsummed)
        document_line(document, "this trace was made before its partitions were summed; make it once more of "
                                "its spools by mpistair ingest");
    if (all->n == 0)
        return;
    document_line(document, "%" PRId64 " message%s from %" PRId64 " place%s; means of a message:", all->messages,
                  words_plural(all->messages), all->sites, words_plural(all->sites));
    document_table(document, "messages>|bytes>|parts>|ready>|arrival>|hidden>|in");
    for (size_t i = 0; i < all->n; i++) {
        present_row(document, &all->rows[i]);
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
