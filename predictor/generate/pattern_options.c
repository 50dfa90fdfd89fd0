/* Turns getopt_long's options into a request; what was not given follows from the rest. */
#include "predictor/generate/pattern_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/number.h"
#include "share/base/options.h"

enum {
    MAX_RANKS = 1 << 24,
    MAX_DEGREE = 1 << 24,
    MAX_LAYERS = 1000,
    MAX_CELLS = 1 << 28,
    MAX_FAR = 1 << 28,
    CELLS_PER_RANK = 500, /* of a mesh, where it is not told */
};
#define MAX_BYTES      (1ULL << 40)
#define MAX_CELL_BYTES (1ULL << 30)
#define MAX_SPREAD     10.0

static const char usage_text[] =
    "usage: mpistair pattern KIND --ranks N [--nodes N] [--sockets N] [--cores N] [OPTIONS] [-o NAME]\n"
    "       mpistair pattern --from TRACE.db --kind K [--json] [-o NAME]\n"
    "       mpistair pattern --pattern P.csv --placement L.csv [--json]\n"
    "\n"
    "Makes a communication pattern and a placement, takes them from a recorded round, or reads them; prints their\n"
    "statistics; writes NAME.P.csv and NAME.L.csv.\n"
    "\n"
    "  -o, --output NAME        without it: statistics alone\n"
    "      --json               of the statistics\n"
    "      --ranks N            default: every core\n"
    "      --nodes N, --sockets N, --cores N\n"
    "                           nodes, sockets of a node, cores of a socket; default 1, 1, as many as the ranks need\n"
    "      --map block|socket|node\n"
    "                           consecutive ranks fill a socket (default), take turns over the sockets of a node, or\n"
    "                           over the nodes\n"
    "      --seed N             of what is random, default 1; the same seed gives the same pattern\n"
    "      --bytes S|MIN:MAX    size of the messages, for neighbours of what a rank receives\n"
    "      --degree N           irregular: most messages that a rank sends, default 4\n"
    "      --cells N            mesh: about so many cells, default 500 a rank\n"
    "      --layers N           mesh: layers of foreign cells that a rank needs, default 1\n"
    "      --cell-bytes B       mesh: sent for a cell, default 300\n"
    "      --far N              mesh: pairs of cells anywhere that are joined, as by faults; default 0\n"
    "      --far-bytes B        mesh: sent each way for such a pair, default as --cell-bytes\n"
    "      --spread S           mesh: how much the permeability varies, default 0; more scatters the parts\n"
    "      --from TRACE.db, --kind K\n"
    "                           the first round of kind K of a trace, with its places and post times\n"
    "  -p, --pattern P.csv, -l, --placement L.csv\n"
    "  -h, --help\n"
    "\n"
    "kinds:\n";

