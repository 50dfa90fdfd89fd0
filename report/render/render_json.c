/* Writes everything that was collected as one JSON object. What is not known is null. */
#include <math.h>
#include <string.h>

#include "predictor/judgement.h"
#include "report/render/render.h"
#include "share/base/json.h"

static struct json *integer(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static struct json *waited_object(const struct report_waited *waited)
{
    if (waited->worst_rank < 0)
        return json_null();
    return json_pack("{sI sI so so so sI}", "ranks", (int64_t)waited->ranks, "worst_rank", (int64_t)waited->worst_rank,
                     "wait_share", json_finite(waited->wait_share), "run_share", json_finite(waited->run_share),
                     "observed_s", json_finite(waited->observed_s), "involuntary_switches", (int64_t)waited->switches);
}

static struct json *programs_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_programs; i++)
        json_add(array, json_pack("{ss sI ss}", "command", report->programs[i].command, "ranks",
                                  (int64_t)report->programs[i].ranks, "where", report->programs[i].where));
    return array;
}

static struct json *run_object(const struct report *report)
{
    const struct report_run *run = &report->run;
    return json_pack(
        "{ss ss ss ss ss ss so so so so so sI sf sI so sI sI sI so sI sI sI}", "run_key", run->run_key,
        "mpistair_version", run->version, "mpi_family", run->mpi_family, "mpi_library", run->mpi_library,
        "thread_level", run->thread_level, "command", run->command, "programs", programs_array(report), "started_by",
        run->started_by[0] != '\0' ? json_string(run->started_by) : json_null(), "eager_limit_bytes",
        integer(run->eager_limit_bytes), "eager_limit_network_bytes", integer(run->eager_limit_network_bytes),
        "own_cost_ns", json_finite(run->own_cost_ns), "started_unix_ns", (int64_t)run->started_unix_ns, "duration_s",
        isfinite(run->duration_s) ? run->duration_s : 0.0, "ranks", (int64_t)run->world_size, "launched",
        run->launched > 0 ? json_integer((int64_t)run->launched) : json_null(), "spools", (int64_t)run->spools, "nodes",
        (int64_t)report->nodes, "crowded_nodes", (int64_t)report->crowding.nodes, "processor_wait",
        waited_object(&report->waited), "messages", (int64_t)report->messages, "max_messages",
        (int64_t)report->max_messages, "bytes", (int64_t)report->bytes);
}

static struct json *counts_array(const struct report_count *counts, size_t n)
{
    struct json *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_add(array, json_pack("{ss sI sI ss sb}", "name", counts[i].name, "n", (int64_t)counts[i].n, "ranks",
                                  (int64_t)counts[i].ranks, "where", counts[i].where, "affects_messages",
                                  (int)counts[i].affects_messages));
    return array;
}

static struct json *completeness_object(const struct report *report)
{
    const struct report_completeness *complete = &report->completeness;
    const struct report_off *off = &complete->off;
    struct json *sums = json_array();
    for (size_t i = 0; i < complete->n_sums; i++)
        json_add(sums,
                 json_pack("{ss sI sI so}", "kind", complete->sums[i].kind, "calls", (int64_t)complete->sums[i].calls,
                           "ranks", (int64_t)complete->sums[i].ranks, "from_s", json_finite(complete->sums[i].from_s)));
    struct json *recording_off = json_pack(
        "{sI sI ss sI sI so}", "times", (int64_t)off->times, "ranks", (int64_t)off->ranks, "where", off->where,
        "operations", (int64_t)off->operations, "partners", (int64_t)off->partners, "time_s", json_finite(off->time_s));
    return json_pack("{ss sI sI sI sI sI sI sI sI sI sI so so so so so so so so}", "verdict", complete->verdict,
                     "posted", (int64_t)complete->posted, "matched", (int64_t)complete->matched, "unmatched",
                     (int64_t)complete->unmatched, "lost", (int64_t)complete->lost, "untracked",
                     (int64_t)complete->untracked, "uncertain", (int64_t)complete->uncertain, "missing_processes",
                     (int64_t)complete->missing_processes, "left_out", (int64_t)complete->left_out,
                     "unknown_communicators", (int64_t)complete->unknown_communicators, "unsuccessful_tests",
                     (int64_t)complete->idle_calls, "sums", sums, "recording_off", recording_off, "loss_causes",
                     counts_array(report->losses, report->n_losses), "untracked_functions",
                     counts_array(report->untracked, report->n_untracked), "unmatched_reasons",
                     counts_array(report->unmatched, report->n_unmatched), "uncertain_reasons",
                     counts_array(report->doubts, report->n_doubts), "rejected_calls",
                     counts_array(report->rejected, report->n_rejected), "unnamed_modules",
                     counts_array(report->unnamed, report->n_unnamed));
}

