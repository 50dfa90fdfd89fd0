/* Writes the first screen: what ran, whether all of it is recorded, what it lost its time to. It has at most 40 lines
 * of 80 columns, whatever the trace: tables have few rows, texts are shortened, and as many findings are shown as there
 * is room for. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/render/sections.h"

enum {
    MODELS_SHOWN = 4,
    SCREEN_LINES = 40,
    SCREEN_COLUMNS = 80,
    SITES_SHOWN = 5,
    SITES_BESIDE_REGIONS = 3,
    SITE_COLUMNS = 36,
    PROGRAMS_SHOWN = 6
};

/* Heads the screen with the command, or with all programs and their ranks: on lines of their own where they are too
 * long together. */
static void present_first_programs(struct document *document, const struct report *report)
{
    char command[SCREEN_COLUMNS];
    words_shorten(command, sizeof command, report->run.command, SCREEN_COLUMNS - 2);
    if (report->n_programs < 2 || strcmp(command, report->run.command) == 0) {
        document_heading(document, "%s", command[0] != '\0' ? command : "a command that is not known");
        return;
    }
    document_heading(document, "%zu programs", report->n_programs);
    for (size_t i = 0; i < report->n_programs && i < PROGRAMS_SHOWN; i++) {
        const struct report_program *program = &report->programs[i];
        char ranks[24];
        words_shorten(ranks, sizeof ranks, program->where, sizeof ranks - 1);
        words_shorten(command, sizeof command, program->command, SCREEN_COLUMNS - 12 - strlen(ranks));
        document_line(document, "%s (rank%s %s)", command, words_plural(program->ranks), ranks);
    }
    if (report->n_programs > PROGRAMS_SHOWN)
        document_line(document, "and %zu more: --section run", report->n_programs - PROGRAMS_SHOWN);
}

static void present_identity(struct document *document, const struct report *report)
{
    const struct report_run *run = &report->run;
    char date[64], lasted[32];
    document->is_titled = document->n_blocks == 0;
    present_first_programs(document, report);
    document_line(document, "%.*s, %" PRId64 " rank%s on %" PRId64 " node%s",
                  (int)(strcspn(run->mpi_library, ",") < 50 ? strcspn(run->mpi_library, ",") : 50), run->mpi_library,
                  run->world_size, words_plural(run->world_size), report->run.nodes, words_plural(report->run.nodes));
    document_line(document, "%s, lasted %s", words_started(date, sizeof date, run),
                  words_seconds(lasted, sizeof lasted, report->part.is_part ? report->part.run_s : run->duration_s));
    if (report->part.is_part) {
        char part[PART_TEXT_BYTES];
        trace_part_text(&report->part, part);
        document_line(document, "%s", part);
    }
}

enum { LINE = 76 };

/* Shows how many ranks had to share processors. Their waiting is the fault of no rank. */
static void present_processors(struct document *document, const struct report *report)
{
    const struct report_waited *waited = &report->waited;
    bool partial = document->partial;
    document->partial = false; /* the kernel counted that, whatever was recorded */
    if (waited->ranks > 0)
        document_warning(document,
                         "%" PRId64 " of %" PRId64 " ranks waited for a processor that others had, most rank %" PRId64
                         ": %.0f %% of %.3g s; all times include that wait",
                         waited->ranks, report->run.world_size, waited->worst_rank, waited->wait_share * 100,
                         waited->observed_s);
    else if (report->crowding.nodes > 0)
        document_warning(document, "%" PRId64 " ranks share %" PRId64 " processors%s: times include waiting for one",
                         report->crowding.ranks, report->crowding.processors,
                         report->crowding.nodes > 1 ? " on the fullest node" : "");
    document->partial = partial;
}

/* Adds at most two lines on whether the recording is whole, and at most two on waiting for processors. */
static void summary_recording(struct document *document, const struct report *report)
{
    const struct report_completeness *complete = &report->completeness;
    char verdict[2 * LINE], volume[32];
    words_shorten(verdict, sizeof verdict, complete->verdict, 2 * LINE - 20);
    bool whole = strncmp(complete->verdict, "complete", 8) == 0 && report->run.launched <= 0;
    document_add(document, whole ? DOCUMENT_LINE : DOCUMENT_WARNING, "recording %s; %" PRId64 " message%s, %s", verdict,
                 report->messages, words_plural(report->messages),
                 words_bytes(volume, sizeof volume, (double)report->bytes));
    if (report->shards.n_faults == 1)
        document_warning(document, "%s", report->shards.faults[0]);
    else if (report->shards.n_faults > 1)
        document_warning(document, "%s; and %zu more: --section completeness", report->shards.faults[0],
                         report->shards.n_faults - 1);
    if (complete->uncertain > 0)
        document_warning(document, "the order of %" PRId64 " message%s was not certain", complete->uncertain,
                         words_plural(complete->uncertain));
    int64_t unnamed = 0;
    for (size_t i = 0; i < report->n_unnamed; i++)
        unnamed += report->unnamed[i].n;
    if (unnamed > 0)
        document_warning(document, "%" PRId64 " call site%s without lines: %s%s", unnamed, words_plural(unnamed),
                         report->unnamed[0].name, report->n_unnamed > 1 ? "; ..." : "");
    present_processors(document, report);
}

