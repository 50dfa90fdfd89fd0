/* Writes the section on fine-grained messages: what it would have given to send the buffers of recorded rounds in
 * parts. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"

static bool has_values(const double saved[REPORT_FINE_PARTS])
{
    for (size_t k = 0; k < REPORT_FINE_PARTS; k++)
        if (!isnan(saved[k]))
            return true;
    return false;
}

/* Adds a row an interface; what they share stands in the first one. */
static void present_grained_kind(struct document *document, const struct report_fine_kind *kind)
{
    bool first = true;
    for (size_t by = 0; by < FINE_BY_COUNT; by++) {
        if (by != FINE_BY_P2P && !has_values(kind->saved[by]))
            continue;
        if (first) {
            document_cells(document, "ii", kind->kind, kind->threads);
            document_cell(document, "%.3g", kind->peers);
            document_cells(document, "bs", kind->bytes, kind->late_s);
        }
        for (int i = 0; i < 5 && !first; i++)
            document_cell(document, "%s", "");
        document_cell(document, "%s", report_fine_by_name[by]);
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++)
            document_cells(document, "c", kind->saved[by][k]);
        first = false;
    }
}

static void present_grained_notes(struct document *document, const struct report_fine_grained *fine)
{
    document_line(document,
                  "late: from the first thread that was done to the last; parts: time saved from the begin of the "
                  "computation until all is sent, + less time, - more; at most: what no interface can pass");
    if (fine->one_thread)
        document_line(document,
                      "where one thread posts, all parts are ready at once: all that can be gained is that another "
                      "interface costs less");
    if (fine->tau_missing)
        document_line(document, "%s has no tau_p2p: its tau stands for what a part costs", fine->machine);
    if (fine->all > fine->n)
        document_line(document, "and %zu more kinds that take less time", fine->all - fine->n);
}

void present_fine_grained(struct document *document, const struct report *report)
{
    const struct report_fine_grained *fine = &report->fine_grained;
    if (fine->machine[0] == '\0')
        return;
    if (fine->unknown != NULL)
        document_line(document, "not known: %s", fine->unknown);
    if (fine->n > 0) {
        document_line(document, "buffers sent in parts as threads get done, by the model on %s:", fine->machine);
        document_table(document, "kind>|threads>|peers>|bytes>|late>|parts by|2>|4>|8>");
        for (size_t i = 0; i < fine->n; i++)
            present_grained_kind(document, &fine->rows[i]);
        present_grained_notes(document, fine);
    }
    if (fine->unseen > 0)
        document_line(document,
                      "%" PRId64 " round%s of ranks left out: MPISTAIR_PARTITIONS=1 keeps when partitions were ready",
                      fine->unseen, words_plural(fine->unseen));
    if (fine->left_out > 0)
        document_line(document, "%" PRId64 " round%s of ranks left out: places or times of the sends are not known",
                      fine->left_out, words_plural(fine->left_out));
}
