/* Writes a study as one JSON object: the run, its ranks, its places, who is to blame. */
#include <math.h>
#include <stdlib.h>

#include "predictor/run_study/run_show.h"
#include "share/base/json.h"
#include "share/base/memory.h"

static struct json *quantities_json(const struct run_quantity *quantities, bool measured)
{
    struct json *object = json_object();
    for (size_t i = 0; i < RUN_QUANTITIES; i++) {
        double seconds = measured ? quantities[i].measured_s : quantities[i].predicted_s;
        char name[40];
        snprintf(name, sizeof name, "%s_s", quantities[i].name);
        if (run_quantity_is_shown(&quantities[i]) && (!measured || !isnan(seconds)))
            json_set(object, name, json_finite(seconds));
    }
    return object;
}

static struct json *efficiencies_json(const struct run_efficiencies *e)
{
    struct json *object = json_object();
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++)
        json_set(object, run_efficiency_name[kind], json_finite(e->share[kind]));
    return object;
}

/* Says of those that are bounds that they are. */
static struct json *bounds_json(const struct run_efficiencies *e)
{
    struct json *object = json_object();
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++) {
        int bound = run_efficiency_bound(kind, e->share[EFFICIENCY_COMMUNICATION], e->ideal);
        if (bound != 0)
            json_set(object, run_efficiency_name[kind], json_string(bound < 0 ? "at most" : "at least"));
    }
    return object;
}

static struct json *interval_json(const struct time_interval *interval)
{
    return json_pack("[o, o]", json_finite(interval->low_s), json_finite(interval->high_s));
}

/* Adds the intervals of the run (at 0), or of rank at - 1. */
static void add_intervals(struct json *row, const struct run_study *study, size_t at)
{
    if (study->intervals == NULL)
        return;
    json_set(row, "predicted_95_s", interval_json(&study->intervals[at].before));
    if (study->after.by_rank == NULL)
        return;
    json_set(row, "what_if_95_s", interval_json(&study->intervals[at].after));
    json_set(row, "change_95_s", interval_json(&study->intervals[at].change));
}

static struct json *ranks_json(const struct run_study *study)
{
    struct json *ranks = json_array();
    for (size_t rank = 0; rank < study->program.n_ranks; rank++) {
        struct run_quantity q[RUN_QUANTITIES];
        run_quantities(study, &study->before, rank, q);
        struct json *row =
            json_pack("{sI so so so}", "rank", (int64_t)rank, "measured", quantities_json(q, true), "predicted",
                      quantities_json(q, false), "waits_s", json_finite(study->blame.late_s[rank]));
        if (study->after.by_rank != NULL) {
            run_quantities(study, &study->after, rank, q);
            json_set(row, "what_if", quantities_json(q, false));
        }
        add_intervals(row, study, rank + 1);
        json_add(ranks, row);
    }
    return ranks;
}

static struct json *parts_json(const struct run_parts *parts)
{
    struct json *object = json_object();
    for (int part = 0; parts != NULL && part < RUN_PART_COUNT; part++) {
        char name[40];
        snprintf(name, sizeof name, "%s_s", run_part_name[part]);
        json_set(object, name, json_finite(parts->part_s[part]));
    }
    return object;
}

static struct json *places_json(const struct run_study *study, const struct run_names *names)
{
    const struct run_program *program = &study->program;
    struct json *places = json_array();
    for (size_t i = 0; i < program->n_places; i++) {
        const struct run_place *place = &program->places[i];
        const struct run_site *site = &program->sites[place->site];
        json_add(places,
                 json_pack("{sI ss so ss so so so so}", "rank", (int64_t)place->rank, "function", site->function,
                           "callsite", site->callsite >= 0 ? json_integer(site->callsite) : json_null(), "name",
                           names->of_site[place->site], "measured",
                           parts_json(program->measured != NULL ? &program->measured[i] : NULL), "predicted",
                           parts_json(&study->before.result.predicted[i]), "blamed_s",
                           json_finite(study->blame.cost_s[i]), "critical_s", json_finite(study->blame.critical_s[i])));
    }
    return places;
}

