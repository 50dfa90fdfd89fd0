/* Predicts fine-grained messages over draws of the threads' arrivals: a row an interface and a number of parts. One
 * draw of arrivals says little: the rows are medians over many, and the interval says how far single iterations may
 * be from them. All rows see the same draws. A reader of text asks whether it pays and with how many parts; programs
 * ask for rows. */
#include "predictor/tables/table_question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "share/base/error.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "share/base/statistics.h"
#include "share/base/text_table.h"

/* Are what `mpistair finegrain` measures without options. */
#define DEFAULT_COMPUTE_S 4.194304e-3
enum { DEFAULT_PEERS = 6, DEFAULT_DRAWS = 1000, MOST_DRAWS = 100000, MOST_THREADS = 4096, MOST_PEERS = 1000000 };
enum { MOST_S = 86400 }; /* of computation: more is a slip of the unit */

void finegrain_option_rows(struct finegrain_options *options, struct option_row rows[FINEGRAIN_ROWS])
{
    *options = (struct finegrain_options){.peers = DEFAULT_PEERS,
                                          .ppn = 1,
                                          .draws = DEFAULT_DRAWS,
                                          .compute_s = DEFAULT_COMPUTE_S,
                                          .level_text = "inter_node",
                                          .arrivals_text = "laggard:4",
                                          .interface_text = "p2p,rma,partitioned"};
    bool *own = &options->own, *shared = &options->shared;
    const struct option_row all[FINEGRAIN_ROWS] = {
        {.help = "Whether sending parts of a buffer as threads finish pays off, in place of a trace or a pattern:"},
        {0, "finegrain", NULL, "predict this; requires --machine, --bytes and --threads", .flag = &options->asked},
        {0, "level", "LEVEL", "level of the peers: intra_socket, inter_socket or inter_node (default)",
         .text = &options->level_text, .given = shared, .words = WORDS_NONE},
        {0, "peers", "N", "number of peers that a rank sends to; default: 6", .u32 = &options->peers, .least = 1,
         .most = MOST_PEERS, .given = own},
        {0, "bytes", "BYTES", "bytes to each peer; with --gpu the total of all messages of a GPU",
         .whole = &options->bytes, .least = 1, .most = 1ull << 50, .given = shared},
        {0, "threads", "N", "number of threads that fill each buffer", .u32 = &options->threads, .least = 1,
         .most = MOST_THREADS, .given = own},
        {0, "parts", "K[,K]", "numbers of parts of a buffer; default: all divisors of --threads",
         .text = &options->parts_text, .given = own, .words = WORDS_NONE},
        {0, "compute-s", "S", "computation time of a thread, seconds; default: 4.194304e-3",
         .real = &options->compute_s, .most = MOST_S, .given = own},
        {0, "arrivals", "A",
         "when threads finish: laggard:PERCENT (default: 4), normal:SD, kde:FILE, fixed:FILE or trace:TRACE.db",
         .text = &options->arrivals_text, .given = own, .words = WORDS_NONE},
        {0, "width", "S", "kernel width of kde:FILE, seconds; default: Silverman's", .real = &options->width_s,
         .most = MOST_S, .given = own},
        {0, "interface", "I[,I]", "p2p, rma, partitioned, persistent; default: the first three",
         .text = &options->interface_text, .given = own, .words = WORDS_NONE},
        {0, "ppn", "N", "number of ranks of a node or socket that share the bandwidth of the level; default: 1",
         .u32 = &options->ppn, .least = 1, .most = MOST_PEERS, .given = shared},
        {0, "draws", "N", "number of draws of arrivals, by --seed; default: 1000 (and seed 1)",
         .whole = &options->draws, .least = 1, .most = MOST_DRAWS, .given = own},
    };
    memcpy(rows, all, sizeof all);
}

static int check_part(const struct finegrain_options *options, uint64_t parts)
{
    if (options->threads % parts != 0)
        return wrong_usage("predict", "--parts %llu: expected a divisor of --threads %u", (unsigned long long)parts,
                           options->threads);
    if (parts > options->bytes)
        return wrong_usage("predict", "--parts %llu, --bytes %llu: expected at least one byte per part",
                           (unsigned long long)parts, (unsigned long long)options->bytes);
    return 0;
}

