/* Writes the section on rounds and their kinds. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"

void present_rounds(struct document *document, const struct report *report)
{
    document_line(document,
                  "%" PRId64 " round%s of %" PRId64 " kind%s; %.1f %% of the time in kinds of three and more rounds",
                  report->rounds, words_plural(report->rounds), report->all_kinds, words_plural(report->all_kinds),
                  words_percent(report->repeated_share));
    if (report->families < report->all_kinds)
        document_line(document,
                      "%" PRId64
                      " famil%s of kinds that differ in sizes alone; %.1f %% of the time in those of three and "
                      "more rounds",
                      report->families, report->families == 1 ? "y" : "ies", words_percent(report->family_share));
    if (report->n_kinds == 0)
        return;
    document_line(document, "late senders: %.1f %% of the time a receive waited for its message to be sent",
                  words_percent(report->late_senders_share));
    document_line(document, "late receivers: %.1f %% of the time a send waited for its receive to be posted",
                  words_percent(report->late_receivers_share));
    document_line(document, "concurrent: in %.1f %% of the time another round was under way on the same socket or NIC",
                  words_percent(report->concurrent_share));
    if (report->all_kinds > (int64_t)report->n_kinds)
        document_line(document, "the heaviest %zu:", report->n_kinds);
    size_t best = report_best_of_rounds(report);
    document_table(document, best < report->n_models
                                 ? "kind>|rounds>|messages>|a rank>|volume>|on>|off>|node>|time>|error>"
                                 : "kind>|rounds>|messages>|a rank>|volume>|on>|off>|node>|time>");
    for (size_t i = 0; i < report->n_kinds; i++) {
        const struct report_kind *kind = &report->kinds[i];
        document_cells(document, "iiiibpppp", kind->kind, kind->rounds, kind->messages, kind->max_messages,
                       (double)kind->bytes, kind->intra_socket, kind->inter_socket, kind->inter_node, kind->time_share);
        if (best < report->n_models)
            document_cells(document, "p", words_claimed(&report->models[best], kind->error[best]));
    }
    document_line(
        document,
        "of one round: messages, most to a rank, volume, its share on-socket, off-socket, inter-node; of all rounds: "
        "share of the time%s%s%s%s",
        best == report->n_models ? "" : ", error of ", best == report->n_models ? "" : report->models[best].title,
        best == report->n_models ? "" : " on ", best == report->n_models ? "" : report->models[best].machine);
}