static struct json *levels_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_levels; i++) {
        const struct report_level *level = &report->levels[i];
        json_add(array, json_pack("{ss sI sI sI so}", "level", level->level, "messages", (int64_t)level->messages,
                                  "max_messages", (int64_t)level->max_messages, "bytes", (int64_t)level->bytes, "share",
                                  json_finite(level->share)));
    }
    return array;
}

static struct json *model_name(const struct report_model *model)
{
    return json_pack("{ss ss ss}", "machine", model->machine, "model", model->model, "options", model->options);
}

static struct json *models_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_models; i++) {
        const struct report_model *model = &report->models[i];
        struct json *object = model_name(model);
        json_move(object, json_pack("{so sb so so so so sb ss}", "error", json_finite(model->error), "error_withheld",
                                    (int)report->errors_withheld, "mape", json_finite(model->mape), "bias",
                                    json_finite(model->bias), "worst_rank", integer(model->worst_rank), "coverage",
                                    json_finite(model->coverage), "extrapolated", (int)model->extrapolated, "judgement",
                                    report->errors_withheld ? "" : judgement_of(model->error, report->round_messages)));
        json_add(array, object);
    }
    return array;
}

static struct json *kinds_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_kinds; i++) {
        const struct report_kind *kind = &report->kinds[i];
        struct json *errors = json_array();
        for (size_t model = 0; model < report->n_models; model++) {
            struct json *object = model_name(&report->models[model]);
            json_set(object, "error", json_finite(kind->error[model]));
            json_add(errors, object);
        }
        json_add(array, json_pack("{sI sI sI sI sI so so so so so so}", "kind", (int64_t)kind->id, "rounds",
                                  (int64_t)kind->rounds, "messages", (int64_t)kind->messages, "max_messages",
                                  (int64_t)kind->max_messages, "bytes", (int64_t)kind->bytes, "intra_socket",
                                  json_finite(kind->intra_socket), "inter_socket", json_finite(kind->inter_socket),
                                  "inter_node", json_finite(kind->inter_node), "time_s", json_finite(kind->time_s),
                                  "time_share", json_finite(kind->time_share), "models", errors));
    }
    return array;
}

static struct json *ranks_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        struct json *models = json_array();
        for (size_t k = 0; k < report->n_models; k++) {
            struct json *object = model_name(&report->models[k]);
            json_set(object, "actual_s", json_finite(rank->covered_s[k]));
            json_set(object, "model_s", json_finite(rank->model_s[k]));
            json_set(object, "off_s", json_finite(rank->off_s[k]));
            for (size_t part = 0; part < STORED_PARTS; part++)
                json_set(object, prediction_part_name[part], json_finite(rank->part_s[k * STORED_PARTS + part]));
            json_set(object, "mostly", rank->mostly[k][0] != '\0' ? json_string(rank->mostly[k]) : json_null());
            json_set(object, "extrapolated", json_boolean(rank->extrapolated[k]));
            json_set(object, "low_s", json_finite(rank->low_s[k]));
            json_set(object, "high_s", json_finite(rank->high_s[k]));
            json_set(object, "outside_s", json_finite(rank->outside_s[k]));
            json_set(object, "in_mpi_s", json_finite(rank->inside_s[k]));
            json_set(object, "visible_s", json_finite(rank->visible_s[k]));
            json_set(object, "visible_off_s", json_finite(rank->visible_off_s[k]));
            json_add(models, object);
        }
        struct json *object = json_pack(
            "{sI so ss so so ss sI sI sI sI so so so so so so so}", "rank", (int64_t)rank->rank, "node",
            integer(rank->node), "host", rank->host, "socket", integer(rank->socket), "core", integer(rank->core),
            "ended", rank->ended, "sent_messages", (int64_t)rank->sent, "sent_bytes", (int64_t)rank->sent_bytes,
            "received_messages", (int64_t)rank->received, "received_bytes", (int64_t)rank->received_bytes, "actual_s",
            json_finite(rank->actual_s), "in_mpi_s", json_finite(rank->in_mpi_s), "late_senders_s",
            json_finite(rank->late_senders_s), "late_receivers_s", json_finite(rank->late_receivers_s), "first_half_s",
            json_finite(rank->first_s), "second_half_s", json_finite(rank->second_s), "models", models);
        struct json *activities = json_object();
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
        struct json *partners = json_array();
        for (size_t k = 0; k < report->worst[i].n_partners; k++) {
            const struct report_partner *partner = &report->worst[i].partners[k];
            json_add(partners, json_pack("{sI ss ss sI sI so so}", "partner", (int64_t)partner->rank, "direction",
                                         partner->direction, "level", partner->level, "messages",
                                         (int64_t)partner->messages, "bytes", (int64_t)partner->bytes, "alone_s",
                                         json_finite(partner->alone_s), "share", json_finite(partner->share)));
        }
        json_add(array, json_pack("{sI so so}", "rank", (int64_t)report->worst[i].rank->rank, "actual_s",
                                  json_finite(report->worst[i].rank->actual_s), "partners", partners));
    }
    return array;
}

