/* Runs `mpistair pattern`: makes a pattern, or takes one, tells its statistics, and writes it. The table of options
 * becomes a request; what was not given follows from the rest. Statistics pass once over the messages into sums for
 * each rank, then once over the ranks. Both files are complete before either takes its name. Units of the statistics
 * are bytes; MB is 1e6. Papers are named as in share/doc/MODELS.md. */
#include "predictor/predict_commands.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "predictor/generate/pattern_make.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/pattern.h"
#include "predictor/replay/model_runs.h"
#include "share/base/error.h"
#include "share/base/terminal.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/nearest.h"
#include "share/base/number.h"
#include "share/base/options.h"
#include "share/base/output_file.h"

struct pattern_options {
    const struct pattern_kind *kind; /* kind to make, or NULL */
    const char *trace;               /* trace from which to take a round, or NULL */
    const char *pattern;             /* P.csv to read, or NULL */
    const char *placement;           /* L.csv that belongs to it */
    const char *output;              /* writes output.P.csv and output.L.csv; NULL: statistics alone */
    uint64_t round_kind;
    bool round_kind_given;
    bool json;
    struct pattern_request request;
};

/* Describes the ranks in one direction. */
struct pattern_side_statistics {
    uint64_t most_messages;
    uint64_t least_messages; /* 0 where a rank has none */
    uint64_t most_bytes;
    uint64_t least_bytes; /* least of the ranks that have any, as T prints it; 0: none has */
};

/* Counts messages of a rank with itself in level LEVEL_SELF and in the totals, not in the sides. */
struct pattern_statistics {
    size_t n_ranks;
    size_t n_nodes;
    uint64_t n_messages;
    uint64_t bytes;
    struct pattern_side_statistics received;
    struct pattern_side_statistics sent;
    uint64_t level_messages[LEVEL_COUNT];
    uint64_t level_bytes[LEVEL_COUNT];
};

enum {
    MAX_RANKS = 1 << 24,
    MAX_DEGREE = 1 << 24,
    MAX_LAYERS = 1000,
    MAX_CELLS = 1 << 28,
    MAX_FAR = 1 << 28,
    MAX_SPREAD = 10,
    CELLS_PER_RANK = 500, /* size of a mesh, where it is not told */
};
#define MAX_BYTES      (1ULL << 40)
#define MAX_CELL_BYTES (1ULL << 30)

static const char pattern_usage[] =
    "usage: mpistair pattern KIND --ranks N [--nodes N] [--sockets N] [--cores N] [OPTIONS] [-o NAME]\n"
    "       mpistair pattern --from TRACE.db --kind K [--json] [-o NAME]\n"
    "       mpistair pattern --pattern P.csv --placement L.csv [--json]\n"
    "\n"
    "Generates a pattern of messages and a placement, extracts them from a trace, or reads them. Prints their "
    "statistics,\n"
    "and writes NAME.P.csv and NAME.L.csv.\n";

static void list_kinds(void)
{
    help_text_line("\nkinds:");
    for (const struct pattern_kind *kind = pattern_kinds; kind->name != NULL; kind++)
        help_text_line("  %-10s  %s", kind->name, kind->summary);
}

/* Reads a whole number of an option. Returns EXIT_WRONG_USAGE after saying what was expected. */
static int parse_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    uint64_t number = 0;
    if (number_u64(text, &number) != NULL || number < least || number > most)
        return wrong_usage("pattern", "%s %.40s: expected a whole number, %llu to %llu", option, text,
                           (unsigned long long)least, (unsigned long long)most);
    *value = number;
    return 0;
}

/* Reads S or MIN:MAX. */
static int take_bytes(void *context, const char *text)
{
    struct pattern_request *request = context;
    char least[32] = "";
    size_t length = strcspn(text, ":");
    if (length < sizeof least)
        memcpy(least, text, length);
    int result = parse_number("--bytes", least, 0, MAX_BYTES, &request->least_bytes);
    request->most_bytes = request->least_bytes;
    if (result == 0 && text[length] == ':')
        result =
            parse_number("--bytes MIN:MAX", text + length + 1, request->least_bytes, MAX_BYTES, &request->most_bytes);
    return result;
}

