/* A model of contention is worth what it is better than none, so each error stands beside that of no contention. */
#include "predictor/memory/memory_mape.h"

#include <math.h>

#include "share/base/csv.h"
#include "share/base/json.h"
#include "share/base/text_table.h"

static const char *const data_name[MEMORY_DATA_COUNT] = {"communication", "computation"};
static const char *const part_name[MEMORY_PART_COUNT] = {"samples", "non-samples", "all"};

static void mape_add(struct memory_mape *mape, double measured, double modelled, double alone)
{
    mape->model += fabs(measured - modelled) / measured;
    mape->no_contention += fabs(measured - alone) / measured;
    mape->n_points++;
}

/* Turns sums into means. */
static void sums_to_means(struct memory_mape *mape)
{
    mape->model = mape->n_points > 0 ? mape->model / (double)mape->n_points : NAN;
    mape->no_contention = mape->n_points > 0 ? mape->no_contention / (double)mape->n_points : NAN;
}

static void add_point(const struct memory_model *model, const struct memory_point *point, struct memory_mapes *mapes)
{
    const struct memory_place *place = &point->place;
    bool message = place->variant == MEMORY_MESSAGE, same = place->computing_numa == place->message_numa;
    bool sample = same && (place->message_numa == 0 || place->message_numa == model->numa_nodes);
    struct memory_mape *of = mapes->of[message ? MEMORY_DATA_MESSAGE : MEMORY_DATA_COMPUTATION];
    struct memory_bandwidth b;
    memory_predict(model, place->n, place->computing_numa, place->message_numa, &b);
    double modelled = message ? b.message : b.computation, alone = message ? b.message_alone : b.computation_alone;
    mape_add(&of[sample ? MEMORY_ON_SAMPLES : MEMORY_OFF_SAMPLES], point->bytes_per_s, modelled, alone);
    mape_add(&of[MEMORY_ON_ALL], point->bytes_per_s, modelled, alone);
}

void memory_mapes_compute(const struct memory_model *model, const struct memory_samples *samples,
                          const struct memory_choice *choice, struct memory_mapes *mapes)
{
    *mapes = (struct memory_mapes){0};
    for (size_t i = 0; i < samples->n_points; i++) {
        const struct memory_place *place = &samples->points[i].place;
        const struct memory_placement placement = {place->computing_numa, place->message_numa};
        if (place->variant != MEMORY_COMPUTATION && place->variant != MEMORY_MESSAGE)
            continue;
        if (memory_choice_has(choice, &placement) && place->n >= choice->least_cores && place->n <= choice->most_cores)
            add_point(model, &samples->points[i], mapes);
    }
    for (size_t data = 0; data < MEMORY_DATA_COUNT; data++)
        for (size_t part = 0; part < MEMORY_PART_COUNT; part++)
            sums_to_means(&mapes->of[data][part]);
    const struct memory_mape *message = &mapes->of[MEMORY_DATA_MESSAGE][MEMORY_ON_ALL];
    const struct memory_mape *computation = &mapes->of[MEMORY_DATA_COMPUTATION][MEMORY_ON_ALL];
    mapes->average = (struct memory_mape){.model = (message->model + computation->model) / 2,
                                          .no_contention = (message->no_contention + computation->no_contention) / 2,
                                          .n_points = message->n_points + computation->n_points};
}

/* Holds a line of the report. */
struct mape_line {
    const char *of, *placements;
    const struct memory_mape *mape;
};

enum { N_LINES = MEMORY_DATA_COUNT * MEMORY_PART_COUNT + 1 };

static struct mape_line line_at(const struct memory_mapes *mapes, size_t i)
{
    if (i + 1 == N_LINES)
        return (struct mape_line){"average", part_name[MEMORY_ON_ALL], &mapes->average};
    size_t data = i / MEMORY_PART_COUNT, part = i % MEMORY_PART_COUNT;
    return (struct mape_line){data_name[data], part_name[part], &mapes->of[data][part]};
}

static void text_share(struct text_table *table, double share)
{
    if (isnan(share))
        text_table_text(table, "-");
    else
        text_table_cell(table, "%.2f %%", 100 * share);
}

int memory_mapes_show_text(FILE *stream, const struct memory_mapes *mapes, const char *name)
{
    static const char *const titles[] = {"bandwidth of", "placements", "model", "no contention", "medians"};
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], i < 2 ? TEXT_LEFT : TEXT_RIGHT);
    for (size_t i = 0; i < N_LINES; i++) {
        struct mape_line line = line_at(mapes, i);
        text_table_text(table, line.of);
        text_table_text(table, line.placements);
        text_share(table, line.mape->model);
        text_share(table, line.mape->no_contention);
        text_table_cell(table, "%zu", line.mape->n_points);
    }
    fprintf(stream, "machine %s: mean absolute percentage error of what was measured together\n", name);
    text_table_end(table, stream);
    fputs("samples: the placements that a table is made of; no contention: the model's own\n"
          "bandwidths alone, in the place of those together\n",
          stream);
    return 0;
}

int memory_mapes_show_rows(FILE *stream, const struct memory_mapes *mapes, const char *name, bool csv,
                           struct error *error)
{
    struct json_rows rows = {.stream = stream, .csv = csv};
    for (size_t i = 0; i < N_LINES; i++) {
        struct mape_line line = line_at(mapes, i);
        json_rows_add(&rows,
                      json_pack("{ss ss ss so so so}", "machine", name, "of", line.of, "placements", line.placements,
                                "mape", json_finite(line.mape->model), "mape_no_contention",
                                json_finite(line.mape->no_contention), "points", json_count(line.mape->n_points)));
    }
    return json_rows_end(&rows, error);
}
