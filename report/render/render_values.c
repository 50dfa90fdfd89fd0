/* Writes the values of a report. CSV has a row for each rank and model, numbers with all their digits; what is not
 * known is left empty. JSON is one object of everything that was collected; what is not known is null. Rows of a query
 * have a table of their fields; what is computed, or nested, is added to them here. */

#include "report/diagnose/causes.h"
#include "report/render/sections.h"

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

static struct json *csv_row(const struct report *report, const struct report_rank *rank,
                            const struct report_model *model, const struct report_rank_model *times)
{
    struct json *row = fields_object(&rank_columns, rank);
    fields_add(&measured_columns, times, row);
    fields_add(&report_model_fields, model, row);
    fields_add(&modelled_columns, times, row);
    fields_add(&run_columns, &report->run, row);
    fields_add(&recording_columns, &report->completeness, row);
    fields_add(&replay_columns, rank, row);
    return row;
}

void render_csv(FILE *stream, const struct report *report)
{
    static const struct report_model no_model = {.machine = "", .model = "", .options = ""};
    static const struct report_rank no_rank = {.host = "", .command = ""};
    struct json_rows rows = {.stream = stream, .csv = true};
    json_rows_names(&rows, csv_row(report, &no_rank, &no_model, &(struct report_rank_model){.mostly = ""}));
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        struct report_rank_model measured = REPORT_RANK_MODEL_UNKNOWN;
        measured.actual_s = rank->actual_s;
        measured.outside_s = report_outside_s(rank);
        if (report->n_models == 0)
            json_rows_add(&rows, csv_row(report, rank, &no_model, &measured));
        for (size_t model = 0; model < report->n_models; model++)
            json_rows_add(&rows, csv_row(report, rank, &report->models[model], &rank->models[model]));
    }
}

static struct json *run_object(const struct report *report)
{
    struct json *run = fields_object(&report_run_fields, &report->run);
    json_set(run, "programs", fields_array(&report_program_fields, report->programs, report->n_programs));
    fields_add(&report_run_numbers, &report->run, run);
    json_set(run, "crowded_nodes", json_integer((int64_t)report->crowding.nodes));
    json_set(run, "processor_wait",
             report->waited.worst_rank < 0 ? json_null() : fields_object(&report_waited_fields, &report->waited));
    json_set(run, "network", fields_array(&report_interface_fields, report->interfaces, report->n_interfaces));
    json_set(run, "between_nodes_bytes", json_finite(report->between_nodes_bytes));
    json_set(run, "messages", json_integer(report->messages));
    json_set(run, "max_messages", json_integer(report->max_messages));
    json_set(run, "bytes", json_integer(report->bytes));
    return run;
}

static struct json *completeness_object(const struct report *report)
{
    const struct report_completeness *complete = &report->completeness;
    const struct {
        const char *name;
        const struct report_count *counts;
        size_t n;
    } lists[] = {{"loss_causes", report->losses, report->n_losses},
                 {"untracked_functions", report->untracked, report->n_untracked},
                 {"unmatched_reasons", report->unmatched, report->n_unmatched},
                 {"uncertain_reasons", report->doubts, report->n_doubts},
                 {"rejected_calls", report->rejected, report->n_rejected},
                 {"unnamed_modules", report->unnamed, report->n_unnamed}};
    struct json *object = fields_object(&report_completeness_fields, complete);
    struct json *faults = report->shards.n_faults > 0 ? json_array() : NULL;
    for (size_t i = 0; i < report->shards.n_faults; i++)
        json_add(faults, json_string(report->shards.faults[i]));
    if (faults != NULL)
        json_set(object, "shard_faults", faults);
    json_set(object, "recording_off", fields_object(&report_off_fields, &complete->off));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        json_set(object, lists[i].name, fields_array(&report_count_fields, lists[i].counts, lists[i].n));
    return object;
}

