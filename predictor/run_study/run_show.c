/* Text comes with the answer first: how long, who is to blame, where the time goes. See run_show.h. Papers are
 * named as in share/doc/MODELS.md. */
#include "predictor/run_study/run_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/what_if/arrange.h"
#include "share/base/memory.h"
#include "share/base/terminal.h"
#include "share/base/text_table.h"

enum { MOST_BLAMED = 5, MOST_RANKS = 10, MOST_ROWS = 12 };

/* Differences below this share of the run are rounding. */
static const double NOTHING = 1e-9;

/* Holds a quantity of `rank,quantity,measured_s,predicted_s`. NaN: not known, or not divided. */
enum { RUN_QUANTITIES = 15 };
struct run_quantity {
    const char *name;
    double measured_s, predicted_s;
};

/* Holds "MPI_Wait at exchange halo.c:42" for each site: [n_sites], in the pool. */
struct run_names {
    struct pool pool;
    const char **of_site;
};

/* The quantities in their order: sums of parts, but for the first and the last one, which is shown where there is any.
 * Of those without `is_measured` only a prediction is known. */
static const struct {
    const char *name, *words; /* words: for people */
    enum run_part first, last;
    bool is_measured;
} quantity_rows[RUN_QUANTITIES] = {
    {"run", NULL, 0, 0, true},
    {"computation", "computation", RUN_COMPUTATION, RUN_COMPUTATION, true},
    {"mpi", "inside MPI", RUN_LATE_SENDER, RUN_OTHER, true},
    {"late_sender", "  a late sender", RUN_LATE_SENDER, RUN_LATE_SENDER, true},
    {"late_receiver", "  a late receiver", RUN_LATE_RECEIVER, RUN_LATE_RECEIVER, true},
    {"transfer", "  transfer", RUN_LATENCY, RUN_PROGRESS, true},
    {"latency", "    latency", RUN_LATENCY, RUN_LATENCY, false},
    {"bandwidth", "    bandwidth", RUN_BANDWIDTH, RUN_BANDWIDTH, false},
    {"contention", "    contention", RUN_CONTENTION, RUN_CONTENTION, false},
    {"queue", "    queue", RUN_QUEUE, RUN_QUEUE, false},
    {"progress", "    progress", RUN_PROGRESS, RUN_PROGRESS, false},
    {"collective_wait", "  the last of a collective", RUN_COLLECTIVE_WAIT, RUN_COLLECTIVE_WAIT, true},
    {"collective_transfer", "  a collective itself", RUN_COLLECTIVE_TRANSFER, RUN_COLLECTIVE_TRANSFER, true},
    {"other", "  other", RUN_OTHER, RUN_OTHER, true},
    {"not_recorded", "not recorded, behind that", 0, 0, true},
};

/* Fills the quantities of a rank, or of the run (rank SIZE_MAX), as a side has them. */
static void run_quantities(const struct run_study *study, const struct run_side *side, size_t rank,
                           struct run_quantity quantities[RUN_QUANTITIES])
{
    struct run_parts measured = {0}, predicted = {0};
    const struct run_program *program = &study->program;
    bool run = rank == SIZE_MAX;
    double unknown = program->measured != NULL ? 0 : (double)NAN, lost_s = 0;
    for (size_t r = run ? 0 : rank; r < (run ? program->n_ranks : rank + 1); r++) {
        lost_s += program->ranks[r].lost_s;
        run_parts_add(&measured, &study->measured_by_rank[r]);
        run_parts_add(&predicted, &side->by_rank[r]);
    }
    for (size_t i = 0; i < RUN_QUANTITIES; i++)
        quantities[i] = (struct run_quantity){
            quantity_rows[i].name,
            quantity_rows[i].is_measured
                ? run_parts_sum(&measured, quantity_rows[i].first, quantity_rows[i].last) + unknown
                : (double)NAN,
            run_parts_sum(&predicted, quantity_rows[i].first, quantity_rows[i].last)};
    quantities[0].measured_s = run ? program->measured_run_s : run_parts_sum(&measured, 0, RUN_OTHER) + unknown;
    quantities[0].predicted_s =
        run ? run_side_s(side) : side->result.rank_end_s[rank] - side->result.rank_begin_s[rank];
    quantities[RUN_QUANTITIES - 1].measured_s = lost_s;
    quantities[RUN_QUANTITIES - 1].predicted_s = NAN;
}

static bool run_quantity_is_shown(const struct run_quantity *quantity)
{
    return strcmp(quantity->name, "not_recorded") != 0 || quantity->measured_s > 0;
}