static int take_parts(struct finegrain_options *options)
{
    char word[24];
    for (const char *at = options->parts_text; word_next(&at, word, sizeof word);) {
        uint64_t parts = 0;
        if (number_u64(word, &parts) != NULL || parts == 0)
            return wrong_usage("predict", "--parts %.40s: expected whole numbers from 1 on, separated by commas",
                               options->parts_text);
        int result = check_part(options, parts);
        if (result != 0)
            return result;
        if (options->n_parts == FINEGRAIN_MOST_PARTS)
            return wrong_usage("predict", "--parts: expected at most %d numbers", FINEGRAIN_MOST_PARTS);
        options->parts[options->n_parts++] = (uint32_t)parts;
    }
    qsort(options->parts, options->n_parts, sizeof *options->parts, compare_u32);
    size_t kept = 1;
    for (size_t i = 1; i < options->n_parts; i++)
        if (options->parts[i] != options->parts[kept - 1])
            options->parts[kept++] = options->parts[i];
    options->n_parts = kept;
    return 0;
}

/* Takes all numbers that divide the threads; no number up to MOST_THREADS has more than 40 divisors. */
static void take_divisors(struct finegrain_options *options)
{
    for (uint32_t parts = 1; parts <= options->threads && parts <= options->bytes; parts++)
        if (options->threads % parts == 0)
            options->parts[options->n_parts++] = parts;
}

static int take_interfaces(struct finegrain_options *options)
{
    char word[24];
    for (const char *at = options->interface_text; word_next(&at, word, sizeof word);) {
        int found = place_in_names(word, finegrain_interface_name, FINEGRAIN_INTERFACE_COUNT);
        if (found < 0)
            return wrong_usage("predict", "--interface %.40s: expected p2p, rma, partitioned or persistent", word);
        options->interface_asked[found] = true;
    }
    return 0;
}

static int take_arrivals(struct finegrain_options *options)
{
    struct error error;
    if (arrivals_parse(options->arrivals_text, &options->arrivals, &error) != 0)
        return wrong_usage("predict", "--arrivals: %s", error.text);
    if (options->width_s > 0 && options->arrivals.kind != ARRIVAL_KDE)
        return wrong_usage("predict", "--width requires --arrivals kde:FILE");
    options->arrivals.width_s = options->width_s;
    return 0;
}

int finegrain_take_level(struct finegrain_options *options)
{
    if (level_parse(options->level_text, &options->level) == 0 && options->level != LEVEL_SELF &&
        options->level != LEVEL_COUNT)
        return 0;
    return wrong_usage("predict", "--level %.40s: expected intra_socket, inter_socket or inter_node",
                       options->level_text);
}

int finegrain_options_check(struct finegrain_options *options)
{
    if (!options->asked)
        return !options->own ? 0
                             : wrong_usage("predict", "--peers, --threads, --parts, --compute-s, --arrivals, --width, "
                                                      "--interface and --draws require --finegrain");
    if (options->bytes == 0 || options->threads == 0)
        return wrong_usage("predict", "--finegrain requires --%s N", options->bytes == 0 ? "bytes" : "threads");
    int result = finegrain_take_level(options);
    if (result != 0)
        return result;
    result = options->parts_text != NULL ? take_parts(options) : (take_divisors(options), 0);
    if (result == 0)
        result = take_interfaces(options);
    return result == 0 ? take_arrivals(options) : result;
}

/* Times are medians over the draws; the speed-up is that of these medians. */
struct finegrain_row {
    enum finegrain_interface by;
    uint32_t parts;
    double bsp_s, fine_s, speedup_percent;
    double low_percent, high_percent; /* 2.5 and 97.5 % quantiles of single draws' speed-ups, wide enough to hold
                                       * speedup_percent */
    double bound_percent;             /* the most that any interface gains with so many parts */
    double limit_percent;             /* the most that any number of parts gains: the same for all rows */
};

struct finegrain_answer {
    const struct finegrain_options *options;
    const char *machine;        /* its name */
    struct finegrain_row *rows; /* [n_rows] by interface, then by parts */
    size_t n_rows;
    struct finegrain_notes notes;
};

/* A speed-up nearer to 0 than this is 0: sums of floating point numbers in another order differ by so much. */
#define NOTHING_PERCENT 1e-9

/* More parts must gain so many percentage points more to be better: what threads and locks cost beside what the table
 * knows is about as much, and grows with the parts. */
#define WORTH_PERCENT 0.5

enum sampled { SAMPLED_BSP, SAMPLED_FINE, SAMPLED_BOUND, SAMPLED_LAST, SAMPLED_SPEEDUP, SAMPLED_COUNT };