static struct json *kinds_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_kinds; i++) {
        struct json *errors = json_array(), *kind = fields_object(&report_kind_fields, &report->kinds[i]);
        for (size_t model = 0; model < report->n_models; model++) {
            struct json *object = fields_object(&report_model_fields, &report->models[model]);
            json_set(object, "error", json_finite(report->kinds[i].error[model]));
            json_add(errors, object);
        }
        json_set(kind, "models", errors);
        json_add(array, kind);
    }
    return array;
}

static struct json *ranks_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        struct json *models = json_array(), *activities = json_object();
        struct json *object = fields_object(&report_rank_fields, rank);
        for (size_t k = 0; k < report->n_models; k++) {
            struct json *model = fields_object(&report_model_fields, &report->models[k]);
            fields_add(&report_rank_model_fields, &rank->models[k], model);
            fields_add(&report_rank_part_fields, &rank->models[k], model);
            fields_add(&report_rank_visible_fields, &rank->models[k], model);
            json_add(models, model);
        }
        json_set(object, "models", models);
        for (size_t kind = 0; kind < SPENT_COUNT && report->activities.unknown == NULL; kind++)
            json_set(activities, report_activity_name[kind], json_finite(rank->activity_s[kind]));
        json_set(object, "activity_s", activities);
        json_add(array, object);
    }
    return array;
}

/* Returns the worst ranks with the partners that cost them most, on the machine of the best model. */
static struct json *worst_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_worst; i++) {
        const struct report_worst *worst = &report->worst[i];
        json_add(array,
                 json_pack("{sI sf so}", "rank", worst->rank->rank, "actual_s", worst->rank->actual_s, "partners",
                           fields_array(&report_partner_fields, worst->partners, worst->n_partners)));
    }
    return array;
}

static struct json *why_object(const struct report *report)
{
    size_t best = report_best_model(report);
    return json_pack("{so so sf so so}", "model",
                     best < report->n_models ? fields_object(&report_model_fields, &report->models[best]) : json_null(),
                     "worst_ranks", worst_array(report), "wait_s", report->wait_s, "waits",
                     fields_array(&report_wait_fields, report->waits, report->n_waits), "late",
                     fields_array(&report_late_fields, report->late, report->n_late));
}

static struct json *overlap_object(const struct report *report)
{
    const struct fields visible =
        FIELDS(report_model, FIELD(report_model, machine), FIELD(report_model, model), FIELD(report_model, options),
               FIELD_AS("error", report_model, visible_error), FIELD_AS("bias", report_model, visible_bias));
    struct json *ranks = json_array();
    for (size_t i = 0; i < report->overlap.n_ranks; i++)
        json_add(ranks, json_integer((int64_t)report->overlap.ranks[i]->rank));
    return json_pack("{sb sf so so}", "matters", (int)report->overlap.matters, "outside_share", report->overlap.share,
                     "longest_outside", ranks, "models", fields_array(&visible, report->models, report->n_models));
}

/* Returns the replay of the whole run, null where none is stored. */
static struct json *replay_object(const struct report_replay *replay)
{
    if (replay->id < 0)
        return json_null();
    struct json *object = fields_object(&report_replay_fields, replay);
    const struct report_replay_places *const lists[] = {&replay->blamed, &replay->critical, &replay->slower};
    static const char *const names[] = {"blamed", "critical_path", "slower"};
    for (size_t i = 0; i < 3; i++)
        json_set(object, names[i], fields_array(&report_replay_place_fields, lists[i]->rows, lists[i]->n));
    json_set(object, "parts", fields_array(&report_replay_part_fields, replay->parts, replay->n_parts));
    json_set(object, "efficiencies",
             fields_array(&report_replay_efficiency_fields, replay->efficiencies, replay->n_efficiencies));
    return object;
}

