/* A table of charts: title, axes, and a function that adds its series. Table and samples may each lack what a chart
 * shows; one without points is left out (chart.h). Papers are named as in share/doc/MODELS.md. */
#include "calibrate/plot/plot.h"

#include <math.h>
#include <string.h>

#include "calibrate/plot/chart.h"

enum { SET_DRAWN_MAX = 16, CURVES_DRAWN_MAX = 6 };

struct drawing {
    const struct machine *machine;
    const struct samples *samples; /* sorted */
    struct curves curves;          /* medians, as the fit takes them */
    struct charts charts;
};

static const struct chart_style points = {.points = true}, pale = {.points = true, .pale = true},
                                points_on_line = {.points = true, .line = true}, line = {.line = true, .quiet = true};

/* Adds samples of a set, evenly spaced from the least to the largest. */
static void set_points(struct drawing *drawing, const struct sample_set *set, double x)
{
    size_t drawn = set->n < SET_DRAWN_MAX ? set->n : SET_DRAWN_MAX;
    for (size_t i = 0; i < drawn; i++) {
        size_t at = set->first + (drawn < 2 ? 0 : i * (set->n - 1) / (drawn - 1));
        chart_point(&drawing->charts, x, drawing->samples->samples[at].seconds);
    }
}

/* What the table says of the time of a message at one level. */
struct level_table {
    struct machine_protocols protocols; /* n = 0: nothing */
    double tau_s[PROTOCOL_COUNT];       /* by index in protocols */
    struct machine_bandwidth bandwidth[PROTOCOL_COUNT];
};

/* Leaves out a protocol without latency or bandwidth, which has no line. */
static struct level_table table_make(const struct machine *machine, enum level level)
{
    struct level_table table = {0};
    struct machine_protocols found;
    if (machine_protocols(machine, level, &found, NULL) != 0)
        return table;
    for (size_t i = 0; i < found.n; i++) {
        size_t at = table.protocols.n;
        if (machine_tau_s(machine, level, found.protocol[i], &table.tau_s[at], NULL) != 0 ||
            machine_bandwidth(machine, level, found.protocol[i], &table.bandwidth[at], NULL) != 0)
            continue;
        table.protocols.protocol[at] = found.protocol[i];
        table.protocols.from_bytes[at] = found.from_bytes[i];
        table.protocols.n++;
    }
    return table;
}

static void table_release(struct level_table *table)
{
    for (size_t i = 0; i < table->protocols.n; i++)
        machine_bandwidth_release(&table->bandwidth[i]);
}

/* Returns tau + s n/BW(n) by protocol i. */
static double line_s(const struct level_table *table, size_t i, uint64_t n, double bytes)
{
    bool extrapolated = false;
    return table->tau_s[i] + bytes * (double)n / machine_bandwidth_at(&table->bandwidth[i], (double)n, &extrapolated);
}

static void draw_line(struct charts *charts, const struct level_table *table, uint64_t n, struct chart_span bytes)
{
    enum { STEPS = 24 };
    for (size_t i = 0; i < table->protocols.n; i++) {
        double from = fmax(bytes.low, i == 0 ? 0 : (double)table->protocols.from_bytes[i]);
        double to =
            fmin(bytes.high, i + 1 < table->protocols.n ? (double)table->protocols.from_bytes[i + 1] : bytes.high);
        for (int step = 0; step <= STEPS && from < to; step++) {
            double at = from * pow(to / from, step / (double)STEPS);
            chart_point(charts, at, line_s(table, i, n, at));
        }
        chart_gap(charts);
    }
}

static void draw_thresholds(struct charts *charts, const struct level_table *table)
{
    for (size_t i = 1; i < table->protocols.n; i++)
        chart_threshold(charts, (double)table->protocols.from_bytes[i], "%s from %llu B",
                        machine_protocol_name[table->protocols.protocol[i]],
                        (unsigned long long)table->protocols.from_bytes[i]);
}