/* Says what the best model's error allows to say, in a few words; "" for nothing. */
static const char *judge(const struct report *report, const struct report_model *best, char *text, size_t size)
{
    const char *judgement = words_judgement(report);
    double noise = report->replicate_error;
    size_t n = 0;
    for (size_t i = 0; i < report->n_models; i++)
        n += report->models[i].rounds == best->rounds && strcmp(report->models[i].machine, best->machine) == 0 &&
             report->models[i].error <= best->error + noise;
    if (judgement != NULL)
        return judgement;
    if (isnan(noise))
        return "whether the error is noise is not known: no call came twice";
    if (best->error <= noise)
        return "the error is below the noise";
    snprintf(text, size, "%zu differ by less than the noise", n);
    return n > 1 ? text : "";
}

/* Least factor between the error in a window or a region and that of the run, for a line about it. */
#define PART_WORSE 2.0

/* Says in which part of the run the best law is much further off than in all of it. */
static void present_worst_parts(struct document *document, const struct report *report, size_t best)
{
    double error = report->models[best].error, noise = isnan(report->replicate_error) ? 0 : report->replicate_error;
    size_t window = report_worst_part(report->window_errors, report->n_window_errors);
    size_t region = report_worst_part(report->region_errors, report->n_region_errors);
    char text[160] = "", path[32];
    if (window == report->n_window_errors)
        return;
    const struct report_part_error *worst = &report->window_errors[window];
    if (worst->error >= fmax(PART_WORSE * error, noise))
        snprintf(text, sizeof text, "%.1f %% from %.4g to %.4g s", 100 * worst->error, worst->begin_s, worst->end_s);
    size_t used = strlen(text);
    worst = region < report->n_region_errors ? &report->region_errors[region] : NULL;
    if (worst != NULL && worst->error >= fmax(PART_WORSE * error, noise))
        snprintf(text + used, sizeof text - used, "%s%.1f %% in %s", used > 0 ? ", " : "", 100 * worst->error,
                 words_shorten(path, sizeof path, worst->path, sizeof path - 8));
    if (text[0] != '\0')
        document_line(document, "worst error: %s", text);
}

/* Shows the models of the best one's kind, the best first, and what their errors are worth. */
static void present_errors(struct document *document, const struct report *report, size_t best)
{
    const struct report_model *first = &report->models[best];
    size_t shown = 0, all = 0;
    document_table(document, "law|error>|replicate>|bias>|worst rank>|measured>|modelled>");
    for (size_t i = 0; i < report->n_models; i++) { /* in the order of their errors for each machine */
        const struct report_model *model = &report->models[i];
        if (model->rounds != first->rounds || strcmp(model->machine, first->machine) != 0)
            continue;
        all++;
        if (shown == MODELS_SHOWN)
            continue;
        shown++;
        document_cell(document, "%.24s", model->title);
        document_cells(document, "ppciss", words_claimed(model, model->error), report->replicate_error,
                       words_claimed(model, model->bias), model->worst_rank, model->worst_actual_s,
                       model->worst_model_s);
    }
    char text[64], share[64] = "", more[32] = "";
    const char *judgement = judge(report, first, text, sizeof text);
    double measured_s = 0;
    for (size_t i = 0; i < report->n_ranks; i++)
        if (!isnan(report->ranks[i].models[best].actual_s))
            measured_s += report->ranks[i].models[best].actual_s;
    if (report->activities.unknown == NULL && report->activities.ranks_s > 0) {
        char ratio[16];
        words_ratio(ratio, sizeof ratio, fmin(measured_s / report->activities.ranks_s, 1));
        snprintf(share, sizeof share, ", %s of all ranks' time", ratio);
    }
    if (all > shown)
        snprintf(more, sizeof more, "; %zu more", all - shown);
    present_worst_parts(document, report, best);
    document_add(document, words_judgement(report) != NULL ? DOCUMENT_WARNING : DOCUMENT_LINE, "on %.20s%s%s%s%s",
                 first->machine, share, judgement[0] != '\0' ? "; " : "", judgement, more);
    if (report->waited.ranks > 0 || report->crowding.nodes > 0)
        document_warning(document, "measured times hold waits for processors, which no law knows");
}