double run_mpi_error(const struct run_study *study)
{
    if (!run_study_predicts(study))
        return NAN;
    double off_s = 0, sum_s = 0;
    for (size_t rank = 0; rank < study->program.n_ranks; rank++) {
        double measured_s = run_parts_sum(&study->measured_by_rank[rank], RUN_LATE_SENDER, RUN_OTHER);
        off_s += fabs(run_parts_sum(&study->before.by_rank[rank], RUN_LATE_SENDER, RUN_OTHER) - measured_s);
        sum_s += measured_s;
    }
    return study->program.measured != NULL && sum_s > 0 ? off_s / sum_s : NAN;
}

const char *run_copied(const struct run_study *study)
{
    return study->program.n_collectives > 0 && study->options->collectives != COLLECTIVES_MODELLED
               ? "nothing is predicted: no message goes to another rank, and collectives are as recorded; "
                 "--collectives "
                 "modelled predicts those"
               : "nothing is predicted: no message goes to another rank";
}

/* Lists places by what they are worth: order[0 ..] of at most `most`, the largest first, without those of 0. Returns
 * how many. */
static size_t run_largest(const double *value_s, size_t n_places, size_t *order, size_t most)
{
    size_t n = 0;
    for (size_t place = 0; place < n_places; place++) {
        if (!(value_s[place] > 0))
            continue;
        size_t at = n < most ? n++ : most;
        while (at > 0 && value_s[order[at - 1]] < value_s[place]) {
            if (at < most)
                order[at] = order[at - 1];
            at--;
        }
        if (at < most)
            order[at] = place;
    }
    return n;
}

static int run_names_read(sqlite3 *database, const struct run_study *study, struct run_names *names,
                          struct error *error)
{
    const struct run_program *program = &study->program;
    names->of_site = xcalloc(program->n_sites + 1, sizeof *names->of_site);
    int code = 0;
    for (size_t site = 0; code == 0 && site < program->n_sites; site++) {
        const struct run_site *at = &program->sites[site];
        names->of_site[site] = at->function;
        if (at->callsite < 0)
            continue;
        struct cursor rows;
        cursor_open(&rows, database, study->options->trace, "SELECT place FROM site WHERE id = ?", error);
        cursor_bind(&rows, "i", at->callsite);
        if (cursor_next(&rows)) {
            char text[512];
            int length = snprintf(text, sizeof text, "%s at %s", at->function, cursor_text(&rows, 0, &names->pool));
            const char *kept = length > 0 ? pool_clean(&names->pool, text, strlen(text)) : NULL;
            names->of_site[site] = kept != NULL ? kept : at->function;
        }
        code = cursor_close(&rows);
    }
    return code;
}

/* Prints "0.001234", or "-" for what is not known. */
static void show_seconds(FILE *stream, double seconds)
{
    if (isnan(seconds))
        fprintf(stream, "  %12s", "-");
    else
        fprintf(stream, "  %12.6f", fabs(seconds) < 5e-7 ? 0.0 : seconds);
}

static void show_percent(FILE *stream, double share)
{
    if (isnan(share))
        fprintf(stream, "  %8s", "-");
    else
        fprintf(stream, "  %+6.1f %%", fabs(share) < 5e-4 ? 0 : 100 * share);
}

/* Shows the places that are worth most, and what share of a time that is; a place's name goes on below itself. */
static void show_places(FILE *stream, const struct run_study *study, const struct run_names *names,
                        const double *place_s, double all_s, const char *before)
{
    size_t order[MOST_BLAMED], n = run_largest(place_s, study->program.n_places, order, MOST_BLAMED);
    for (size_t i = 0; i < n; i++) {
        const struct run_place *place = &study->program.places[order[i]];
        double seconds = place_s[order[i]];
        unsigned at = (unsigned)fprintf(stream, "  rank %-6" PRIu32 "  %5.1f %%  %12.6f s  ", place->rank,
                                        all_s > 0 ? 100 * seconds / all_s : 0, seconds);
        help_text_fill(stream, names->of_site[place->site], at + (unsigned)fprintf(stream, "%s", before), at,
                       terminal_page(stream));
    }
}

static void show_blame(FILE *stream, const struct run_study *study, const struct run_names *names)
{
    size_t order[MOST_BLAMED];
    double waited_s = 0;
    for (size_t rank = 0; rank < study->program.n_ranks; rank++)
        waited_s += study->blame.late_s[rank];
    if (run_largest(study->blame.cost_s, study->program.n_places, order, MOST_BLAMED) == 0) {
        fputs("Nobody waits for anybody.\n", stream);
        return;
    }
    fprintf(stream, "Who is to blame for waiting (%.6f s of all ranks, passed on to its origin)\n", waited_s);
    show_places(stream, study, names, study->blame.cost_s, waited_s, "before ");
    fputs("\nThe critical path\n", stream);
    show_places(stream, study, names, study->blame.critical_s, run_side_s(&study->before), "");
}

