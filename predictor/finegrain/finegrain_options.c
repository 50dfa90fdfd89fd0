/* Reads the options that belong together only with --finegrain; every mistake is printed here, once, with what was
 * expected. */
#include "predictor/finegrain/finegrain_options.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/number.h"
#include "share/base/statistics.h"

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

/* Copies the word up to the next comma. Returns what stands behind it, NULL behind the last; a word that is too long
 * is cut. */
static const char *next_word(const char *list, char *word, size_t size)
{
    size_t length = strcspn(list, ",");
    size_t kept = length < size ? length : size - 1;
    memcpy(word, list, kept);
    word[kept] = '\0';
    return list[length] == ',' ? list + length + 1 : NULL;
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
    for (const char *at = options->parts_text; at != NULL;) {
        uint64_t parts = 0;
        at = next_word(at, word, sizeof word);
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
    for (const char *at = options->interface_text; at != NULL;) {
        enum finegrain_interface found;
        at = next_word(at, word, sizeof word);
        if (finegrain_interface_parse(word, &found) != 0)
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