/* Holds what is asked for each draw. */
struct finegrain_draws {
    const struct finegrain_options *options;
    struct finegrain_problem *problems; /* [n_rows] */
    double *samples;                    /* [n_rows][SAMPLED_COUNT][draws] */
    double *arrivals_s, *scratch_s;     /* [threads] */
};

static double *samples_of(const struct finegrain_draws *job, size_t row, enum sampled sampled)
{
    return job->samples + (row * SAMPLED_COUNT + sampled) * job->options->draws;
}

static int prepare_problems(struct finegrain_draws *job, const struct machine *machine, struct finegrain_answer *rows,
                            struct error *error)
{
    const struct finegrain_options *options = job->options;
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++) {
        for (size_t i = 0; options->interface_asked[by] && i < options->n_parts; i++) {
            struct finegrain_problem *problem = &job->problems[rows->n_rows];
            *problem = (struct finegrain_problem){.peers = options->peers,
                                                  .bytes = options->bytes,
                                                  .threads = options->threads,
                                                  .parts = options->parts[i],
                                                  .arrivals_s = job->arrivals_s};
            if (finegrain_costs(machine, options->level, (enum finegrain_interface)by, options->ppn, problem,
                                &rows->notes, error) != 0)
                return -1;
            rows->rows[rows->n_rows++] =
                (struct finegrain_row){.by = (enum finegrain_interface)by, .parts = options->parts[i]};
        }
    }
    return 0;
}

static int draw(struct finegrain_draws *job, const struct arrivals *arrivals, uint64_t seed, size_t n_rows,
                struct error *error)
{
    const struct finegrain_options *options = job->options;
    for (uint64_t i = 0; i < options->draws; i++) {
        if (arrivals_draw(arrivals, seed, i, 0, options->threads, job->arrivals_s) != 0)
            return error_set(error, "no arrivals of %u threads", options->threads);
        for (size_t row = 0; row < n_rows; row++) {
            struct finegrain_times times;
            finegrain_predict(&job->problems[row], job->scratch_s, &times);
            samples_of(job, row, SAMPLED_BSP)[i] = times.bsp_s;
            samples_of(job, row, SAMPLED_FINE)[i] = times.fine_s;
            samples_of(job, row, SAMPLED_BOUND)[i] = times.bound_s;
            samples_of(job, row, SAMPLED_LAST)[i] = times.last_s;
            samples_of(job, row, SAMPLED_SPEEDUP)[i] = finegrain_speedup_percent(times.bsp_s, times.fine_s);
        }
    }
    return 0;
}

static void summarize(const struct finegrain_draws *job, size_t i, struct finegrain_row *row)
{
    size_t n = job->options->draws;
    double median[SAMPLED_COUNT];
    for (int sampled = 0; sampled < SAMPLED_COUNT; sampled++) {
        double *samples = samples_of(job, i, (enum sampled)sampled);
        sort_doubles(samples, n);
        median[sampled] = sorted_median(samples, n);
    }
    const double *speedups = samples_of(job, i, SAMPLED_SPEEDUP);
    row->bsp_s = median[SAMPLED_BSP];
    row->fine_s = median[SAMPLED_FINE];
    row->speedup_percent = finegrain_speedup_percent(row->bsp_s, row->fine_s);
    row->low_percent = fmin(row->speedup_percent, sorted_quantile(speedups, n, 0.025));
    row->high_percent = fmax(row->speedup_percent, sorted_quantile(speedups, n, 0.975));
    row->bound_percent = finegrain_speedup_percent(row->bsp_s, median[SAMPLED_BOUND]);
    row->limit_percent = finegrain_speedup_percent(row->bsp_s, median[SAMPLED_LAST]);
}

/* Predicts all that the options ask for; a draw i is iteration i of rank 0. Returns 0, or -1 with the reason: the table
 * lacks the level, or the arrivals are of fewer threads. */
