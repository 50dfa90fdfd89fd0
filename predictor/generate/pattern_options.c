/* Turns the table of options into a request; what was not given follows from the rest. */
#include "predictor/generate/pattern_options.h"

#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/nearest.h"
#include "share/base/number.h"
#include "share/base/help_text.h"
#include "share/base/options.h"

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

int pattern_options_parse(int argc, char **argv, struct pattern_options *options)
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
