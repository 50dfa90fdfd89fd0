/* Writes the report as CSV, a row for each rank and model, numbers with all their digits; what is not known is left
 * empty. */
#include <math.h>

#include "report/render/render.h"

#define RANK(member)  FIELD(report_rank, member)
#define MODEL(member) FIELD(report_rank_model, member)
static const struct fields rank_columns =
    FIELDS(report_rank, RANK(rank), FIELD_OR_NULL(report_rank, node), RANK(host), FIELD_OR_NULL(report_rank, socket),
           FIELD_OR_NULL(report_rank, core), RANK(sent_messages), RANK(sent_bytes), RANK(received_messages),
           RANK(received_bytes), RANK(in_mpi_s), RANK(late_senders_s), RANK(late_receivers_s));
static const struct fields measured_columns = FIELDS(report_rank_model, MODEL(actual_s));
static const struct fields modelled_columns =
    FIELDS(report_rank_model, MODEL(model_s), MODEL(error), REPORT_PART_FIELDS, MODEL(low_s), MODEL(high_s),
           MODEL(outside_s), MODEL(visible_s));
/* What is the same for all models: the run, as far as times may depend on it, and its replay. */
static const struct fields run_columns =
    FIELDS(report_run, FIELD_OR_NULL(report_run, eager_limit_bytes),
           FIELD_OR_NULL(report_run, eager_limit_network_bytes), FIELD(report_run, own_cost_ns));
static const struct fields recording_columns =
    FIELDS(report_completeness, FIELD_AS("recording", report_completeness, verdict));
static const struct fields replay_columns =
    FIELDS(report_rank, RANK(run_in_mpi_s), RANK(run_in_mpi_predicted_s), RANK(blamed_s), RANK(command));

/* Writes a line, the names of the columns where rank is NULL. */
static void render_line(FILE *stream, const struct report *report, const struct report_rank *rank,
                        const struct report_model *model, const struct report_rank_model *times)
{
    const struct {
        const struct fields *fields;
        const void *row;
    } parts[] = {{&rank_columns, rank},      {&measured_columns, times},   {&report_model_fields, model},
                 {&modelled_columns, times}, {&run_columns, &report->run}, {&recording_columns, &report->completeness},
                 {&replay_columns, rank}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    for (size_t i = 0; i < PARTS; i++) {
        if (rank == NULL)
            fields_csv_names(parts[i].fields, stream);
        else
            fields_csv(parts[i].fields, parts[i].row, stream);
        fputc(i + 1 < PARTS ? ',' : '\n', stream);
    }
}

void render_csv(FILE *stream, const struct report *report)
{
    static const struct report_model no_model = {.machine = "", .model = "", .options = ""};
    render_line(stream, report, NULL, NULL, NULL);
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        struct report_rank_model measured = REPORT_RANK_MODEL_UNKNOWN;
        measured.actual_s = rank->actual_s;
        measured.outside_s = report_outside_s(rank);
        if (report->n_models == 0)
            render_line(stream, report, rank, &no_model, &measured);
        for (size_t model = 0; model < report->n_models; model++)
            render_line(stream, report, rank, &report->models[model], &rank->models[model]);
    }
}