static struct json *waits_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_waits; i++) {
        const struct report_wait *wait = &report->waits[i];
        json_add(array, json_pack("{sI sI sI so so so so sI sI}", "kind", (int64_t)wait->kind, "rounds",
                                  (int64_t)wait->rounds, "ranks", (int64_t)wait->ranks, "wait_s",
                                  json_finite(wait->wait_s), "mean_s", json_finite(wait->mean_s), "longest_s",
                                  json_finite(wait->longest_s), "share", json_finite(wait->share), "last_rank",
                                  (int64_t)wait->last_rank, "last_rounds", (int64_t)wait->last_rounds));
    }
    return array;
}

static struct json *late_array(const struct report *report)
{
    struct json *array = json_array();
    for (size_t i = 0; i < report->n_late; i++) {
        const struct report_late *late = &report->late[i];
        json_add(array, json_pack("{sI sI ss ss ss sI so so}", "rank", (int64_t)late->rank, "partner",
                                  (int64_t)late->partner, "cause", late->cause, "function", late->function, "place",
                                  late->place, "messages", (int64_t)late->messages, "late_s", json_finite(late->late_s),
                                  "longest_s", json_finite(late->longest_s)));
    }
    return array;
}

static struct json *why_object(const struct report *report)
{
    size_t best = report_best_model(report);
    return json_pack("{so so so so so}", "model",
                     best < report->n_models ? model_name(&report->models[best]) : json_null(), "worst_ranks",
                     worst_array(report), "wait_s", json_finite(report->wait_s), "waits", waits_array(report), "late",
                     late_array(report));
}

static struct json *overlap_object(const struct report *report)
{
    struct json *models = json_array(), *ranks = json_array();
    for (size_t i = 0; i < report->n_models; i++) {
        struct json *object = model_name(&report->models[i]);
        json_set(object, "error", json_finite(report->models[i].visible_error));
        json_set(object, "bias", json_finite(report->models[i].visible_bias));
        json_add(models, object);
    }
    for (size_t i = 0; i < report->overlap.n_ranks; i++)
        json_add(ranks, json_integer((int64_t)report->overlap.ranks[i]->rank));
    return json_pack("{sb so so so}", "matters", (int)report->overlap.matters, "outside_share",
                     json_finite(report->overlap.share), "longest_outside", ranks, "models", models);
}

static struct json *places_array(const struct report_replay_places *places)
{
    struct json *array = json_array();
    for (size_t i = 0; i < places->n; i++) {
        const struct report_replay_place *place = &places->rows[i];
        json_add(array,
                 json_pack("{sI ss ss so so}", "rank", (int64_t)place->rank, "function", place->function, "place",
                           place->place, "time_s", json_finite(place->time_s), "share", json_finite(place->share)));
    }
    return array;
}

/* Returns the replay of the whole run, null where none is stored. */
static struct json *replay_object(const struct report_replay *replay)
{
    if (replay->id < 0)
        return json_null();
    struct json *parts = json_array(), *efficiencies = json_array();
    for (size_t i = 0; i < replay->n_parts; i++)
        json_add(parts, json_pack("{ss so so}", "quantity", replay->parts[i].name, "measured_s",
                                  json_finite(replay->parts[i].measured_s), "predicted_s",
                                  json_finite(replay->parts[i].predicted_s)));
    for (size_t i = 0; i < replay->n_efficiencies; i++)
        json_add(efficiencies, json_pack("{ss so so}", "efficiency", replay->efficiencies[i].name, "measured",
                                         json_finite(replay->efficiencies[i].measured), "predicted",
                                         json_finite(replay->efficiencies[i].predicted)));
    return json_pack("{ss ss ss ss so so so so so so so so}", "machine", replay->machine, "law", replay->law,
                     "collectives", replay->collectives, "options", replay->options, "measured_s",
                     json_finite(replay->measured_s), "predicted_s", json_finite(replay->predicted_s), "mpi_error",
                     json_finite(replay->mpi_error), "blamed", places_array(&replay->blamed), "critical_path",
                     places_array(&replay->critical), "slower", places_array(&replay->slower), "parts", parts,
                     "efficiencies", efficiencies);
}