static void summary_models(struct document *document, const struct report *report)
{
    size_t best = report_best_model(report);
    if (report->n_models == 0)
        document_line(document, report->messages > 0
                                    ? "none: 'mpistair predict' compares the time in messages with models"
                                    : "none: there are no messages to compare with them");
    else if (best == report->n_models)
        document_line(document, "no model has an error: no time was measured");
    else if (report->models[best].withheld)
        document_line(document, "rounds overlap, so their errors are no claim: 'mpistair predict' without --rounds "
                                "takes the run");
    else
        present_errors(document, report, best);
}

/* Shows seconds and shares of one activity. */
static void present_activity(struct document *document, const char *name, const struct report_activity *row,
                             size_t n_ranks)
{
    document_cell(document, "%s", name);
    if (!(row->most_s > 0)) {
        for (int i = 0; i < 6; i++)
            document_cell(document, "-");
        return;
    }
    document_cells(document, "swsssi", row->time_s, row->share, row->least_s, row->time_s / (double)n_ranks,
                   row->most_s, row->most_rank);
}

static void present_time(struct document *document, const struct report *report)
{
    static const char *const names[SPENT_COUNT] = {
        "computation (not in MPI)", "point-to-point", "collectives", "one-sided", "files", "other MPI",
        "waiting between polls",    "not recorded"};
    const struct report_activities *activities = &report->activities;
    char reason[4 * SCREEN_COLUMNS];
    if (activities->unknown != NULL) {
        words_shorten(reason, sizeof reason, activities->unknown, 3 * SCREEN_COLUMNS);
        document_line(document, "not known: %s", reason);
        return;
    }
    document_table(document, "|all ranks>|share>|least>|mean>|most>|rank>");
    for (size_t i = 0; i < SPENT_COUNT; i++)
        if ((i != SPENT_POLLING && i != SPENT_NOT_RECORDED) || activities->rows[i].most_s > 0) /* most runs have none */
            present_activity(document, names[i], &activities->rows[i], report->n_ranks);
}

/* Takes the efficiencies of a stored replay as measured, else those that follow from the table of time. */
static void present_summary_efficiency(struct document *document, const struct report *report)
{
    const struct report_replay *replay = &report->replay;
    const struct report_activities *activities = &report->activities;
    char text[SCREEN_COLUMNS * 2] = "";
    size_t used = 0;
    for (size_t i = 0; replay->id >= 0 && i < replay->n_efficiencies && used < sizeof text - 40; i++) {
        const struct report_replay_efficiency *shown = &replay->efficiencies[i];
        if (!isnan(shown->measured))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s%s%.0f %%", used > 0 ? ", " : "",
                                     strcmp(shown->name, "load_balance") == 0 ? "load balance" : shown->name,
                                     shown->measured_bound, shown->measured_bound[0] != '\0' ? " " : "",
                                     100 * shown->measured);
    }
    if (used == 0 && activities->unknown == NULL && !isnan(activities->parallel))
        snprintf(text, sizeof text, "parallel %.0f %%, load balance %.0f %%, communication %.0f %%",
                 100 * activities->parallel, 100 * activities->load_balance, 100 * activities->communication);
    if (used == 0 && activities->unknown == NULL && !report->whole.times_known)
        snprintf(text, sizeof text, "not given, as what ranks computed is not known");
    if (text[0] != '\0')
        document_line(document, "efficiency: %s", text);
}

/* Says what a site waits for most, "-" where that is less than half of its time. */
static const char *waits_for(const struct report_call_site *site, double *share)
{
    static const char *const names[WAITING_COUNT] = {"late sender", "late receiver", "last to come", "transfer"};
    size_t most = 0;
    for (size_t i = 1; i < WAITING_COUNT; i++)
        if (site->waiting_s[i] > site->waiting_s[most])
            most = i;
    *share = site->waiting_s[most] / site->time_s;
    return site->waiting_s[most] > 0 ? names[most] : "-";
}