/* Fills in what follows from the rest. */
static int complete_places(struct pattern_request *request)
{
    uint64_t ranks = request->n_ranks, sockets = request->n_sockets > 0 ? request->n_sockets : 1;
    uint64_t nodes = request->n_nodes, cores = request->n_cores;
    if (ranks == 0 && cores == 0)
        return wrong_usage("pattern", "expected --ranks N or --cores N");
    if (nodes == 0)
        nodes = ranks > 0 && cores > 0 ? (ranks + sockets * cores - 1) / (sockets * cores) : 1;
    if (cores == 0)
        cores = (ranks + nodes * sockets - 1) / (nodes * sockets);
    if (ranks == 0)
        ranks = nodes * sockets * cores;
    if (ranks > nodes * sockets * cores || ranks > MAX_RANKS)
        return wrong_usage("pattern",
                           "%llu ranks on %llu nodes of %llu sockets of %llu cores: expected at most one rank per "
                           "core, and at most %d",
                           (unsigned long long)ranks, (unsigned long long)nodes, (unsigned long long)sockets,
                           (unsigned long long)cores, MAX_RANKS);
    request->n_ranks = ranks;
    request->n_nodes = (uint32_t)nodes;
    request->n_sockets = (uint32_t)sockets;
    request->n_cores = (uint32_t)cores;
    return 0;
}

static int complete_request(const struct pattern_kind *kind, bool bytes_given, struct pattern_request *request)
{
    if (complete_places(request) != 0)
        return EXIT_WRONG_USAGE;
    if (bytes_given && kind->make == pattern_make_mesh)
        return wrong_usage("pattern", "--bytes does not apply to a mesh: use --cell-bytes");
    if (bytes_given && kind->most_bytes == 0 && request->least_bytes != request->most_bytes)
        return wrong_usage("pattern", "--bytes MIN:MAX does not apply to %s: expected one size", kind->name);
    if (!bytes_given) {
        request->least_bytes = kind->least_bytes;
        request->most_bytes = kind->most_bytes > 0 ? kind->most_bytes : kind->least_bytes;
    }
    if (request->n_cells == 0)
        request->n_cells =
            request->n_ranks * CELLS_PER_RANK < MAX_CELLS ? request->n_ranks * CELLS_PER_RANK : MAX_CELLS;
    if (request->far_bytes == UINT64_MAX)
        request->far_bytes = request->cell_bytes;
    return 0;
}

static int check_pattern_options(int n_words, char **words, bool bytes_given, struct pattern_options *options)
{
    int sources = (n_words > 0) + (options->trace != NULL) + (options->pattern != NULL);
    if (n_words > 1)
        return wrong_usage("pattern", "'%.40s' after '%.40s': expected one kind", words[1], words[0]);
    if (sources != 1)
        return wrong_usage("pattern", "expected one of: a kind of pattern, --from TRACE.db, --pattern P.csv");
    if ((options->pattern == NULL) != (options->placement == NULL))
        return wrong_usage("pattern", "expected --pattern and --placement together");
    if (options->pattern != NULL && options->output != NULL)
        return wrong_usage("pattern", "--output does not apply to --pattern");
    if (options->round_kind_given && options->trace == NULL)
        return wrong_usage("pattern", "--kind requires --from TRACE.db");
    if (n_words == 0)
        return 0;
    struct nearest nearest = nearest_to(words[0]);
    for (const struct pattern_kind *kind = pattern_kinds; kind->name != NULL; kind++) {
        nearest_add(&nearest, kind->name);
        if (strcmp(kind->name, words[0]) == 0)
            options->kind = kind;
    }
    if (options->kind == NULL)
        return wrong_usage("pattern", "no kind '%.40s'%s", words[0], nearest_hint(&nearest));
    return complete_request(options->kind, bytes_given, &options->request);
}