static void show_parts(FILE *stream, const struct run_study *study)
{
    struct run_quantity before[RUN_QUANTITIES], after[RUN_QUANTITIES];
    bool what_if = study->after.by_rank != NULL;
    run_quantities(study, &study->before, SIZE_MAX, before);
    if (what_if)
        run_quantities(study, &study->after, SIZE_MAX, after);
    fprintf(stream, "\nWhere the time goes, all ranks [s]\n%-28s  %12s  %12s%s\n", "", "measured", "predicted",
            what_if ? "       what if" : "");
    for (size_t i = 1; i < RUN_QUANTITIES; i++) {
        if ((strcmp(before[i].name, "queue") == 0 && !(before[i].predicted_s > 0)) ||
            !run_quantity_is_shown(&before[i]))
            continue;
        fprintf(stream, "%-28s", quantity_rows[i].words);
        show_seconds(stream, before[i].measured_s);
        show_seconds(stream, before[i].predicted_s);
        if (what_if)
            show_seconds(stream, after[i].predicted_s);
        fputc('\n', stream);
    }
}

static void show_efficiencies(FILE *stream, const struct run_study *study)
{
    const struct run_efficiencies *const columns[] = {&study->measured, &study->predicted, &study->otherwise};
    int n = study->after.by_rank != NULL ? 3 : 2;
    bool bounded = false;
    fputs("\nEfficiencies (POP)\n", stream);
    if (!study->whole.times_known) {
        char *text = xasprintf("not given, as what ranks computed is not known: %s", study->whole.reason);
        help_text_fill(stream, text, 0, 0, terminal_page(stream));
        free(text);
        return;
    }
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++) {
        static const char *const names[EFFICIENCY_COUNT] = {"parallel efficiency", "  load balance", "  communication",
                                                            "    serialisation", "    transfer"};
        fprintf(stream, "%-28s", names[kind]);
        for (int i = 0; i < n; i++) {
            double share = columns[i]->share[kind];
            int bound = run_efficiency_bound(kind, columns[i]->share[EFFICIENCY_COMMUNICATION], columns[i]->ideal);
            char text[16] = "-";
            if (!isnan(share))
                snprintf(text, sizeof text, "%s%.1f %%", bound < 0 ? "<= " : bound > 0 ? ">= " : "", 100 * share);
            fprintf(stream, "  %12s", text);
            bounded = bounded || bound != 0;
        }
        fputc('\n', stream);
    }
    if (bounded)
        help_text_fill(
            stream,
            "<= at most, >= at least: the replay on an ideal network takes longer than the run, or less than "
            "the longest computation",
            0, 0, terminal_page(stream));
}

static void seconds_cell(struct text_table *table, double seconds)
{
    text_table_real(table, fabs(seconds) < 5e-7 ? 0.0 : seconds, 6, "");
}

/* Shows the ranks whose time in MPI is predicted worst, or that change most. */
static void show_worst_ranks(FILE *stream, const struct run_study *study)
{
    size_t n_ranks = study->program.n_ranks, order[MOST_RANKS];
    const struct run_side *side = study->after.by_rank != NULL ? &study->after : &study->before;
    bool predicts = run_study_predicts(study);
    double *off_s = xcalloc(n_ranks + 1, sizeof *off_s);
    for (size_t rank = 0; rank < n_ranks; rank++)
        off_s[rank] = run_parts_sum(&study->measured_by_rank[rank], RUN_LATE_SENDER, RUN_OTHER) + 1e-12;
    size_t n = run_largest(off_s, n_ranks, order, MOST_RANKS);
    struct text_table *table = text_table_of("rank|run|predicted|in MPI|predicted|late|error");
    if (side != &study->before)
        text_table_column(table, "what if: run", TEXT_RIGHT);
    fputs("\nRanks with most time inside MPI [s]\n", stream);
    for (size_t i = 0; i < n; i++) {
        struct run_quantity q[RUN_QUANTITIES], other[RUN_QUANTITIES];
        run_quantities(study, &study->before, order[i], q);
        run_quantities(study, side, order[i], other);
        text_table_cell(table, "%zu", order[i]);
        seconds_cell(table, q[0].measured_s);
        seconds_cell(table, q[0].predicted_s);
        seconds_cell(table, q[2].measured_s);
        seconds_cell(table, q[2].predicted_s);
        seconds_cell(table, q[3].predicted_s + q[4].predicted_s + q[11].predicted_s);
        double change = q[2].predicted_s / q[2].measured_s - 1;
        if (predicts && q[2].measured_s > 0)
            text_table_cell(table, "%+.1f %%", fabs(change) < 5e-4 ? 0 : 100 * change);
        else
            text_table_text(table, "-");
        if (side != &study->before)
            seconds_cell(table, other[0].predicted_s);
    }
    free(off_s);
    text_table_end(table, stream);
    if (n_ranks > n)
        fprintf(stream, "     ...  %zu more; --format csv has all\n", n_ranks - n);
}