static void present_sites(struct document *document, const struct report *report, size_t most, size_t columns_of_place)
{
    const struct report_activities *activities = &report->activities;
    document_table(document, "time>|share>|waits for|rank>|call");
    for (size_t i = 0; i < activities->n_sites && i < most; i++) {
        const struct report_call_site *site = &activities->sites[i];
        double share;
        char call[1024];
        document_cells(document, "sw", site->time_s, site->share);
        const char *waits = waits_for(site, &share);
        document_cell(document, share > 0 ? "%s %.0f %%" : "-", waits, 100 * share);
        document_cells(document, "o", site->awaited_rank);
        if (columns_of_place > 0)
            words_call(call, sizeof call, site->function, &site->parts, columns_of_place);
        else
            snprintf(call, sizeof call, "%s %s", site->function, site->place);
        document_cell(document, "%s", call);
    }
}

void present_call_sites(struct document *document, const struct report *report)
{
    const struct report_activities *activities = &report->activities;
    if (activities->unknown != NULL || activities->n_sites == 0)
        return;
    present_sites(document, report, REPORT_CALL_SITES, 0);
    document_line(
        document,
        "time: of all ranks inside MPI there; share: of all ranks' time; waits for: what takes most of it, and "
        "what part; rank: the one that is waited for longest");
    if (activities->all_sites > activities->n_sites)
        document_line(document, "%zu more call sites cost less", activities->all_sites - activities->n_sites);
}

static void present_out_of_line(struct document *document, const struct report *report)
{
    const struct report_activities *activities = &report->activities;
    if (activities->n_out_of_line == 0)
        return;
    document_heading(document, "Ranks out of line");
    for (size_t i = 0; i < activities->n_out_of_line; i++) {
        const struct report_out_of_line *found = &activities->out_of_line[i];
        char own[32], median[32];
        document_line(document, "rank %" PRId64 " is %s %s, the median rank %s", found->rank,
                      found->in_mpi ? "inside MPI for" : "computing for", words_seconds(own, sizeof own, found->time_s),
                      words_seconds(median, sizeof median, found->median_s));
    }
    if (activities->all_out_of_line > activities->n_out_of_line)
        document_line(document, "and %zu more ranks", activities->all_out_of_line - activities->n_out_of_line);
}

/* Shows the course of the run, a character a part of it: tenths of the ranks' time inside MPI. */
static void present_course(struct document *document, const struct report *report)
{
    char strip[REPORT_COURSE + 1] = "", begin[32] = "0", end[32];
    if (!report->has_course)
        return;
    for (size_t i = 0; i < REPORT_COURSE; i++)
        strip[i] = isnan(report->course[i]) ? ' ' : (char)('0' + (int)fmin(fmax(floor(10 * report->course[i]), 0), 9));
    document_line(document, "in MPI, tenths: %s", strip);
    if (report->course_changes) {
        const char *digits = "0123456789abcdefghijklmnopqrstuvwxyz";
        for (size_t i = 0; i < REPORT_COURSE; i++)
            strip[i] = report->course_rank[i] < 0    ? '.'
                       : report->course_rank[i] < 36 ? digits[report->course_rank[i]]
                                                     : '*';
        document_line(document, "waits for rank: %s", strip);
    }
    if (report->part.is_part)
        words_seconds(begin, sizeof begin, report->part.from_s);
    document_line(document, "from %s to %s", begin,
                  words_seconds(end, sizeof end, report->part.from_s + report->run.duration_s));
}

/* Presents all but the diagnosis, which comes between head and rest. */
static void present_summary_rest(struct document *document, const struct report *report)
{
    document_heading(document, "Time of all ranks");
    present_time(document, report);
    present_summary_efficiency(document, report);
    present_course(document, report);
    if (report->activities.unknown == NULL && report->activities.n_sites > 0) {
        document_heading(document, "Call sites that cost most");
        present_sites(document, report, report->regions.n > 0 ? SITES_BESIDE_REGIONS : SITES_SHOWN, SITE_COLUMNS);
    }
    present_first_regions(document, report);
    present_out_of_line(document, report);
    document_heading(document, "Models");
    summary_models(document, report);
    if (!document->all_sections)
        document_line(document, "Details: --all, or --section NAME,... (--help lists them)");
}

void present_summary(struct document *document, const struct report *report)
{
    struct document head = {.partial = document->partial}, rest = {.partial = document->partial};
    present_identity(&head, report);
    summary_recording(&head, report);
    present_summary_rest(&rest, report);
    document_explain_mark(&rest, report->whole.reason);
    size_t used = render_lines(&head) + render_lines(&rest) + 1; /* a blank line between the two */
    present_identity(document, report);
    summary_recording(document, report);
    present_diagnosis(document, report, used + 3 < SCREEN_LINES ? SCREEN_LINES - used : 3);
    present_summary_rest(document, report);
    document_release(&head);
    document_release(&rest);
}
