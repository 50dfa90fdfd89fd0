/* Collects what each rank spends its time on. A stored replay divides it by cause, and leaves what its model does not
 * explain; without one it is divided by what was recorded: computation, and calls of MPI by what they are for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/pictures.h"

/* Parts in the order of the bars: as measured, but for the modelled parts of transfers, which are cut where they exceed
 * what was measured. */
enum share {
    SHARE_COMPUTATION,
    SHARE_LATE_SENDER,
    SHARE_LATE_RECEIVER,
    SHARE_LATENCY,
    SHARE_BANDWIDTH,
    SHARE_CONTENTION,
    SHARE_QUEUE,
    SHARE_PROGRESS,
    SHARE_COLLECTIVE_WAIT,
    SHARE_COLLECTIVE_TRANSFER,
    SHARE_OTHER,
    SHARE_UNEXPLAINED,
    SHARE_NOT_RECORDED,
    SHARES,
};
static const char *const part_title[SHARES] = {
    "computation", "late sender",     "late receiver",       "latency", "bandwidth",     "contention",  "queue",
    "progress",    "collective wait", "collective transfer", "other",   "not explained", "not recorded"};

/* What the trace has of a bin: sums by quantity. */
struct quantities {
    double computation, late_sender, late_receiver, transfer, collective_wait, collective_transfer, other, not_recorded;
    double transfer_predicted, collective_predicted;
    double latency, bandwidth, contention, queue, progress; /* predicted parts of transfer */
};

static void take(struct quantities *sums, const char *quantity, double measured_s, double predicted_s)
{
    const struct {
        const char *name;
        double *measured, *predicted;
    } places[] = {
        {"computation", &sums->computation, NULL},
        {"late_sender", &sums->late_sender, NULL},
        {"late_receiver", &sums->late_receiver, NULL},
        {"transfer", &sums->transfer, &sums->transfer_predicted},
        {"collective_wait", &sums->collective_wait, NULL},
        {"collective_transfer", &sums->collective_transfer, &sums->collective_predicted},
        {"other", &sums->other, NULL},
        {"not_recorded", &sums->not_recorded, NULL},
        {"latency", NULL, &sums->latency},
        {"bandwidth", NULL, &sums->bandwidth},
        {"contention", NULL, &sums->contention},
        {"queue", NULL, &sums->queue},
        {"progress", NULL, &sums->progress},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (strcmp(places[i].name, quantity) != 0)
            continue;
        if (places[i].measured != NULL && isfinite(measured_s))
            *places[i].measured += fmax(measured_s, 0);
        if (places[i].predicted != NULL && isfinite(predicted_s))
            *places[i].predicted += fmax(predicted_s, 0);
    }
}

static void divide(const struct quantities *sums, double parts[SHARES])
{
    double explained = fmin(sums->transfer, sums->transfer_predicted);
    double named = sums->latency + sums->bandwidth + sums->contention + sums->queue + sums->progress;
    double scale = named > 0 ? explained / named : 0;
    double collective = fmin(sums->collective_transfer, sums->collective_predicted);
    parts[SHARE_COMPUTATION] = sums->computation;
    parts[SHARE_LATE_SENDER] = sums->late_sender;
    parts[SHARE_LATE_RECEIVER] = sums->late_receiver;
    parts[SHARE_LATENCY] = sums->latency * scale;
    parts[SHARE_BANDWIDTH] = sums->bandwidth * scale;
    parts[SHARE_CONTENTION] = sums->contention * scale;
    parts[SHARE_QUEUE] = sums->queue * scale;
    parts[SHARE_PROGRESS] = sums->progress * scale;
    parts[SHARE_COLLECTIVE_WAIT] = sums->collective_wait;
    parts[SHARE_COLLECTIVE_TRANSFER] = collective;
    parts[SHARE_OTHER] = sums->other;
    parts[SHARE_UNEXPLAINED] = sums->transfer - (named > 0 ? explained : 0) + sums->collective_transfer - collective;
    parts[SHARE_NOT_RECORDED] = sums->not_recorded;
}

static void add_bar(struct picture *picture, const struct rank_bins *bins, int64_t bin, const char *const *titles,
                    const double *parts, size_t n_parts)
{
    double n = (double)rank_bins_size(bins, bin);
    for (size_t part = 0; part < n_parts; part++)
        if (parts[part] > 0)
            picture_row(picture, "itdi", bin * bins->width, titles[part], parts[part] / n, (int64_t)part);
}

static int of_replay(struct picture *picture, const struct picture_source *source, const struct rank_bins *bins,
                     struct error *error)
{
    const struct report_replay *replay = &source->report->replay;
    struct quantities *sums = calloc((size_t)bins->n, sizeof *sums);
    struct pool pool = {0};
    struct cursor rows;
    if (sums == NULL)
        return error_set(error, "%s: no memory for its pictures", source->report->path);
    picture_query(&rows, source,
                  "SELECT p.rank / ?1, t.quantity, total(t.measured_s), total(t.predicted_s) "
                  "FROM replay_place p JOIN replay_part t ON t.run_id = p.run_id AND t.place = p.place "
                  "WHERE p.run_id = ?3 AND p.rank >= 0 AND p.rank < ?2 GROUP BY 1, 2",
                  PICTURE_VALUES(bins->width, bins->ranks, replay->id), error);
    while (cursor_next(&rows))
        take(&sums[cursor_integer(&rows, 0)], cursor_text(&rows, 1, &pool), cursor_real(&rows, 2),
             cursor_real(&rows, 3));
    for (int64_t bin = 0; bin < bins->n; bin++) {
        double parts[SHARES];
        divide(&sums[bin], parts);
        add_bar(picture, bins, bin, part_title, parts, SHARES);
    }
    picture_note(
        picture,
        "By the stored replay on machine %s, law %s, collectives %s%s%s. Times are measured; a transfer is divided as "
        "the model divides it, and what it took beyond the model is not explained.",
        replay->machine, replay->law, replay->collectives, replay->options[0] != '\0' ? ", " : "", replay->options);
    free(sums);
    pool_release(&pool);
    return cursor_close(&rows);
}

