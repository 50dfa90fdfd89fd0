/* Writes the section on the whole run: how long, who is to blame, where the time goes; none without a stored replay.
 * Papers are named as in share/doc/MODELS.md. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/render/sections.h"

static void present_places(struct document *document, const struct report_replay_places *places, const char *columns)
{
    document_table(document, columns);
    for (size_t i = 0; i < places->n; i++) {
        const struct report_replay_place *place = &places->rows[i];
        document_cells(document, "isp", place->rank, place->time_s, place->share);
        document_cell(document, "%s%s%s", place->function, place->place[0] != '\0' ? " at " : "", place->place);
    }
}

static void present_blame(struct document *document, const struct report_replay *replay)
{
    if (replay->blamed.n == 0) {
        document_line(document, "no rank waits for another");
        return;
    }
    document_line(document, "to blame for %.3g s of waiting, passed on to where it began:", replay->blamed.all_s);
    present_places(document, &replay->blamed, "rank>|time>|share>|before");
}

static void present_slower(struct document *document, const struct report_replay *replay)
{
    if (replay->slower.n == 0 || !(replay->slower.rows[0].share >= REPORT_SLOWER_SHARE))
        return;
    document_line(document, "transfers that took longer than %s gives (a slow link, a busy core):", replay->machine);
    present_places(document, &replay->slower, "rank>|time>|share>|in");
}

static void present_replay_parts(struct document *document, const struct report_replay *replay)
{
    document_line(document, "where the time goes:");
    document_table(document, "of all ranks|measured>|predicted>");
    for (size_t i = 0; i < replay->n_parts; i++) {
        const struct report_replay_part *part = &replay->parts[i];
        static const char inner[] = " latency bandwidth contention queue progress ";
        const char *found = strstr(inner, part->name);
        char name[64];
        snprintf(name, sizeof name, "%s%s", found != NULL ? "  " : "", part->name);
        for (char *letter = name; *letter != '\0'; letter++)
            *letter = *letter == '_' ? ' ' : *letter;
        document_cells(document, "tss", name, part->measured_s, part->predicted_s);
    }
}

static void present_replay_efficiency(struct document *document, double share, const char *bound)
{
    if (isnan(share) || bound[0] == '\0')
        document_cells(document, "p", share);
    else
        document_cell(document, "%s %.*f %%", bound, document->whole_percents ? 0 : 1, 100 * share);
}

static void present_efficiencies(struct document *document, const struct report_replay *replay)
{
    document_table(document, "efficiency|measured>|predicted>");
    for (size_t i = 0; i < replay->n_efficiencies; i++) {
        const struct report_replay_efficiency *efficiency = &replay->efficiencies[i];
        document_cells(document, "t",
                       strcmp(efficiency->name, "load_balance") == 0 ? "load balance" : efficiency->name);
        present_replay_efficiency(document, efficiency->measured, efficiency->measured_bound);
        present_replay_efficiency(document, efficiency->predicted, efficiency->predicted_bound);
    }
}

void present_replay(struct document *document, const struct report *report)
{
    const struct report_replay *replay = &report->replay;
    if (replay->id < 0)
        return;
    char change[64] = "copied: nothing is predicted";
    if (!isnan(replay->mpi_error)) /* else no message and no collective was modelled */
        snprintf(change, sizeof change, "%+.1f %%", 100 * (replay->predicted_s / replay->measured_s - 1));
    document_line(document, "%.4g s measured, %.4g s by %s on %s (%s), collectives %s%s%s", replay->measured_s,
                  replay->predicted_s, replay->law, replay->machine, change, replay->collectives,
                  replay->options[0] != '\0' ? ", " : "", replay->options);
    if (!isnan(replay->mpi_error))
        document_line(document, "time inside MPI: error %.1f %%", 100 * replay->mpi_error);
    bool slower_first = replay->slower.all_s > replay->blamed.all_s;
    if (slower_first)
        present_slower(document, replay);
    present_blame(document, replay);
    if (!slower_first)
        present_slower(document, replay);
    document_line(document, "the critical path:");
    present_places(document, &replay->critical, "rank>|time>|share>|before and in");
    present_replay_parts(document, replay);
    present_efficiencies(document, replay);
    if (replay->stored > 1)
        document_line(document, "%" PRId64 " replays are stored, this is the last one", replay->stored);
}