/* Reads the arguments. Returns OPTIONS_READ, or the exit code after --help or the reason was printed. */
static int parse_pattern_options(int argc, char **argv, struct pattern_options *options)
{
    struct pattern_request *request = &options->request;
    *options = (struct pattern_options){
        .request = {.seed = 1, .degree = 4, .layers = 1, .cell_bytes = 300, .far_bytes = UINT64_MAX}};
    bool bytes = false, making = false; /* options that were given */
    int order = ORDER_BLOCK;
    uint64_t n_ranks = 0;
    const struct option_row rows[] = {
        {'o', "output", "NAME", "write NAME.P.csv and NAME.L.csv; default: print only the statistics",
         .text = &options->output},
        {0, "json", NULL, "print the statistics as JSON", .flag = &options->json},
        {0, "ranks", "N", "number of ranks; default: one per core", .whole = &n_ranks, .least = 1, .most = MAX_RANKS,
         .given = &making},
        {0, "nodes", "N", NULL, .u32 = &request->n_nodes, .least = 1, .most = MAX_RANKS, .given = &making},
        {0, "sockets", "N", NULL, .u32 = &request->n_sockets, .least = 1, .most = 1024, .given = &making},
        {0, "cores", "N",
         "numbers of nodes, of sockets per node, of cores per socket; default: 1, 1, as many as the ranks need",
         .u32 = &request->n_cores, .least = 1, .most = 65536, .given = &making},
        {0, "map", "block|socket|node",
         "consecutive ranks fill a socket (default), or alternate over the sockets of a node, or over the nodes",
         .choice = &order, .given = &making},
        {0, "seed", "N", "seed of random choices; default: 1", .whole = &request->seed, .most = UINT32_MAX,
         .given = &making},
        {0, "bytes", "S|MIN:MAX", "size of the messages; neighbours: bytes that a rank receives", .take = take_bytes,
         .given = &bytes},
        {0, "degree", "N", "irregular: maximum number of messages that a rank sends; default: 4",
         .u32 = &request->degree, .least = 1, .most = MAX_DEGREE, .given = &making},
        {0, "cells", "N", "mesh: approximate number of cells; default: 500 per rank", .whole = &request->n_cells,
         .least = 1, .most = MAX_CELLS, .given = &making},
        {0, "layers", "N", "mesh: depth of the halo in cells; default: 1", .u32 = &request->layers, .least = 1,
         .most = MAX_LAYERS, .given = &making},
        {0, "cell-bytes", "B", "mesh: bytes sent per cell; default: 300", .whole = &request->cell_bytes,
         .most = MAX_CELL_BYTES, .given = &making},
        {0, "far", "N", "mesh: number of pairs of cells anywhere that are connected, as by faults; default: 0",
         .whole = &request->n_far, .most = MAX_FAR, .given = &making},
        {0, "far-bytes", "B", "mesh: bytes sent each way for such a pair; default: those of --cell-bytes",
         .whole = &request->far_bytes, .most = MAX_CELL_BYTES, .given = &making},
        {0, "spread", "S", "mesh: variation of the permeability; a larger one scatters the parts; default: 0",
         .real = &request->spread, .most = MAX_SPREAD, .given = &making},
        {0, "from", "TRACE.db", NULL, .text = &options->trace},
        {0, "kind", "K", "extract the first round of kind K, with places", .whole = &options->round_kind,
         .most = INT64_MAX, .given = &options->round_kind_given},
        {'p', "pattern", "P.csv", NULL, .text = &options->pattern},
        {'l', "placement", "L.csv", "", .text = &options->placement},
    };
    const struct option_table table = {"pattern",
                                       pattern_usage,
                                       rows,
                                       sizeof rows / sizeof rows[0],
                                       .list = list_kinds,
                                       .context = request,
                                       .words = {WORDS_PATTERN, WORDS_NONE}};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    request->n_ranks = n_ranks;
    request->order = (enum placement_order)order;
    if ((making || bytes) && argc < 1)
        return wrong_usage("pattern", "expected a kind of pattern for the options that generate one");
    code = check_pattern_options(argc, argv, bytes, options);
    return code == 0 ? OPTIONS_READ : code;
}

