/* Shows a table for people; CSV rows `model,rank,...` with an empty rank for the run; JSON with an object for each
 * model. */
#include "predictor/what_if/what_if.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/what_if/arrange.h"
#include "share/base/json.h"
#include "share/base/memory.h"

/* Text shows so many of the ranks that gain, and of those that lose. */
enum { MOST_SHOWN = 5 };

/* Smaller changes are rounding. */
static const double same = 1e-9;

static double gain_s(const struct what_if *what_if, size_t model, size_t rank)
{
    double before_s = what_if->before_s[model].rank_s[rank], change_s = before_s - what_if->after_s[model].rank_s[rank];
    return fabs(change_s) > same * before_s ? change_s : 0;
}

static void show_gain(FILE *stream, double before_s, double after_s)
{
    if (before_s > 0)
        fprintf(stream, "  %9.1f %%", 100 * (before_s - after_s) / before_s);
    else
        fprintf(stream, "  %11s", "-");
}

static void show_changes(FILE *stream, const struct predict_options *options, const struct what_if *what_if)
{
    const struct what_if_options *asked = &options->run.what_if;
    size_t n_ranks = what_if->before.placement.n_ranks;
    fprintf(stream, "machine %s", what_if->before.machine.name);
    if (asked->machine != NULL)
        fprintf(stream, ", then %s", what_if->after.machine.name);
    fputc('\n', stream);
    if (asked->placement != NULL || asked->best_placement)
        fprintf(stream, "placement %s: %zu of %zu ranks move\n", asked->best_placement ? "by search" : asked->placement,
                placement_moved(&what_if->before.placement, &what_if->after.placement), n_ranks);
    if (asked->eager_given)
        fprintf(stream, "eager threshold %llu bytes\n", (unsigned long long)asked->eager_bytes);
    if (asked->aggregate)
        fprintf(stream, "messages to one partner as one: %zu of %zu remain\n",
                workload_messages(&what_if->after.workload), workload_messages(&what_if->before.workload));
    if (asked->best_placement)
        fprintf(stream, "search by %s: %llu rounds predicted, the partitioner's placement %.3f ms%s\n",
                options->models[0].name, (unsigned long long)what_if->found.predictions, what_if->found.mapped_s * 1e3,
                what_if->found.timed_out ? "; it ended with its time" : "");
}

struct gainers {
    const struct what_if *what_if;
    size_t model;
};

static int more_gain_first(const void *a, const void *b, void *context)
{
    const struct gainers *gainers = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double p = gain_s(gainers->what_if, gainers->model, x), q = gain_s(gainers->what_if, gainers->model, y);
    if (p != q)
        return p > q ? -1 : 1;
    return (x > y) - (x < y);
}

static void show_rank(FILE *stream, const struct what_if *what_if, size_t model, uint32_t rank)
{
    const struct placement *before = &what_if->before.placement, *after = &what_if->after.placement;
    double before_s = what_if->before_s[model].rank_s[rank], after_s = what_if->after_s[model].rank_s[rank];
    char from[32], to[32];
    snprintf(from, sizeof from, "%u/%u", before->node[rank], before->socket[rank]);
    snprintf(to, sizeof to, "%u/%u", after->node[rank], after->socket[rank]);
    fprintf(stream, "  %7u  %11s  %11s  %14.3f  %14.3f", rank, from, to, before_s * 1e3, after_s * 1e3);
    show_gain(stream, before_s, after_s);
    fputc('\n', stream);
}

/* Shows for one model how many ranks gain and lose, and those that do most. */
static void show_ranks(FILE *stream, const struct predict_options *options, const struct what_if *what_if, size_t model)
{
    size_t n = what_if->before.placement.n_ranks, gain = 0, lose = 0;
    struct gainers gainers = {what_if, model};
    uint32_t *order = xmalloc((n + 1) * sizeof *order);
    for (size_t rank = 0; rank < n; rank++) {
        double change_s = gain_s(what_if, model, rank);
        gain += change_s > 0;
        lose += change_s < 0;
    }
    fprintf(stream, "\n%s: %zu ranks gain, %zu lose, %zu stay the same\n", options->models[model].name, gain, lose,
            n - gain - lose);
    if (order == NULL)
        return;
    for (size_t rank = 0; rank < n; rank++)
        order[rank] = (uint32_t)rank;
    qsort_r(order, n, sizeof *order, more_gain_first, &gainers);
    if (gain + lose > 0)
        fprintf(stream, "  %7s  %11s  %11s  %14s  %14s  %11s\n", "rank", "node/socket", "then", "before [ms]",
                "after [ms]", "gain");
    for (size_t i = 0; i < n; i++)
        if ((i < gain && i < MOST_SHOWN) || (i >= n - lose && i + MOST_SHOWN >= n))
            show_rank(stream, what_if, model, order[i]);
    free(order);
}