/* Begins a series with the name of a curve. */
static void curve_series(struct charts *charts, const struct chart_style *style, const struct curve *curve)
{
    chart_series(charts, style, "n = %llu%s", (unsigned long long)curve->n,
                 curve->n > 1                             ? ""
                 : curve->level == LEVEL_SELF             ? ", to itself"
                 : curve->benchmark == BENCHMARK_PINGPONG ? ", ping-pong"
                                                          : ", Algorithm 1");
}

/* Finds the curves of a level: shown[CURVES_DRAWN_MAX], spread over all, the first and the last among them. */
static size_t curves_choose(const struct curves *curves, enum level level, const struct curve **shown)
{
    size_t first = 0, n = 0;
    for (size_t i = 0; i < curves->n_curves; i++)
        if (curves->curves[i].level == level && n++ == 0)
            first = i;
    size_t n_shown = n < CURVES_DRAWN_MAX ? n : CURVES_DRAWN_MAX;
    for (size_t i = 0; i < n_shown; i++)
        shown[i] = &curves->curves[first + (n_shown < 2 ? 0 : i * (n - 1) / (n_shown - 1))];
    return n_shown;
}

static void draw_curve(struct drawing *drawing, const struct curve *curve)
{
    struct sample_set set = {0};
    curve_series(&drawing->charts, &pale, curve);
    while (samples_next(drawing->samples, curve->benchmark, curve->level, &set)) {
        const struct sample *sample = &drawing->samples->samples[set.first];
        if (sample->n == curve->n)
            set_points(drawing, &set, (double)sample->bytes);
    }
    curve_series(&drawing->charts, &points, curve);
    for (size_t i = 0; i < curve->n_points; i++)
        chart_point(&drawing->charts, curve->bytes[i], curve->seconds[i]);
}

/* Draws the time of a message over its size: samples, their median for each size, and the table's line of each
 * protocol; without samples the lines of each n of the table. */
static void draw_times(struct drawing *drawing, enum level level)
{
    struct charts *charts = &drawing->charts;
    struct level_table table = table_make(drawing->machine, level);
    const struct curve *shown[CURVES_DRAWN_MAX];
    size_t n_shown = curves_choose(&drawing->curves, level, shown);
    for (size_t i = 0; i < n_shown; i++)
        draw_curve(drawing, shown[i]);
    struct chart_span bytes = chart_x_span(charts);
    if (!(bytes.low <= bytes.high))
        bytes = (struct chart_span){1, 4 << 20, true};
    for (size_t i = 0; i < n_shown; i++) {
        curve_series(charts, &line, shown[i]);
        draw_line(charts, &table, shown[i]->n, bytes);
    }
    const struct machine_bandwidth *knots =
        n_shown == 0 && table.protocols.n > 0 ? &table.bandwidth[table.protocols.n - 1] : NULL;
    for (size_t i = 0; knots != NULL && i < knots->n_knots; i++) {
        chart_series(charts, &(struct chart_style){.line = true}, "n = %.0f", knots->n[i]);
        draw_line(charts, &table, (uint64_t)knots->n[i], bytes);
    }
    draw_thresholds(charts, &table);
    table_release(&table);
}

/* Draws by which factor the medians are off the table's lines. */
static void draw_residuals(struct drawing *drawing, enum level level)
{
    struct level_table table = table_make(drawing->machine, level);
    const struct curve *shown[CURVES_DRAWN_MAX];
    size_t n_shown = curves_choose(&drawing->curves, level, shown);
    for (size_t i = 0; table.protocols.n > 0 && i < n_shown; i++) {
        curve_series(&drawing->charts, &points_on_line, shown[i]);
        for (size_t point = 0; point < shown[i]->n_points; point++) {
            double bytes = shown[i]->bytes[point];
            size_t protocol = table.protocols.n - 1;
            while (protocol > 0 && bytes < (double)table.protocols.from_bytes[protocol])
                protocol--;
            chart_point(&drawing->charts, bytes,
                        shown[i]->seconds[point] / line_s(&table, protocol, shown[i]->n, bytes));
        }
    }
    draw_thresholds(&drawing->charts, &table);
    table_release(&table);
}