static struct json *sites_object(const struct report_sites *sites)
{
    struct json *array = json_array(), *object = fields_object(&report_sites_fields, sites);
    for (size_t i = 0; i < sites->n; i++) {
        struct json *site = fields_object(&report_site_name_fields, &sites->rows[i]);
        fields_add(&report_site_fields, &sites->rows[i], site);
        json_add(array, site);
    }
    json_set(object, "longest", array);
    return object;
}

static struct json *partitions_object(const struct report_partitions *all)
{
    struct json *array = json_array(), *object = fields_object(&report_partitions_fields, all);
    for (size_t i = 0; i < all->n; i++) {
        struct json *row = fields_object(&report_site_name_fields, &all->rows[i].site);
        fields_add(&report_partitioned_fields, &all->rows[i], row);
        json_add(array, row);
    }
    json_set(object, "largest", array);
    return object;
}

/* Lists for an interface what each number of parts saves. */
static struct json *parts_array(const double saved[REPORT_FINE_PARTS])
{
    struct json *array = json_array();
    for (size_t k = 0; k < REPORT_FINE_PARTS; k++)
        json_add(array, json_pack("{sI so}", "parts", (int64_t)report_parts[k], "saved_share", json_finite(saved[k])));
    return array;
}

static struct json *fine_grained_object(const struct report_fine_grained *fine)
{
    struct json *array = json_array();
    for (size_t i = 0; i < fine->n; i++) {
        static const char *const names[FINE_BY_COUNT] = {"p2p", "rma", "partitioned", "bound"};
        struct json *kind = fields_object(&report_fine_kind_fields, &fine->rows[i]);
        for (size_t by = 0; by < FINE_BY_COUNT; by++)
            json_set(kind, names[by], parts_array(fine->rows[i].saved[by]));
        json_add(array, kind);
    }
    return json_pack("{ss ss sI sI sI so}", "machine", fine->machine, "unknown",
                     fine->unknown != NULL ? fine->unknown : "", "kinds", (int64_t)fine->all, "unseen",
                     (int64_t)fine->unseen, "left_out", (int64_t)fine->left_out, "longest", array);
}

static struct json *gpu_object(const struct report_gpu *gpu)
{
    static const char *const names[GPU_PATH_COUNT] = {"gpudirect_s", "3_step_s", "extra_message_s",
                                                      "duplicate_pointer_s"};
    struct json *array = json_array();
    for (size_t i = 0; i < gpu->n; i++) {
        const struct report_gpu_kind *row = &gpu->rows[i];
        enum gpu_path best = report_gpu_fastest(row);
        struct json *object = json_pack(
            "{sI sI ss sI sI sf sf ss ss sI so}", "kind", (int64_t)row->kind, "rounds", (int64_t)row->rounds, "level",
            level_name[row->level], "gpus", (int64_t)row->gpus, "ppn", (int64_t)row->ppn, "messages", row->messages,
            "bytes", row->bytes, "function", row->function, "file", row->file, "line", (int64_t)row->line, "fastest",
            best == GPU_PATH_COUNT ? json_null() : json_string(gpu_path_name[best]));
        for (int path = 0; path < GPU_PATH_COUNT; path++)
            json_set(object, names[path], json_finite(row->path_s[path]));
        json_add(array, object);
    }
    return json_pack("{ss ss sI sI sI so}", "machine", gpu->machine, "unknown",
                     gpu->unknown != NULL ? gpu->unknown : "", "kinds", (int64_t)gpu->all, "messages",
                     (int64_t)gpu->messages, "one_side", (int64_t)gpu->one_side, "rows", array);
}