static void show_sensitivities(FILE *stream, const struct run_study *study)
{
    if (!study->options->sensitivity)
        return;
    fprintf(stream, "\nWhat to buy: change of the run time when a value of the table grows by 1 %%\n");
    for (size_t i = 0; i < study->n_sensitivities && i < MOST_ROWS; i++) {
        const struct run_sensitivity *at = &study->sensitivities[i];
        char n[32] = "";
        if (at->row->n != MACHINE_NO_N)
            snprintf(n, sizeof n, " %" PRIu64, at->row->n);
        fprintf(stream, "  %+12.3f us  %+8.4f %%  %s %s %s%s\n", at->run_s * 1e6, at->elasticity,
                level_text(at->row->level), machine_protocol_name[at->row->protocol], at->row->quantity, n);
    }
    if (study->n_sensitivities == 0)
        fputs("  nothing: no row of the table counts\n", stream);
}

/* Shows seconds with the unit that makes them a number from 1 to 1000, if there is one. */
static void show_short_time(FILE *stream, double seconds)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{1, "s "}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i < 3 && seconds < units[i].seconds)
        i++;
    fprintf(stream, "  %8.4g %s", seconds / units[i].seconds, units[i].name);
}

static void show_tolerances(FILE *stream, const struct run_study *study)
{
    bool latency = study->options->tolerance == TOLERANCE_LATENCY;
    if (study->options->tolerance == TOLERANCE_NONE)
        return;
    fprintf(stream, "\nTolerance: %s\n",
            latency ? "latency that may be added to each message between nodes, one way"
                    : "how many times lower the bandwidth between nodes may be");
    for (size_t i = 0; study->between_nodes && i < RUN_TOLERANCES; i++) {
        const struct run_tolerance *tolerance = &study->tolerances[i];
        fprintf(stream, "  %3.0f %% longer", 100 * tolerance->longer);
        if (isnan(tolerance->change))
            fprintf(stream, "  not reached with %s", latency ? "1 s more" : "a bandwidth a million times lower");
        else if (latency)
            show_short_time(stream, tolerance->change);
        else
            fprintf(stream, "  %8.4g times", tolerance->change);
        if (!isnan(tolerance->on_path))
            fprintf(stream, "  (the run has it %.1f times on its way)", tolerance->on_path);
        fputc('\n', stream);
    }
    if (!study->between_nodes)
        fputs("  any: no message that the replay knows goes between nodes\n", stream);
    if (study->recorded_between)
        fputs("  collectives between nodes keep their recorded times; --collectives modelled lets them count\n",
              stream);
}