static struct json *sensitivities_json(const struct run_study *study)
{
    struct json *rows = json_array();
    for (size_t i = 0; i < study->n_sensitivities; i++) {
        const struct run_sensitivity *at = &study->sensitivities[i];
        json_add(rows, json_pack("{ss ss ss so so so}", "level", level_text(at->row->level), "protocol",
                                 machine_protocol_name[at->row->protocol], "quantity", at->row->quantity, "n",
                                 at->row->n != MACHINE_NO_N ? json_count(at->row->n) : json_null(), "run_s_by_percent",
                                 json_finite(at->run_s), "elasticity", json_finite(at->elasticity)));
    }
    return rows;
}

static struct json *tolerance_json(const struct run_study *study)
{
    bool latency = study->options->tolerance == TOLERANCE_LATENCY;
    struct json *rows = json_array();
    for (size_t i = 0; i < RUN_TOLERANCES; i++) {
        const struct run_tolerance *at = &study->tolerances[i];
        struct json *row = json_pack("{sf sf}", "longer", at->longer, latency ? "added_s" : "times_lower", at->change);
        if (latency)
            json_set(row, "on_path", json_finite(at->on_path));
        json_add(rows, row);
    }
    return json_pack("{ss sb sb so}", "of", latency ? "latency" : "bandwidth", "between_nodes", study->between_nodes,
                     "collectives_left_out", study->recorded_between, "rows", rows);
}

/* Lists [node, socket] by rank. */
static struct json *placement_json(const struct placement *placement)
{
    struct json *places = json_array();
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        json_add(places, json_pack("[I, I]", (int64_t)placement->node[rank], (int64_t)placement->socket[rank]));
    return places;
}

void run_bursts_json(struct json *object, const struct run_program *program)
{
    if (program->n_bursts == 0)
        return;
    json_set(object, "bursts", json_count(program->n_bursts));
    json_set(object, "burst_share", json_finite(program->burst_share));
}

int run_show_json(FILE *stream, const struct run_study *study, const struct run_names *names, struct error *error)
{
    struct json *run =
        json_pack("{so so so}", "measured_s", json_finite(study->program.measured_run_s), "predicted_s",
                  json_finite(run_side_s(&study->before)), "mpi_error", json_finite(run_mpi_error(study)));
    if ((study->options->law.terms & RUN_TERM_MEMORY) != 0)
        json_set(run, "compute_slowdown", json_finite(study->before.result.compute_slowdown));
    add_intervals(run, study, 0);
    struct json *root = json_pack(
        "{so ss ss ss so so so so}", "run", run, "machine", study->before.machine.name, "law", study->options->law.name,
        "collectives", run_collectives_name[study->options->collectives], "efficiencies",
        json_pack("{so so}", "measured", efficiencies_json(&study->measured), "predicted",
                  efficiencies_json(&study->predicted)),
        "ranks", ranks_json(study), "places", places_json(study, names), "sensitivities", sensitivities_json(study));
    run_bursts_json(root, &study->program);
    json_set(root, "whole", json_boolean(study->whole.is_whole));
    json_set(root, "not_whole", study->whole.is_whole ? json_null() : json_string(study->whole.reason));
    char *reason = xasprintf("not given, as what ranks computed is not known: %s", study->whole.reason);
    json_set(root, "efficiencies_not_given", study->whole.times_known ? json_null() : json_string(reason));
    free(reason);
    json_set(
        root, "efficiency_bounds",
        json_pack("{so so}", "measured", bounds_json(&study->measured), "predicted", bounds_json(&study->predicted)));
    json_set(root, "copied", json_boolean(!run_study_predicts(study)));
    json_set(root, "cached_messages", json_count(study->n_cached));
    if (study->options->tolerance != TOLERANCE_NONE)
        json_set(root, "tolerance", tolerance_json(study));
    if (study->options->what_if.best_placement)
        json_set(root, "placement", placement_json(&study->after.placement));
    if (study->after.by_rank != NULL) {
        struct json *what_if =
            json_pack("{so ss so so}", "predicted_s", json_finite(run_side_s(&study->after)), "machine",
                      study->after.machine.name, "efficiencies", efficiencies_json(&study->otherwise),
                      "efficiency_bounds", bounds_json(&study->otherwise));
        if ((study->options->law.terms & RUN_TERM_MEMORY) != 0)
            json_set(what_if, "compute_slowdown", json_finite(study->after.result.compute_slowdown));
        json_set(root, "what_if", what_if);
    }
    return json_write(stream, root, error);
}