static void show_text(FILE *stream, const struct predict_options *options, const struct what_if *what_if)
{
    show_changes(stream, options, what_if);
    fprintf(stream, "\nT of the run: the largest of a round, summed over its rounds\n%-18s  %14s  %14s  %11s\n",
            "model", "before [ms]", "after [ms]", "gain");
    for (size_t m = 0; m < options->n_models; m++) {
        double before_s = what_if->before_s[m].total_s, after_s = what_if->after_s[m].total_s;
        fprintf(stream, "%-18s  %14.3f  %14.3f", options->models[m].name, before_s * 1e3, after_s * 1e3);
        show_gain(stream, before_s, after_s);
        fputc('\n', stream);
    }
    for (size_t m = 0; m < options->n_models; m++)
        show_ranks(stream, options, what_if, m);
}

static void show_csv(FILE *stream, const struct predict_options *options, const struct what_if *what_if)
{
    const struct placement *before = &what_if->before.placement, *after = &what_if->after.placement;
    fputs("model,rank,before_s,after_s,node,socket,to_node,to_socket\n", stream);
    for (size_t m = 0; m < options->n_models; m++) {
        const char *model = options->models[m].name;
        fprintf(stream, "%s,,%.17g,%.17g,,,,\n", model, what_if->before_s[m].total_s, what_if->after_s[m].total_s);
        for (size_t rank = 0; rank < before->n_ranks; rank++)
            fprintf(stream, "%s,%zu,%.17g,%.17g,%u,%u,%u,%u\n", model, rank, what_if->before_s[m].rank_s[rank],
                    what_if->after_s[m].rank_s[rank], before->node[rank], before->socket[rank], after->node[rank],
                    after->socket[rank]);
    }
}

static struct json *rank_json(const struct what_if *what_if, size_t m, size_t rank)
{
    const struct placement *before = &what_if->before.placement, *after = &what_if->after.placement;
    return json_pack("{sI so so sI sI sI sI}", "rank", (int64_t)rank, "before_s",
                     json_finite(what_if->before_s[m].rank_s[rank]), "after_s",
                     json_finite(what_if->after_s[m].rank_s[rank]), "node", (int64_t)before->node[rank], "socket",
                     (int64_t)before->socket[rank], "to_node", (int64_t)after->node[rank], "to_socket",
                     (int64_t)after->socket[rank]);
}

static int show_json(FILE *stream, const struct predict_options *options, const struct what_if *what_if,
                     struct error *error)
{
    struct json_rows rows = {.stream = stream};
    for (size_t m = 0; m < options->n_models; m++) {
        struct json *ranks = json_array();
        for (size_t rank = 0; rank < what_if->before.placement.n_ranks; rank++)
            json_add(ranks, rank_json(what_if, m, rank));
        json_rows_add(&rows, json_pack("{ss ss ss so so so}", "model", options->models[m].name, "machine",
                                       what_if->before.machine.name, "to_machine", what_if->after.machine.name,
                                       "before_s", json_finite(what_if->before_s[m].total_s), "after_s",
                                       json_finite(what_if->after_s[m].total_s), "ranks", ranks));
    }
    return json_rows_end(&rows, error);
}

int show_what_if(FILE *stream, const struct predict_options *options, const struct what_if *what_if,
                 struct error *error)
{
    if (options->run.format == FORMAT_TEXT)
        show_text(stream, options, what_if);
    else if (options->run.format == FORMAT_CSV)
        show_csv(stream, options, what_if);
    else
        return show_json(stream, options, what_if, error);
    return 0;
}