static void draw_protocol_bandwidth(struct drawing *drawing, enum level level, enum machine_protocol protocol,
                                    const struct machine_bandwidth *knots)
{
    struct charts *charts = &drawing->charts;
    const char *name = machine_protocol_name[protocol];
    size_t last = knots->n_knots - 1;
    double most = knots->bytes_per_s[last], single = knots->bytes_per_s[0];
    int colour = 1 + PROTOCOL_COUNT - (int)protocol;
    chart_series(charts, &(struct chart_style){.colour = colour, .line = true, .quiet = true}, "%s", name);
    for (size_t i = 0; i < knots->n_knots; i++)
        chart_point(charts, knots->n[i], knots->bytes_per_s[i]);
    for (size_t i = 0; i < drawing->machine->n_parameters; i++) {
        const struct machine_parameter *row = &drawing->machine->parameters[i];
        if (row->level != level || row->protocol != protocol || strcmp(row->quantity, "bw") != 0)
            continue;
        bool bound = strstr(row->method, "-flat") != NULL || strcmp(row->method, "lower-bound") == 0;
        chart_series(charts, &(struct chart_style){.colour = colour, .points = true, .hollow = bound}, "%s, %s", name,
                     bound ? "at least" : "measured");
        chart_interval(charts, (double)row->n, row->value, row->ci_low, row->ci_high);
    }
    if (knots->n[0] > 1) /* without a single message the formula lacks BW(1) */
        return;
    double corner = fmin(fmax(most / single, 1), knots->n[last]);
    const double n[] = {1, corner, knots->n[last]};
    chart_series(charts, &(struct chart_style){.colour = colour, .line = true, .dashed = true}, "%s, max-rate", name);
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
        chart_point(charts, n[i], fmin(n[i] * single, most));
}

/* Draws the bandwidth of n processes, as measured, against the max-rate model's n BW(1), at most BW_max (T eq. 3, Fig.
 * 1). Short messages are left out: their time is latency. */
static void draw_bandwidth(struct drawing *drawing, enum level level)
{
    for (int protocol = PROTOCOL_COUNT - 1; protocol >= PROTOCOL_ANY; protocol--) {
        struct machine_bandwidth knots = {0};
        if (protocol != PROTOCOL_SHORT &&
            machine_bandwidth(drawing->machine, level, (enum machine_protocol)protocol, &knots, NULL) == 0 &&
            knots.n_knots > 1)
            draw_protocol_bandwidth(drawing, level, (enum machine_protocol)protocol, &knots);
        machine_bandwidth_release(&knots);
    }
}

static void draw_domains(struct drawing *drawing, enum level level)
{
    static const char *const shared[DOMAIN_COUNT] = {"", "same L3", "same NUMA node", "same package"};
    struct sample_set set = {0};
    while (samples_next(drawing->samples, BENCHMARK_PINGPONG, level, &set)) {
        const struct sample *sample = &drawing->samples->samples[set.first];
        if (sample->domain == DOMAIN_NONE || sample->bytes == 0)
            continue;
        chart_series(&drawing->charts, &points_on_line, "%s", shared[sample->domain]);
        chart_point(&drawing->charts, (double)sample->bytes, set_seconds(drawing->samples, set, STATISTIC_MEDIAN));
    }
}