/* Adds what was recorded of calls to parts[bins][SPENT_COUNT]. */
static int ranks_add_calls(double *parts, const struct picture_source *source, const struct rank_bins *bins,
                           struct error *error)
{
    struct cursor rows;
    struct pool pool = {0};
    picture_query(&rows, source,
                  "SELECT rank / ?1, activity, NULL, total(call_ns) * 1e-9 FROM temp.activity_call "
                  "WHERE rank >= 0 AND rank < ?2 GROUP BY 1, 2 "
                  "UNION ALL SELECT rank / ?1, NULL, function, total(time_ns) * 1e-9 FROM call_sum "
                  "WHERE rank >= 0 AND rank < ?2 GROUP BY 1, 3",
                  PICTURE_VALUES(bins->width, bins->ranks), error);
    while (cursor_next(&rows)) {
        bool summed = sqlite3_column_type(rows.statement, 1) == SQLITE_NULL;
        int64_t activity = summed ? (int64_t)activity_kind(cursor_text(&rows, 2, &pool)) : cursor_integer(&rows, 1);
        parts[cursor_integer(&rows, 0) * SPENT_COUNT + activity] += fmax(cursor_real(&rows, 3), 0);
    }
    pool_release(&pool);
    return cursor_close(&rows);
}

/* Computation is what processes did not spend in MPI or between polls, from their begin to their end, or that of their
 * recording. */
static int add_computation(double *parts, const struct picture_source *source, const struct rank_bins *bins,
                           struct error *error)
{
    struct cursor rows;
    picture_query(&rows, source,
                  whole_has_stops(source->database)
                      ? "SELECT p.rank / ?1, total(p.end_ns - p.begin_ns) * 1e-9, total(n.end_ns - n.begin_ns) * 1e-9 "
                        "FROM process p LEFT JOIN not_recorded n USING (rank) WHERE p.rank >= 0 AND p.rank < ?2 "
                        "GROUP BY 1"
                      : "SELECT rank / ?1, total(end_ns - begin_ns) * 1e-9, 0.0 FROM process "
                        "WHERE rank >= 0 AND rank < ?2 GROUP BY 1",
                  PICTURE_VALUES(bins->width, bins->ranks), error);
    for (size_t i = 0; i < source->report->n_ranks; i++) {
        const struct report_rank *rank = &source->report->ranks[i];
        if (rank->rank >= 0 && rank->rank < bins->ranks)
            parts[rank->rank / bins->width * SPENT_COUNT + SPENT_POLLING] += rank->activity_s[SPENT_POLLING];
    }
    while (cursor_next(&rows)) {
        double *bin = parts + cursor_integer(&rows, 0) * SPENT_COUNT, rest = cursor_real(&rows, 1);
        bin[SPENT_NOT_RECORDED] = cursor_real(&rows, 2);
        for (size_t i = SPENT_COMPUTATION + 1; i < SPENT_COUNT; i++)
            rest -= bin[i];
        bin[SPENT_COMPUTATION] = fmax(rest, 0);
    }
    return cursor_close(&rows);
}

static int of_calls(struct picture *picture, const struct picture_source *source, const struct rank_bins *bins,
                    struct error *error)
{
    double *parts = calloc((size_t)bins->n * SPENT_COUNT, sizeof *parts), in_mpi_s = 0;
    if (parts == NULL)
        return error_set(error, "%s: no memory for its pictures", source->report->path);
    int result = ranks_add_calls(parts, source, bins, error);
    if (result == 0)
        result = add_computation(parts, source, bins, error);
    for (int64_t bin = 0; result == 0 && bin < bins->n; bin++) {
        add_bar(picture, bins, bin, activity_name, parts + bin * SPENT_COUNT, SPENT_COUNT);
        for (size_t i = SPENT_COMPUTATION + 1; i <= SPENT_OTHER; i++)
            in_mpi_s += parts[bin * SPENT_COUNT + (int64_t)i];
    }
    free(parts);
    if (!(in_mpi_s > 0))
        picture_lacks(picture, "Calls of MPI were not recorded, and no replay is stored.");
    else
        picture_note(
            picture,
            "Measured, by what calls are for; a wait counts as point-to-point. 'mpistair replay %s --machine NAME' "
            "divides transfers by cause, and says what no model explains.",
            source->report->path);
    return result;
}

int picture_ranks(struct picture *picture, const struct picture_source *source, struct error *error)
{
    const struct rank_bins *bins = &source->bins;
    bool replayed = source->report->replay.id >= 0;
    struct json *order = json_array();
    picture_table(picture, "part", "rank part time place");
    int result = replayed ? of_replay(picture, source, bins, error) : of_calls(picture, source, bins, error);
    const char *const *titles = replayed ? part_title : activity_name;
    for (size_t i = 0; i < (replayed ? (size_t)SHARES : (size_t)SPENT_COUNT); i++)
        json_add(order, json_string(titles[i]));
    picture_value(picture, "order", order);
    picture_value(picture, "span", json_integer(bins->width));
    picture_value(picture, "ranks", json_integer(bins->ranks));
    picture_note_bins(picture, bins, "bar");
    if (bins->width > 1)
        picture_note(picture, "Times are means over the ranks of a bar.");
    return result;
}