static struct json *activity_object(const struct report *report)
{
    const struct fields kinds =
        FIELDS(report_activity, FIELD_AS("activity", report_activity, name), FIELD(report_activity, time_s),
               FIELD(report_activity, share), FIELD(report_activity, least_s), FIELD(report_activity, most_s),
               FIELD(report_activity, most_rank));
    const struct fields sites = FIELDS(
        report_call_site, FIELD(report_call_site, function), FIELD(report_call_site, place),
        FIELD(report_call_site, time_s), FIELD(report_call_site, share), FIELD_OR_NULL(report_call_site, awaited_rank),
        FIELD(report_call_site, awaited_s), FIELD_AS("late_sender_s", report_call_site, waiting_s[WAITING_SENDER]),
        FIELD_AS("late_receiver_s", report_call_site, waiting_s[WAITING_RECEIVER]),
        FIELD_AS("last_rank_s", report_call_site, waiting_s[WAITING_LAST]),
        FIELD_AS("transfer_s", report_call_site, waiting_s[WAITING_TRANSFER]));
    const struct report_activities *activities = &report->activities;
    if (activities->unknown != NULL)
        return json_pack("{ss}", "unknown", activities->unknown);
    struct json *ranks = json_array();
    for (size_t i = 0; i < activities->n_out_of_line; i++) {
        const struct report_out_of_line *found = &activities->out_of_line[i];
        json_add(ranks, json_pack("{sI ss sf sf}", "rank", found->rank, "in", found->in_mpi ? "mpi" : "computation",
                                  "time_s", found->time_s, "median_s", found->median_s));
    }
    return json_pack("{sf sf so so sI so sI sf sf sf}", "run_s", activities->run_s, "ranks_s", activities->ranks_s,
                     "activities", fields_array(&kinds, activities->rows, SPENT_COUNT), "call_sites",
                     fields_array(&sites, activities->sites, activities->n_sites), "all_call_sites",
                     (int64_t)activities->all_sites, "ranks_out_of_line", ranks, "all_out_of_line",
                     (int64_t)activities->all_out_of_line, "load_balance", activities->load_balance, "communication",
                     activities->communication, "parallel", activities->parallel);
}

/* Adds why its rank computes longer, where something was counted. */
static void add_cause(struct json *object, const struct finding *finding)
{
    const struct fields fields =
        FIELDS(finding_counts, FIELD(finding_counts, time_s), FIELD(finding_counts, computed_s),
               FIELD(finding_counts, run_s), FIELD(finding_counts, kernel_s), FIELD(finding_counts, taken_s),
               FIELD(finding_counts, slept_s), FIELD(finding_counts, faults), FIELD(finding_counts, instructions),
               FIELD(finding_counts, per_cycle), FIELD(finding_counts, hertz), FIELD(finding_counts, regions_s),
               FIELD(finding_counts, threads), FIELD(finding_counts, idle));
    if (finding->excess_s == 0)
        return;
    struct json *own = json_object(), *others = json_object();
    fields_add(&fields, &finding->own, own);
    fields_add(&fields, &finding->others, others);
    json_set(object, "cause", json_string(cause_name(finding->cause)));
    json_set(object, "counted", own);
    json_set(object, "counted_of_others", others);
}

static struct json *findings_array(const struct findings *findings)
{
    const struct fields fields =
        FIELDS(finding, FIELD_OR_NULL(finding, rank), FIELD_OR_NULL(finding, partner), FIELD(finding, gain_s),
               FIELD(finding, gain), FIELD(finding, gain_low), FIELD(finding, gain_high), FIELD(finding, cost_s),
               FIELD(finding, share), FIELD(finding, begin_s), FIELD(finding, end_s), FIELD(finding, function),
               FIELD(finding, place), FIELD_OR_NULL(finding, callsite), FIELD_AS("explained_by", finding, under),
               FIELD(finding, sentence));
    struct json *array = json_array();
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding_kind *kind = finding_kind(findings->rows[i].kind);
        struct json *object = json_pack("{ss ss ss ss}", "kind", kind->name, "literature", kind->literature, "what",
                                        kind->what, "advice", kind->advice);
        struct finding finding = findings->rows[i];
        finding.under += finding.under >= 0; /* numbers as in the text, from 1 on; 0: none */
        finding.under = finding.under < 0 ? 0 : finding.under;
        fields_add(&fields, &finding, object);
        add_cause(object, &finding);
        json_add(array, object);
    }
    return array;
}