static void show_interval(FILE *stream, const char *what, const struct time_interval *interval)
{
    fprintf(stream, "%46s", what);
    show_seconds(stream, interval->low_s);
    fputs("  to", stream);
    show_seconds(stream, interval->high_s);
    fputc('\n', stream);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

void run_show_bursts(FILE *stream, const struct run_program *program)
{
    if (program->n_bursts > 0)
        fprintf(stream, "%zu burst%s, %.3g %% of the run: what is shown is of these alone\n", program->n_bursts,
                plural(program->n_bursts), 100 * program->burst_share);
}

static void show_text(FILE *stream, const struct run_study *study, const struct run_names *names)
{
    double measured_s = study->program.measured_run_s, predicted_s = run_side_s(&study->before);
    const struct run_program *program = &study->program;
    fprintf(stream, "%zu rank%s, %zu message%s, %zu collective%s\nmachine %s, law %s, collectives %s\n",
            program->n_ranks, plural(program->n_ranks), program->n_messages, plural(program->n_messages),
            program->n_collectives, plural(program->n_collectives), study->before.machine.name,
            study->options->law.name, run_collectives_name[study->options->collectives]);
    run_show_bursts(stream, program);
    if (study->n_cached > 0)
        fprintf(stream, "buffers of %zu message%s in caches%s\n", study->n_cached, plural(study->n_cached),
                study->options->buffers == BUFFERS_RECORDED ? ", as recorded times say" : "");
    fputs("\nrun time [s]  measured", stream);
    show_seconds(stream, measured_s);
    fputs("   predicted", stream);
    show_seconds(stream, predicted_s);
    double mpi_error = run_mpi_error(study);
    if (run_study_predicts(study))
        show_percent(stream, predicted_s / measured_s - 1);
    else
        fprintf(stream, "  copied\n%s", run_copied(study));
    if (!isnan(mpi_error))
        fprintf(stream, "\ntime inside MPI: error %.1f %%", 100 * mpi_error);
    fputc('\n', stream);
    if (study->intervals != NULL)
        show_interval(stream, "predicted, 95 %", &study->intervals[0].before);
    if (study->after.by_rank != NULL) {
        double after_s = run_side_s(&study->after);
        fprintf(stream, "what if:                          predicted");
        show_seconds(stream, after_s);
        show_percent(stream, fabs(after_s - predicted_s) > NOTHING * predicted_s ? after_s / predicted_s - 1 : 0);
        fputs(" of the run\n", stream);
        if ((study->options->law.terms & RUN_TERM_MEMORY) != 0)
            fprintf(
                stream,
                "computation while messages arrive (compute_slowdown): %.3f times as long as without; what if: %.3f\n",
                study->before.result.compute_slowdown, study->after.result.compute_slowdown);
        if (study->intervals != NULL) {
            show_interval(stream, "what if, 95 %", &study->intervals[0].after);
            show_interval(stream, "change, 95 %", &study->intervals[0].change);
        }
    }
    if (study->options->what_if.best_placement)
        fprintf(stream, "placement by search: %zu of %zu ranks move, %zu replays%s\n",
                placement_moved(&study->before.placement, &study->after.placement), study->program.n_ranks,
                study->found.n_replays, study->found.timed_out ? "; it ended with its time" : "");
    fputc('\n', stream);
    show_blame(stream, study, names);
    show_parts(stream, study);
    show_efficiencies(stream, study);
    show_worst_ranks(stream, study);
    show_sensitivities(stream, study);
    show_tolerances(stream, study);
}

static void show_csv(FILE *stream, const struct run_study *study)
{
    struct json_rows rows = {.stream = stream, .csv = true};
    bool what_if = study->after.by_rank != NULL;
    for (size_t i = 0; i <= study->program.n_ranks; i++) {
        struct run_quantity q[RUN_QUANTITIES], other[RUN_QUANTITIES];
        size_t rank = i == 0 ? SIZE_MAX : i - 1;
        run_quantities(study, &study->before, rank, q);
        run_quantities(study, what_if ? &study->after : &study->before, rank, other);
        for (size_t j = 0; j < RUN_QUANTITIES; j++) {
            if (!run_quantity_is_shown(&q[j]))
                continue;
            struct json *row =
                json_pack("{so ss sf sf}", "rank", i > 0 ? json_integer((int64_t)rank) : json_null(), "quantity",
                          q[j].name, "measured_s", q[j].measured_s, "predicted_s", q[j].predicted_s);
            if (what_if)
                json_set(row, "what_if_s", json_finite(other[j].predicted_s));
            json_rows_add(&rows, row);
        }
    }
}

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

static int show_json(FILE *stream, const struct run_study *study, const struct run_names *names, struct error *error)
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

/* Shows text; of a trace that is not whole each share gets its mark. */
static void show_marked(FILE *stream, const struct run_study *study, const struct run_names *names)
{
    if (study->whole.is_whole) {
        show_text(stream, study, names);
        return;
    }
    char *text = NULL;
    size_t length;
    FILE *memory = or_no_memory(open_memstream(&text, &length));
    show_text(memory, study, names);
    if (fclose(memory) != 0)
        no_memory(0);
    whole_mark(text);
    fputs(text, stream);
    fprintf(stream, "\n" WHOLE_LEGEND "\n", study->whole.reason);
    free(text);
}

int run_show(FILE *stream, sqlite3 *database, const struct run_study *study, struct error *error)
{
    struct run_names names = {0};
    int code = run_names_read(database, study, &names, error);
    if (code == 0 && study->options->format == FORMAT_JSON)
        code = show_json(stream, study, &names, error);
    else if (code == 0 && study->options->format == FORMAT_CSV)
        show_csv(stream, study);
    else if (code == 0)
        show_marked(stream, study, &names);
    free(names.of_site);
    pool_release(&names.pool);
    return code;
}