/* Draws what a node sends to other nodes (B eq. 2). */
static void draw_injection(struct drawing *drawing, enum level level)
{
    const struct machine_parameter *limit =
        machine_row(drawing->machine, level, PROTOCOL_COUNT, "injection", MACHINE_NO_N);
    struct charts *charts = &drawing->charts;
    struct sample_set set = {0};
    while (samples_next(drawing->samples, BENCHMARK_INJECTION, level, &set)) {
        const struct sample *sample = &drawing->samples->samples[set.first];
        chart_series(charts, &points_on_line, "%.6g KiB", (double)sample->bytes / 1024);
        chart_point(charts, (double)sample->n,
                    (double)sample->n * (double)sample->bytes / set_seconds(drawing->samples, set, STATISTIC_MEDIAN));
    }
    struct chart_span n = chart_x_span(charts);
    if (limit == NULL || !(n.low <= n.high))
        return;
    chart_series(charts, &(struct chart_style){.colour = CHART_INK, .line = true, .dashed = true},
                 "limit in the table");
    chart_point(charts, 0, limit->value);
    chart_point(charts, n.high, limit->value);
}

/* Draws times of n messages whose receives are posted in the order of arrival or against it (B section 4.1). */
static void draw_queue(struct drawing *drawing, enum level level)
{
    static const struct {
        const char *name;
        bool hollow;
        int colour;
    } variants[VARIANT_COUNT] = {[VARIANT_POSTED_INORDER] = {"posted, in order", true, CHART_BLUE},
                                 [VARIANT_POSTED_REVERSED] = {"posted, reversed", false, CHART_BLUE},
                                 [VARIANT_UNEXPECTED_INORDER] = {"unexpected, in order", true, CHART_RED},
                                 [VARIANT_UNEXPECTED_REVERSED] = {"unexpected, reversed", false, CHART_RED}};
    struct sample_set set = {0};
    while (samples_next(drawing->samples, BENCHMARK_QUEUE, level, &set)) {
        const struct sample *sample = &drawing->samples->samples[set.first];
        struct chart_style style = {.colour = variants[sample->variant].colour,
                                    .points = true,
                                    .hollow = variants[sample->variant].hollow,
                                    .line = true};
        if (variants[sample->variant].name == NULL)
            continue;
        chart_series(&drawing->charts, &style, "%s", variants[sample->variant].name);
        chart_point(&drawing->charts, (double)sample->n, set_seconds(drawing->samples, set, STATISTIC_MEDIAN));
        style.line = false;
        style.pale = true;
        chart_series(&drawing->charts, &style, "%s", variants[sample->variant].name);
        set_points(drawing, &set, (double)sample->n);
    }
}

/* Draws the table's cost of a step through a queue, c(n). */
static void draw_steps(struct drawing *drawing, enum level level)
{
    (void)level;
    for (size_t i = 0; i < drawing->machine->n_parameters; i++) {
        const struct machine_parameter *row = &drawing->machine->parameters[i];
        bool unexpected = strcmp(row->quantity, "queue_step_unexpected") == 0;
        if (row->n == MACHINE_NO_N || (!unexpected && strcmp(row->quantity, "queue_step") != 0))
            continue;
        chart_series(&drawing->charts, &points_on_line, "c(n), %s", unexpected ? "unexpected" : "posted");
        chart_interval(&drawing->charts, (double)row->n, row->value, row->ci_low, row->ci_high);
    }
}

/* Draws the contention of a shared link for each number of messages, of pairs of nodes together and of each alone, and
 * delta l, the table's cost of contention (B eq. 5, Figs. 7 and 9). */
static void draw_contention(struct drawing *drawing, enum level level)
{
    const struct machine_parameter *delta = machine_row(drawing->machine, level, PROTOCOL_COUNT, "delta", MACHINE_NO_N);
    struct charts *charts = &drawing->charts;
    struct sample_set set = {0};
    while (samples_next(drawing->samples, BENCHMARK_CONTENTION, level, &set)) {
        const struct sample *sample = &drawing->samples->samples[set.first];
        bool alone = sample->variant == VARIANT_ALONE;
        const struct chart_style style = {.points = true, .hollow = alone, .quiet = alone};
        if (!alone && sample->variant != VARIANT_SHARED)
            continue;
        chart_series(charts, &style, "messages a process: %u", sample->count);
        chart_point(charts, (double)sample->n * sample->count * (double)sample->bytes,
                    set_seconds(drawing->samples, set, STATISTIC_MEDIAN));
    }
    struct chart_span bytes = chart_x_span(charts);
    if (delta == NULL || !(bytes.low <= bytes.high))
        return;
    chart_series(charts, &(struct chart_style){.colour = CHART_INK, .line = true}, "delta l, delta = %.4g s/B",
                 delta->value);
    chart_point(charts, bytes.low, delta->value * bytes.low);
    chart_point(charts, bytes.high, delta->value * bytes.high);
}