int render_json(FILE *stream, const struct report *report, struct error *error)
{
    const struct fields round_fields =
        FIELDS(report, FIELD(report, rounds), FIELD_AS("kinds", report, all_kinds), FIELD(report, families),
               FIELD_AS("family_repeated_share", report, family_share), FIELD(report, actual_s),
               FIELD(report, late_senders_share), FIELD(report, late_receivers_share), FIELD(report, concurrent_share),
               FIELD(report, repeated_share));
    const struct fields replicate_fields =
        FIELDS(report, FIELD_AS("error", report, replicate_error), FIELD_AS("share", report, replicate_share),
               FIELD_AS("basis", report, replicate_basis));
    struct json *rounds = fields_object(&round_fields, report);
    json_set(rounds, "heaviest_kinds", kinds_array(report));
    struct json *all = json_pack(
        "{so so so so so so so so so so so so so}", "run", run_object(report), "completeness",
        completeness_object(report), "levels", fields_array(&report_level_fields, report->levels, report->n_levels),
        "rounds", rounds, "models", fields_array(&report_model_values, report->models, report->n_models), "replicate",
        fields_object(&replicate_fields, report), "ranks", ranks_array(report), "overlap", overlap_object(report),
        "why", why_object(report), "replay", replay_object(&report->replay), "collectives",
        sites_object(&report->collectives), "rma", sites_object(&report->rma), "files", sites_object(&report->files));
    json_set(all, "distances", fields_array(&report_distance_fields, report->distances, report->n_distances));
    json_set(all, "switches", fields_array(&report_switch_fields, report->switches, report->n_switches));
    json_set(all, "window_errors",
             fields_array(&report_window_error_fields, report->window_errors, report->n_window_errors));
    json_set(all, "region_errors",
             fields_array(&report_region_error_fields, report->region_errors, report->n_region_errors));
    json_set(all, "site_errors", fields_array(&report_site_error_fields, report->site_errors, report->n_site_errors));
    json_set(all, "whole", json_boolean(report->whole.is_whole));
    json_set(all, "detail", report->whole.of_bursts[0] != '\0' ? json_string(report->whole.of_bursts) : json_null());
    json_set(all, "not_whole", report->whole.is_whole ? json_null() : json_string(report->whole.reason));
    json_set(all, "partitions", partitions_object(&report->partitions));
    json_set(all, "fine_grained", fine_grained_object(&report->fine_grained));
    json_set(all, "gpu", gpu_object(&report->gpu));
    json_set(all, "time", activity_object(report));
    json_set(all, "regions", fields_array(&report_region_fields, report->regions.rows, report->regions.n));
    json_set(
        all, "region_efficiencies",
        fields_array(&report_region_efficiency_fields, report->regions.efficiencies, report->regions.n_efficiencies));
    json_set(all, "slow_occurrences", fields_array(&report_slow_fields, report->regions.slow, report->regions.n_slow));
    struct json *course = json_array();
    for (size_t i = 0; i < REPORT_COURSE; i++)
        json_add(course, json_finite(report->course[i]));
    json_set(all, "course", course);
    struct json *awaited = json_array();
    for (size_t i = 0; i < REPORT_COURSE; i++)
        json_add(awaited, report->course_rank[i] < 0 ? json_null() : json_integer(report->course_rank[i]));
    json_set(all, "course_awaited_rank", awaited);
    if (report->part.is_part)
        json_set(all, "part",
                 json_pack("{sf sf sf sb}", "from_s", report->part.from_s, "to_s", report->part.to_s, "run_s",
                           report->part.run_s, "at_windows", (int)report->part.at_windows));
    json_set(all, "findings", findings_array(&report->findings));
    if (report->no_findings != NULL)
        json_set(all, "no_findings", json_string(report->no_findings));
    return json_write(stream, all, error);
}