/* Messages of a rank in one direction. */
struct rank_sum {
    uint64_t messages, bytes;
};

static struct pattern_side_statistics side(const struct rank_sum *sums, size_t n_ranks)
{
    struct pattern_side_statistics s = {.least_messages = n_ranks > 0 ? UINT64_MAX : 0};
    for (size_t rank = 0; rank < n_ranks; rank++) {
        uint64_t messages = sums[rank].messages, bytes = sums[rank].bytes;
        s.most_messages = messages > s.most_messages ? messages : s.most_messages;
        s.least_messages = messages < s.least_messages ? messages : s.least_messages;
        s.most_bytes = bytes > s.most_bytes ? bytes : s.most_bytes;
        if (bytes > 0 && (s.least_bytes == 0 || bytes < s.least_bytes))
            s.least_bytes = bytes;
    }
    return s;
}

/* Adds the messages to the sums of all levels, and to those of their ranks: in[n_ranks], out[n_ranks]. */
static int add_messages(const struct pattern *pattern, const struct placement *placement,
                        struct pattern_statistics *statistics, struct rank_sum *in, struct rank_sum *out,
                        struct error *error)
{
    for (size_t i = 0; i < pattern->n_messages; i++) {
        uint32_t src = pattern->src[i], dst = pattern->dst[i];
        uint64_t bytes = pattern_bytes(pattern, i);
        enum level level = placement_level(placement, src, dst);
        if (__builtin_add_overflow(statistics->bytes, bytes, &statistics->bytes))
            return error_set(error, "the pattern's bytes are more than 64 bits hold");
        statistics->level_messages[level]++;
        statistics->level_bytes[level] += bytes;
        if (level == LEVEL_SELF)
            continue;
        out[src].messages++;
        out[src].bytes += bytes;
        in[dst].messages++;
        in[dst].bytes += bytes;
    }
    return 0;
}

/* Computes the rows of T Tables II to IV. Returns 0, or -1 where the bytes are more than 64 bits hold. */
static int compute_statistics(const struct pattern *pattern, const struct placement *placement,
                              struct pattern_statistics *statistics, struct error *error)
{
    size_t n_ranks = placement->n_ranks;
    struct rank_sum *in = xcalloc(n_ranks, sizeof *in), *out = xcalloc(n_ranks, sizeof *out);
    struct grouping nodes;
    grouping_init(&nodes, placement, GROUP_BY_NODE);
    *statistics =
        (struct pattern_statistics){.n_ranks = n_ranks, .n_nodes = nodes.n_groups, .n_messages = pattern->n_messages};
    int result = add_messages(pattern, placement, statistics, in, out, error);
    statistics->received = side(in, n_ranks);
    statistics->sent = side(out, n_ranks);
    grouping_release(&nodes);
    FREE_ALL(in, out);
    return result;
}

/* Writes name.P.csv and name.L.csv, each replaced only when it is complete. Returns 0, or -1 with the reason. */
static int write_pattern(const char *name, const struct pattern *pattern, const struct placement *placement,
                         struct error *error)
{
    static const char *const suffixes[] = {".P.csv", ".L.csv"};
    struct output_file files[2];
    if (strlen(name) + sizeof ".P.csv" > PATH_MAX)
        return error_set(error, "--output: a name of %d bytes or more", PATH_MAX);
    if (output_files_open(files, name, suffixes, 2, error) != 0)
        return -1;
    fputs("src,dst,bytes\n", files[0].stream);
    for (size_t i = 0; i < pattern->n_messages; i++)
        fprintf(files[0].stream, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 "\n", pattern->src[i], pattern->dst[i],
                pattern_bytes(pattern, i));
    placement_write_csv(files[1].stream, placement);
    return output_files_end(files, 2, 0, error);
}

static void show_side(FILE *stream, const char *name, const struct pattern_side_statistics *side)
{
    fprintf(stream, "  %-14s  %12" PRIu64 "  %12" PRIu64 "  %14" PRIu64 "  %14" PRIu64 "\n", name, side->most_messages,
            side->least_messages, side->most_bytes, side->least_bytes);
}