static struct json *sites_object(const struct report_sites *sites)
{
    struct json *array = json_array();
    for (size_t i = 0; i < sites->n; i++) {
        const struct report_site *site = &sites->rows[i];
        json_add(array,
                 json_pack("{ss ss ss sI ss sI sI sI so so so so so so so sb sb sb}", "function", site->function,
                           "caller", site->caller, "file", site->file, "line", (int64_t)site->line, "communicator",
                           site->communicator, "calls", (int64_t)site->calls, "failed", (int64_t)site->failed, "bytes",
                           (int64_t)site->bytes, "time_s", json_finite(site->time_s), "inside_s",
                           json_finite(site->inside_s), "wait_s", json_finite(site->wait_s), "transfer_s",
                           json_finite(site->transfer_s), "last_rank",
                           site->last_rank < 0 ? json_null() : json_integer((int64_t)site->last_rank), "last_s",
                           json_finite(site->last_s), "bytes_per_s", json_finite(site->bytes_per_s), "is_transfer",
                           (int)site->is_transfer, "joint", (int)site->joint, "nonblocking", (int)site->nonblocking));
    }
    return json_pack("{sI sI sI sI so so so so so}", "sites", (int64_t)sites->sites, "calls", (int64_t)sites->calls,
                     "failed", (int64_t)sites->failed, "bytes", (int64_t)sites->bytes, "time_s",
                     json_finite(sites->time_s), "inside_s", json_finite(sites->inside_s), "wait_s",
                     json_finite(sites->wait_s), "transfer_s", json_finite(sites->transfer_s), "longest", array);
}

static struct json *partitions_object(const struct report_partitions *all)
{
    struct json *array = json_array();
    for (size_t i = 0; i < all->n; i++) {
        const struct report_partitioned *row = &all->rows[i];
        json_add(array, json_pack("{ss ss ss sI ss sI sI so so so so}", "function", row->site.function, "caller",
                                  row->site.caller, "file", row->site.file, "line", (int64_t)row->site.line,
                                  "communicator", row->site.communicator, "partitions", (int64_t)row->partitions,
                                  "messages", (int64_t)row->messages, "bytes", json_finite(row->bytes), "ready_s",
                                  json_finite(row->ready_s), "arrival_s", json_finite(row->arrival_s), "hidden_share",
                                  json_finite(row->hidden)));
    }
    return json_pack("{sI sI so so}", "sites", (int64_t)all->sites, "messages", (int64_t)all->messages, "bytes",
                     json_finite(all->bytes), "largest", array);
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
        const struct report_fine_kind *row = &fine->rows[i];
        json_add(array, json_pack("{sI sI sI so so so so so so so so so}", "kind", (int64_t)row->kind, "threads",
                                  (int64_t)row->threads, "times", (int64_t)row->times, "peers", json_finite(row->peers),
                                  "bytes", json_finite(row->bytes), "late_s", json_finite(row->late_s), "whole_s",
                                  json_finite(row->whole_s), "limit_share", json_finite(row->limit), "p2p",
                                  parts_array(row->saved[FINE_BY_P2P]), "rma", parts_array(row->saved[FINE_BY_RMA]),
                                  "partitioned", parts_array(row->saved[FINE_BY_PARTITIONED]), "bound",
                                  parts_array(row->saved[FINE_BY_BOUND])));
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
        struct json *object =
            json_pack("{sI sI ss sI sI so so ss ss sI so}", "kind", (int64_t)row->kind, "rounds", (int64_t)row->rounds,
                      "level", level_name[row->level], "gpus", (int64_t)row->gpus, "ppn", (int64_t)row->ppn, "messages",
                      json_finite(row->messages), "bytes", json_finite(row->bytes), "function", row->function, "file",
                      row->file, "line", (int64_t)row->line, "fastest",
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
    static const char *const waits[WAITING_COUNT] = {"late_sender_s", "late_receiver_s", "last_rank_s", "transfer_s"};
    const struct report_activities *activities = &report->activities;
    if (activities->unknown != NULL)
        return json_pack("{ss}", "unknown", activities->unknown);
    struct json *kinds = json_array(), *sites = json_array(), *ranks = json_array();
    for (size_t i = 0; i < SPENT_COUNT; i++) {
        const struct report_activity *row = &activities->rows[i];
        json_add(kinds, json_pack("{ss so so so so sI}", "activity", report_activity_name[i], "time_s",
                                  json_finite(row->time_s), "share", json_finite(row->share), "least_s",
                                  json_finite(row->least_s), "most_s", json_finite(row->most_s), "most_rank",
                                  (int64_t)row->most_rank));
    }
    for (size_t i = 0; i < activities->n_sites; i++) {
        const struct report_call_site *site = &activities->sites[i];
        struct json *object =
            json_pack("{ss ss so so so so}", "function", site->function, "place", site->place, "time_s",
                      json_finite(site->time_s), "share", json_finite(site->share), "awaited_rank",
                      integer(site->awaited_rank), "awaited_s", json_finite(site->awaited_s));
        for (size_t k = 0; k < WAITING_COUNT; k++)
            json_set(object, waits[k], json_finite(site->waiting_s[k]));
        json_add(sites, object);
    }
    for (size_t i = 0; i < activities->n_out_of_line; i++) {
        const struct report_out_of_line *found = &activities->out_of_line[i];
        json_add(ranks,
                 json_pack("{sI ss so so}", "rank", (int64_t)found->rank, "in", found->in_mpi ? "mpi" : "computation",
                           "time_s", json_finite(found->time_s), "median_s", json_finite(found->median_s)));
    }
    return json_pack("{so so so so so so sI so so so}", "run_s", json_finite(activities->run_s), "ranks_s",
                     json_finite(activities->ranks_s), "activities", kinds, "call_sites", sites, "all_call_sites",
                     json_integer((int64_t)activities->all_sites), "ranks_out_of_line", ranks, "all_out_of_line",
                     (int64_t)activities->all_out_of_line, "load_balance", json_finite(activities->load_balance),
                     "communication", json_finite(activities->communication), "parallel",
                     json_finite(activities->parallel));
}

static struct json *findings_array(const struct findings *findings)
{
    struct json *array = json_array();
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->rows[i];
        json_add(array, json_pack("{ss so so so so ss ss ss}", "kind", finding_name(finding->kind), "rank",
                                  integer(finding->rank), "partner", integer(finding->partner), "cost_s",
                                  json_finite(finding->cost_s), "share", json_finite(finding->share), "function",
                                  finding->function, "place", finding->place, "sentence", finding->sentence));
    }
    return array;
}