/* Draws sizes that came through while the receiver did nothing, above the line of a level and benchmark, and sizes that
 * did not, below it: crossed sends without a receive (the rendezvous threshold), and a send to a paused receiver (the
 * bytes that the transport takes). */
static void draw_outcomes(struct drawing *drawing, enum level level, enum benchmark benchmark, const char *quantity)
{
    struct charts *charts = &drawing->charts;
    struct sample_set set = {0};
    double row = 0;
    bool any = false;
    while (samples_next(drawing->samples, benchmark, level, &set)) {
        const struct sample *sample = &drawing->samples->samples[set.first];
        bool taken = sample->variant == VARIANT_TAKEN;
        if (sample->bytes == 0 || (!taken && sample->variant != VARIANT_REFUSED))
            continue;
        if (!any)
            row = chart_row(charts, "%s, %s", level_text(level), benchmark_name[benchmark]);
        any = true;
        chart_series(charts, &(struct chart_style){.colour = taken ? CHART_BLUE : CHART_RED, .points = true},
                     taken ? "taken" : "refused");
        chart_point(charts, (double)sample->bytes, row + (taken ? 0.18 : -0.18));
    }
    const struct machine_parameter *value =
        machine_row(drawing->machine, level, benchmark == BENCHMARK_EAGER ? PROTOCOL_RENDEZVOUS : PROTOCOL_COUNT,
                    quantity, MACHINE_NO_N);
    if (!any || value == NULL)
        return;
    chart_series(charts, &(struct chart_style){.colour = CHART_INK, .shape = 4, .points = true}, "in the table");
    chart_point(charts, value->value, row);
    chart_series(charts, &(struct chart_style){.colour = CHART_INK, .line = true, .quiet = true}, "in the table");
    chart_point(charts, value->ci_low, row);
    chart_point(charts, value->ci_high, row);
    chart_gap(charts);
}

static void draw_all_outcomes(struct drawing *drawing, enum level level)
{
    (void)level;
    for (int at = 0; at < LEVEL_COUNT; at++) {
        draw_outcomes(drawing, (enum level)at, BENCHMARK_BUFFER, "buffer");
        draw_outcomes(drawing, (enum level)at, BENCHMARK_EAGER, "threshold");
    }
}

#define SIZE                                                                                                           \
    {                                                                                                                  \
        "size of a message", "B", true                                                                                 \
    }