static void show_pattern_text(FILE *stream, const struct pattern_statistics *s)
{
    fprintf(stream, "ranks     %zu on %zu node%s\n", s->n_ranks, s->n_nodes, s->n_nodes == 1 ? "" : "s");
    fprintf(stream, "messages  %" PRIu64 "\n", s->n_messages);
    fprintf(stream, "volume    %.6f MB\n\n", (double)s->bytes * 1e-6);
    fprintf(stream, "  %-14s  %12s  %12s  %14s  %14s\n", "of a rank", "most messages", "least", "most bytes",
            "least above 0");
    show_side(stream, "received", &s->received);
    show_side(stream, "sent", &s->sent);
    fprintf(stream, "\n  %-14s  %12s  %14s  %s\n", "level", "messages", "bytes", "share of the volume");
    for (int level = 0; level < LEVEL_COUNT; level++)
        fprintf(stream, "  %-14s  %12" PRIu64 "  %14" PRIu64 "  %5.1f %%\n", level_name[level],
                s->level_messages[level], s->level_bytes[level],
                s->bytes > 0 ? 100 * (double)s->level_bytes[level] / (double)s->bytes : 0);
}

static struct json *side_json(const struct pattern_side_statistics *side)
{
    return json_pack("{sI sI so so}", "most_messages", (int64_t)side->most_messages, "least_messages",
                     (int64_t)side->least_messages, "most_bytes", json_count(side->most_bytes), "least_bytes",
                     json_count(side->least_bytes));
}

static struct json *statistics_json(const struct pattern_statistics *s)
{
    struct json *levels = json_object();
    for (int level = 0; level < LEVEL_COUNT; level++)
        json_set(levels, level_name[level],
                 json_pack("{sI so}", "messages", (int64_t)s->level_messages[level], "bytes",
                           json_count(s->level_bytes[level])));
    return json_pack("{sI sI sI so so so so}", "ranks", (int64_t)s->n_ranks, "nodes", (int64_t)s->n_nodes, "messages",
                     (int64_t)s->n_messages, "bytes", json_count(s->bytes), "received", side_json(&s->received), "sent",
                     side_json(&s->sent), "levels", levels);
}

static int take_round(const struct pattern_options *options, struct pattern *pattern, struct placement *placement,
                      struct error *error)
{
    sqlite3 *database = NULL;
    if (database_open(options->trace, false, &database, error) != 0)
        return -1;
    int result = round_take(database, options->trace, options->round_kind_given, (int64_t)options->round_kind, pattern,
                            placement, error);
    sqlite3_close(database);
    return result;
}

/* Fills an empty pattern and placement, which the caller releases. */
static int obtain(const struct pattern_options *options, struct pattern *pattern, struct placement *placement,
                  struct error *error)
{
    if (options->trace != NULL)
        return take_round(options, pattern, placement, error);
    if (options->pattern != NULL)
        return placement_read_csv(options->placement, placement, error) != 0
                   ? -1
                   : pattern_read_csv(options->pattern, placement->n_ranks, pattern, error);
    placement_make(&options->request, placement);
    return options->kind->make(&options->request, placement, pattern, error) != 0 ? -1 : pattern_check(pattern, error);
}

int cmd_pattern(int argc, char **argv)
{
    struct pattern_options options;
    struct pattern pattern = {0};
    struct placement placement = {0};
    struct pattern_statistics statistics;
    struct error error = {.text = ""};
    int result = parse_pattern_options(argc, argv, &options);
    if (result != OPTIONS_READ)
        return result;
    result = obtain(&options, &pattern, &placement, &error);
    if (result == 0)
        result = compute_statistics(&pattern, &placement, &statistics, &error);
    if (result == 0 && options.output != NULL)
        result = write_pattern(options.output, &pattern, &placement, &error);
    if (result == 0 && options.json)
        result = json_write(stdout, statistics_json(&statistics), &error);
    else if (result == 0)
        show_pattern_text(stdout, &statistics);
    pattern_release(&pattern);
    placement_release(&placement);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