int render_json(FILE *stream, const struct report *report, struct error *error)
{
    struct json *rounds =
        json_pack("{sI sI sI so so so so so so so}", "rounds", (int64_t)report->rounds, "kinds",
                  (int64_t)report->all_kinds, "families", (int64_t)report->families, "family_repeated_share",
                  json_finite(report->family_share), "actual_s", json_finite(report->actual_s), "late_senders_share",
                  json_finite(report->late_senders_share), "late_receivers_share",
                  json_finite(report->late_receivers_share), "concurrent_share", json_finite(report->concurrent_share),
                  "repeated_share", json_finite(report->repeated_share), "heaviest_kinds", kinds_array(report));
    struct json *replicate = json_pack("{so so sI ss}", "error", json_finite(report->replicate_error), "share",
                                       json_finite(report->replicate_share), "kinds", (int64_t)report->replicate_kinds,
                                       "basis", report->replicate_basis);
    struct json *all = json_pack("{so so so so so so so so so so so so so}", "run", run_object(report), "completeness",
                                 completeness_object(report), "levels", levels_array(report), "rounds", rounds,
                                 "models", models_array(report), "replicate", replicate, "ranks", ranks_array(report),
                                 "overlap", overlap_object(report), "why", why_object(report), "replay",
                                 replay_object(&report->replay), "collectives", sites_object(&report->collectives),
                                 "rma", sites_object(&report->rma), "files", sites_object(&report->files));
    json_set(all, "whole", json_boolean(report->whole.is_whole));
    json_set(all, "not_whole", report->whole.is_whole ? json_null() : json_string(report->whole.reason));
    json_set(all, "partitions", partitions_object(&report->partitions));
    json_set(all, "fine_grained", fine_grained_object(&report->fine_grained));
    json_set(all, "gpu", gpu_object(&report->gpu));
    json_set(all, "time", activity_object(report));
    json_set(all, "findings", findings_array(&report->findings));
    if (report->no_findings != NULL)
        json_set(all, "no_findings", json_string(report->no_findings));
    return json_write(stream, all, error);
}