static const struct chart_kind {
    int level; /* EACH: a chart for each level, whose name comes before the title */
    struct chart_panel panel;
    void (*draw)(struct drawing *drawing, enum level level);
} kinds[] = {
#define EACH (-1)
    {EACH,
     {.title = "time over size",
      .caption = "n processes send at once. Large marks are medians, small ones samples, lines are the table's.",
      .x = SIZE,
      .y = {"time of a message", "s", true}},
     draw_times},
    {EACH,
     {.title = "medians against the table",
      .caption = "By which factor the medians are off the table's lines.",
      .x = SIZE,
      .y = {"median / line", "", true},
      .base = 1},
     draw_residuals},
    {EACH,
     {.title = "bandwidth of n processes, BW(n)",
      .caption = "The table's bandwidth with its intervals, and the max-rate model n BW(1), at most BW_max.",
      .x = {"processes at once, n", "", false},
      .y = {"all processes together", "B/s", false}},
     draw_bandwidth},
    {EACH,
     {.title = "ping-pong, by what a pair shares",
      .caption = "Medians of pairs of processes that are close to each other, and farther apart.",
      .x = SIZE,
      .y = {"time of a message, median", "s", true},
      .least_series = 2},
     draw_domains},
    {EACH,
     {.title = "search of the receive queues",
      .caption = "Receives are posted in the order of arrival or against it.",
      .x = {"messages, n", "", true},
      .y = {"time of n messages", "s", true}},
     draw_queue},
    {LEVEL_INTER_NODE,
     {.title = "inter_node: rate at which a node sends, n processes",
      .caption = "Medians by the size of a message.",
      .x = {"processes at once, n", "", false},
      .y = {"all processes of the node", "B/s", false}},
     draw_injection},
    {LEVEL_INTER_NODE,
     {.title = "Search of the receive queues: a step",
      .caption = "What the table says that one step through a queue of n messages costs.",
      .x = {"messages, n", "", true},
      .y = {"a step, c(n)", "s", false}},
     draw_steps},
    {LEVEL_INTER_NODE,
     {.title = "inter_node: a link shared by pairs of nodes",
      .caption = "Hollow marks are pairs that have the link alone.",
      .x = {"bytes across the link in one direction, l", "B", true},
      .y = {"time of all messages", "s", true}},
     draw_contention},
    {LEVEL_INTER_NODE,
     {.title = "Sizes taken or refused without the receiver",
      .caption = "Messages that came through while the receiver did nothing, and messages that did not.",
      .x = SIZE,
      .y = {"", "", false}},
     draw_all_outcomes},
};

static void draw_kind(struct drawing *drawing, const struct chart_kind *kind)
{
    char title[128];
    struct chart_panel panel = kind->panel;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (kind->level != EACH && kind->level != level)
            continue;
        snprintf(title, sizeof title, "%s: %s", level_text((enum level)level), kind->panel.title);
        panel.title = kind->level == EACH ? title : kind->panel.title;
        chart_panel(&drawing->charts, &panel);
        kind->draw(drawing, (enum level)level);
    }
}

/* Copies without what no machine gives (years for a message, powers of bytes): one such value would leave the others a
 * point on the axis. Messages to oneself count as a ping-pong at their level, so that they have a curve. */
static void believable_copy(const struct machine *machine, const struct samples *samples, struct machine *some_machine,
                            struct samples *some_samples)
{
    *some_machine = *machine;
    some_machine->parameters = NULL;
    some_machine->n_parameters = 0;
    *some_samples = (struct samples){0};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        bool believable = row->value <= 1e18 && (row->value >= 1e-18 || !(row->value > 0)) &&
                          (row->n == MACHINE_NO_N || row->n <= 1000000000);
        if (believable)
            machine_append(some_machine, row);
    }
    for (size_t i = 0; i < samples->n_samples; i++) {
        struct sample sample = samples->samples[i];
        bool believable =
            sample.seconds >= 1e-12 && sample.seconds <= 1e8 && sample.bytes <= 1ULL << 50 && sample.n <= 1000000000;
        if (sample.benchmark == BENCHMARK_SELF)
            sample.benchmark = BENCHMARK_PINGPONG;
        if (believable)
            samples_append(some_samples, &sample);
    }
    samples_sort(some_samples);
}

int plot_draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error)
{
    struct machine some_machine;
    struct samples some_samples;
    believable_copy(machine, samples, &some_machine, &some_samples);
    struct drawing drawing = {
        .machine = &some_machine, .samples = &some_samples, .curves = curves_make(&some_samples, STATISTIC_MEDIAN)};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        draw_kind(&drawing, &kinds[i]);
    int result = charts_write(&drawing.charts, machine->name, machine->source,
                              "nothing to draw: the table has no tau and bw of a level", path, error);
    curves_release(&drawing.curves);
    machine_release(&some_machine);
    samples_release(&some_samples);
    return result;
}