static int finegrain_rows_make(const struct machine *machine, const struct arrivals *arrivals, uint64_t seed,
                               struct finegrain_answer *rows, struct error *error)
{
    const struct finegrain_options *options = rows->options;
    size_t most_rows = FINEGRAIN_INTERFACE_COUNT * options->n_parts;
    rows->rows = xcalloc(most_rows, sizeof *rows->rows);
    struct finegrain_draws job = {.options = options,
                                  .problems = xcalloc(most_rows, sizeof *job.problems),
                                  .samples = xcalloc(most_rows * SAMPLED_COUNT, options->draws * sizeof *job.samples),
                                  .arrivals_s = xcalloc(options->threads, sizeof *job.arrivals_s),
                                  .scratch_s = xcalloc(options->threads, sizeof *job.scratch_s)};
    int result = prepare_problems(&job, machine, rows, error);
    if (result == 0)
        result = draw(&job, arrivals, seed, rows->n_rows, error);
    for (size_t i = 0; result == 0 && i < rows->n_rows; i++)
        summarize(&job, i, &rows->rows[i]);
    FREE_ALL(job.problems, job.samples, job.arrivals_s, job.scratch_s);
    return result;
}

/* Returns the row of the interface with the fewest parts whose speed-up is within half a percentage point of the
 * largest, and above 0 where that is; NULL where the interface has none. */
static const struct finegrain_row *finegrain_rows_best(const struct finegrain_answer *rows, enum finegrain_interface by)
{
    double most_percent = -INFINITY;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->rows[i].by == by)
            most_percent = fmax(most_percent, rows->rows[i].speedup_percent);
    double least_percent = most_percent - WORTH_PERCENT;
    if (most_percent > NOTHING_PERCENT)
        least_percent = fmax(least_percent, NOTHING_PERCENT); /* what gains nothing is not the best of what gains */
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->rows[i].by == by && rows->rows[i].speedup_percent >= least_percent)
            return &rows->rows[i];
    return NULL;
}

/* Returns the parts from which on every row of the interface is slower than whole buffers; 0 where the last is not. */
static uint32_t finegrain_rows_loses_from(const struct finegrain_answer *rows, enum finegrain_interface by)
{
    uint32_t from = 0;
    for (size_t i = rows->n_rows; i-- > 0;) {
        if (rows->rows[i].by != by)
            continue;
        if (rows->rows[i].speedup_percent >= -NOTHING_PERCENT)
            break;
        from = rows->rows[i].parts;
    }
    return from;
}

static void finegrain_text_rows(FILE *stream, const struct finegrain_answer *rows)
{
    struct text_table *table = text_table_of("<interface|parts|whole, us|in parts, us|speed-up, %|low|high|bound");
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct finegrain_row *row = &rows->rows[i];
        text_table_text(table, finegrain_interface_name[row->by]);
        text_table_cell(table, "%u", row->parts);
        const double values[] = {row->bsp_s * 1e6, row->fine_s * 1e6, row->speedup_percent,
                                 row->low_percent, row->high_percent, row->bound_percent};
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
            text_table_cell(table, "%.3f", values[k]);
    }
    text_table_end(table, stream);
}

/* Says of an interface what to do. */
static void text_advice(FILE *stream, const struct finegrain_answer *rows, enum finegrain_interface by)
{
    const struct finegrain_row *best = finegrain_rows_best(rows, by);
    uint32_t loses_from = finegrain_rows_loses_from(rows, by);
    if (best == NULL)
        return;
    if (best->speedup_percent > 0)
        fprintf(stream, "%s: best with %u parts, %.2f %%", finegrain_interface_name[by], best->parts,
                best->speedup_percent);
    else
        fprintf(stream, "%s: no number of parts gains anything", finegrain_interface_name[by]);
    if (loses_from > 0)
        fprintf(stream, "; it loses from %u parts on\n", loses_from);
    else
        fputs("; with none of these it loses\n", stream);
}

/* Prints text, behind the rows for each interface the best number of parts and that from which it loses. */
static void finegrain_show_text(FILE *stream, const struct finegrain_answer *rows)
{
    const struct finegrain_options *options = rows->options;
    fprintf(stream, "machine %s: to %u peers at %s, %llu B to each, by %u threads that compute %g ms, arrivals %s\n",
            rows->machine, options->peers, level_text(options->level), (unsigned long long)options->bytes,
            options->threads, options->compute_s * 1e3, options->arrivals_text);
    finegrain_text_rows(stream, rows);
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++)
        text_advice(stream, rows, (enum finegrain_interface)by);
    fprintf(stream,
            "bound: no interface gains more with so many parts, and with any number none gains more than %.2f %%\n",
            rows->n_rows > 0 ? rows->rows[0].limit_percent : 0);
}