void pattern_options_usage(void)
{
    fputs(usage_text, stdout);
    for (const struct pattern_kind *kind = pattern_kinds; kind->name != NULL; kind++)
        printf("  %-10s  %s\n", kind->name, kind->summary);
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

static int parse_u32(const char *option, const char *text, uint32_t most, uint32_t *value)
{
    uint64_t number = 0;
    int result = parse_number(option, text, 1, most, &number);
    if (result == 0)
        *value = (uint32_t)number;
    return result;
}

/* Reads S or MIN:MAX. */
static int parse_bytes(const char *text, struct pattern_request *request)
{
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

static int parse_spread(const char *text, double *spread)
{
    double value = 0;
    if (number_real(text, &value) != NULL || value < 0 || value > MAX_SPREAD)
        return wrong_usage("pattern", "--spread %.40s: expected a number, 0 to %g", text, MAX_SPREAD);
    *spread = value;
    return 0;
}

/* Fills in what follows from the rest. */
static int complete_places(struct pattern_request *request)
{
    uint64_t ranks = request->n_ranks, sockets = request->n_sockets > 0 ? request->n_sockets : 1;
    uint64_t nodes = request->n_nodes, cores = request->n_cores;
    if (ranks == 0 && cores == 0)
        return wrong_usage("pattern", "expected --ranks N, or --cores N of a socket");
    if (nodes == 0)
        nodes = ranks > 0 && cores > 0 ? (ranks + sockets * cores - 1) / (sockets * cores) : 1;
    if (cores == 0)
        cores = (ranks + nodes * sockets - 1) / (nodes * sockets);
    if (ranks == 0)
        ranks = nodes * sockets * cores;
    if (ranks > nodes * sockets * cores || ranks > MAX_RANKS)
        return wrong_usage(
            "pattern", "%llu ranks on %llu nodes of %llu sockets of %llu cores; expected at most one a core, and %d",
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
        return wrong_usage("pattern", "--bytes: the sizes of a mesh follow from --cell-bytes");
    if (bytes_given && kind->most_bytes == 0 && request->least_bytes != request->most_bytes)
        return wrong_usage("pattern", "--bytes: %s has one size", kind->name);
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

static int check(int n_words, char **words, bool bytes_given, struct pattern_options *options)
{
    int sources = (n_words > 0) + (options->trace != NULL) + (options->pattern != NULL);
    if (n_words > 1)
        return wrong_usage("pattern", "'%.40s' behind the kind '%.40s'; expected one kind", words[1], words[0]);
    if (sources != 1)
        return wrong_usage("pattern", "expected one of a kind of pattern, --from TRACE.db, --pattern P.csv");
    if ((options->pattern == NULL) != (options->placement == NULL))
        return wrong_usage("pattern", "expected --pattern and --placement together");
    if (options->pattern != NULL && options->output != NULL)
        return wrong_usage("pattern", "--output: a pattern that was read is not written");
    if (options->round_kind_given && options->trace == NULL)
        return wrong_usage("pattern", "--kind: expected --from TRACE.db beside it");
    if (n_words == 0)
        return 0;
    for (const struct pattern_kind *kind = pattern_kinds; kind->name != NULL; kind++)
        if (strcmp(kind->name, words[0]) == 0)
            options->kind = kind;
    if (options->kind == NULL)
        return wrong_usage("pattern", "no kind '%.40s'; 'mpistair pattern --help' lists them", words[0]);
    return complete_request(options->kind, bytes_given, &options->request);
}

enum {
    RANKS = 256,
    NODES,
    SOCKETS,
    CORES,
    MAP,
    SEED,
    BYTES,
    DEGREE,
    CELLS,
    LAYERS,
    CELL_BYTES,
    FAR,
    FAR_BYTES,
    SPREAD,
    FROM,
    KIND,
    JSON
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, JSON},
    {"ranks", required_argument, NULL, RANKS},
    {"nodes", required_argument, NULL, NODES},
    {"sockets", required_argument, NULL, SOCKETS},
    {"cores", required_argument, NULL, CORES},
    {"map", required_argument, NULL, MAP},
    {"seed", required_argument, NULL, SEED},
    {"bytes", required_argument, NULL, BYTES},
    {"degree", required_argument, NULL, DEGREE},
    {"cells", required_argument, NULL, CELLS},
    {"layers", required_argument, NULL, LAYERS},
    {"cell-bytes", required_argument, NULL, CELL_BYTES},
    {"far", required_argument, NULL, FAR},
    {"far-bytes", required_argument, NULL, FAR_BYTES},
    {"spread", required_argument, NULL, SPREAD},
    {"from", required_argument, NULL, FROM},
    {"kind", required_argument, NULL, KIND},
    {"pattern", required_argument, NULL, 'p'},
    {"placement", required_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int parse_map(const char *text, struct pattern_request *request)
{
    static const char *const orders[] = {"block", "socket", "node"};
    size_t word = option_choice("pattern", "--map", text, orders, 3);
    if (word == 3)
        return EXIT_WRONG_USAGE;
    request->order = (enum placement_order)word;
    return 0;
}

/* Reads an option of a made pattern; returns -1 if it is none. */
static int parse_request(int option, const char *text, struct pattern_request *request)
{
    uint64_t ranks = 0;
    int result = 0;
    switch (option) {
    case RANKS:
        result = parse_number("--ranks", text, 1, MAX_RANKS, &ranks);
        request->n_ranks = ranks;
        return result;
    case NODES:
        return parse_u32("--nodes", text, MAX_RANKS, &request->n_nodes);
    case SOCKETS:
        return parse_u32("--sockets", text, 1024, &request->n_sockets);
    case CORES:
        return parse_u32("--cores", text, 65536, &request->n_cores);
    case MAP:
        return parse_map(text, request);
    case SEED:
        return parse_number("--seed", text, 0, UINT32_MAX, &request->seed);
    case BYTES:
        return parse_bytes(text, request);
    case DEGREE:
        return parse_u32("--degree", text, MAX_DEGREE, &request->degree);
    case CELLS:
        return parse_number("--cells", text, 1, MAX_CELLS, &request->n_cells);
    case LAYERS:
        return parse_u32("--layers", text, MAX_LAYERS, &request->layers);
    case CELL_BYTES:
        return parse_number("--cell-bytes", text, 0, MAX_CELL_BYTES, &request->cell_bytes);
    case FAR:
        return parse_number("--far", text, 0, MAX_FAR, &request->n_far);
    case FAR_BYTES:
        return parse_number("--far-bytes", text, 0, MAX_CELL_BYTES, &request->far_bytes);
    case SPREAD:
        return parse_spread(text, &request->spread);
    default:
        return -1;
    }
}

int pattern_options_parse(int argc, char **argv, struct pattern_options *options)
{
    *options = (struct pattern_options){
        .request = {.seed = 1, .degree = 4, .layers = 1, .cell_bytes = 300, .far_bytes = UINT64_MAX}};
    bool bytes_given = false, request_given = false;
    int option, result = 0;
    optind = 0;
    opterr = 0;
    while (result == 0 && (option = getopt_long(argc, argv, ":o:p:l:h", long_options, NULL)) != -1) {
        bytes_given |= option == BYTES;
        request_given |= option >= RANKS && option < FROM;
        switch (option) {
        case 'o':
            options->output = optarg;
            break;
        case 'p':
            options->pattern = optarg;
            break;
        case 'l':
            options->placement = optarg;
            break;
        case FROM:
            options->trace = optarg;
            break;
        case KIND:
            result = parse_number("--kind", optarg, 0, INT64_MAX, &options->round_kind);
            options->round_kind_given = true;
            break;
        case JSON:
            options->json = true;
            break;
        case 'h':
            options->help = true;
            return 0;
        default:
            result = parse_request(option, optarg, &options->request);
            if (result == -1)
                return option_refused("pattern", option, argv);
        }
    }
    if (result != 0)
        return result;
    if (request_given && optind >= argc)
        return wrong_usage("pattern", "expected a kind of pattern: the options for making one have nothing to make");
    return check(argc - optind, argv + optind, bytes_given, options);
}