static struct json *finegrain_row_object(const struct finegrain_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "interface", finegrain_interface_name[row->by],
                     "parts", json_count(row->parts), "bsp_s", json_finite(row->bsp_s), "fine_s",
                     json_finite(row->fine_s), "speedup_percent", json_finite(row->speedup_percent), "low_percent",
                     json_finite(row->low_percent), "high_percent", json_finite(row->high_percent), "bound_percent",
                     json_finite(row->bound_percent));
}

/* Prints an object: limit_percent, rows with the keys of CSV, and interfaces with best_parts and loses_from_parts. */
static int finegrain_show_json(FILE *stream, const struct finegrain_answer *rows, struct error *error)
{
    struct json *lines = json_array(), *interfaces = json_array();
    for (size_t i = 0; i < rows->n_rows; i++)
        json_add(lines, finegrain_row_object(&rows->rows[i]));
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++) {
        const struct finegrain_row *best = finegrain_rows_best(rows, (enum finegrain_interface)by);
        uint32_t loses_from = finegrain_rows_loses_from(rows, (enum finegrain_interface)by);
        if (best != NULL)
            json_add(interfaces,
                     json_pack("{s:s, s:o, s:o, s:o}", "interface", finegrain_interface_name[by], "best_parts",
                               json_count(best->parts), "best_speedup_percent", json_finite(best->speedup_percent),
                               "loses_from_parts", loses_from > 0 ? json_count(loses_from) : json_null()));
    }
    double limit = rows->n_rows > 0 ? rows->rows[0].limit_percent : 0;
    return json_write(
        stream,
        json_pack("{s:o, s:o, s:o}", "limit_percent", json_finite(limit), "interfaces", interfaces, "rows", lines),
        error);
}

/* Says for which messages tau had to do. */
static void note_taus(const struct finegrain_notes *notes, const char *level, const char *name)
{
    char list[96] = "";
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++) {
        const char *quantity = finegrain_quantity((enum finegrain_interface)by);
        if (!notes->tau_missing[by] || strstr(list, quantity) != NULL)
            continue;
        strcat(list, list[0] != '\0' ? ", " : "");
        strcat(list, quantity);
    }
    if (list[0] != '\0')
        inform("note: the table of '%s' lacks %s at %s; tau was taken", name, list, level);
}

/* Says on stderr which rows the table lacks, and what was taken in their place. */
static void show_notes(const struct finegrain_answer *rows)
{
    const struct finegrain_notes *notes = &rows->notes;
    const char *level = level_text(rows->options->level), *name = rows->machine;
    note_taus(notes, level, name);
    if (notes->tau_thread_missing)
        inform("note: the table of '%s' lacks tau_thread; threads cost each other nothing", name);
    if (notes->queue_missing)
        inform("note: the table of '%s' lacks queue_step and gamma; the search of queues costs nothing", name);
    if (notes->is_late)
        inform("note: the MPI of the table of '%s' moves partitions only when the last one is ready", name);
    if (notes->extrapolated)
        inform("note: the table of '%s' has no bw of %u at %s; that of the nearest n was taken", name,
               rows->options->ppn, level);
}

static int print_finegrain(FILE *stream, enum output_format format, const void *answer, struct error *error)
{
    const struct finegrain_answer *rows = answer;
    if (format == FORMAT_JSON)
        return finegrain_show_json(stream, rows, error);
    if (format == FORMAT_TEXT)
        finegrain_show_text(stream, rows);
    struct json_rows lines = {.stream = stream, .csv = true};
    for (size_t i = 0; format == FORMAT_CSV && i < rows->n_rows; i++)
        json_rows_add(&lines, finegrain_row_object(&rows->rows[i]));
    return 0;
}

int finegrain_answer(const struct table_question *question, const struct machine *machine, struct error *error)
{
    const struct finegrain_options *options = &question->options->finegrain;
    struct finegrain_answer rows = {.options = options, .machine = machine->name};
    struct arrivals *arrivals = NULL;
    int result;
    if (arrivals_trace_open(&options->arrivals, options->compute_s, &arrivals, error) != 0 ||
        arrivals_check(arrivals, 1, options->threads, error) != 0) {
        result = wrong_usage("predict", "--arrivals: %s", error->text);
    } else {
        result = finegrain_rows_make(machine, arrivals, question->seed, &rows, error);
        if (result == 0) {
            show_notes(&rows);
            result = table_print(question, print_finegrain, &rows, error);
        }
        free(rows.rows);
    }
    arrivals_close(arrivals);
    return result;
}
