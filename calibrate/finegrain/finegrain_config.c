/* The command, a line of a sweep and the program under the launcher ask for the same things: names, ranges and
 * defaults of options stand here once. */
#include "calibrate/finegrain/finegrain_config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define COMPUTE_MAX_S 3600
enum { THREADS_MAX = 4096, PEERS_MAX = 1024, ITERATIONS_MAX = 1000000 };

const char *const finegrain_interface_word[FINEGRAIN_INTERFACES] = {"p2p", "rma", "partitioned", "persistent"};
const char *const finegrain_rma_word[2] = {"fence", "passive"};

void finegrain_config_init(struct finegrain_config *config)
{
    *config = (struct finegrain_config){.peers = 6,
                                        .bytes = 1 << 20,
                                        .threads = 16,
                                        .parts = 4,
                                        .iterations = 200,
                                        .trials = 5,
                                        .seed = 1,
                                        .compute_s = 4.194304e-3,
                                        .arrivals = "laggard:4"};
}

size_t finegrain_config_rows(struct finegrain_config *config, struct option_row *rows)
{
    const struct option_row all[] = {
        {0, "peers", "P",
         "buffers a rank sends to its nearest ranks of a ring: 6 is a 7-point stencil, 26 a\n"
         "27-point one (6)",
         .whole = &config->peers, .least = 1, .most = PEERS_MAX},
        {0, "bytes", "S", "of each buffer, what a peer gets (1048576)", .whole = &config->bytes, .least = 1,
         .most = INT_MAX},
        {0, "threads", "T", "that fill a buffer, a user partition each (16)", .whole = &config->threads, .least = 1,
         .most = THREADS_MAX},
        {0, "parts", "K", "in which a buffer is sent; divides --threads (4)", .whole = &config->parts, .least = 1,
         .most = THREADS_MAX},
        {0, "interface", "p2p|rma|partitioned|persistent", "how parts are sent (p2p)", .choice = &config->interface},
        {0, "rma", "fence|passive", "epoch of --interface rma (fence)", .choice = &config->rma,
         .given = &config->rma_given},
        {0, "compute", "S",
         "seconds that a thread computes, that is sleeps (4.194304e-3); the paper prints\n"
         "2^22 ns as \"67.1 ms\", and 2^22 ns alone fits its 52.97 %",
         .real = &config->compute_s, .most = COMPUTE_MAX_S},
        {0, "arrivals", "A",
         "when threads are done: laggard:PERCENT, normal:SD, kde:FILE, fixed:FILE,\n"
         "trace:TRACE.db (laggard:4)",
         .text = &config->arrivals},
        {0, "width", "S", "of the kernel of kde:FILE, in seconds (Silverman's)", .real = &config->width_s,
         .most = COMPUTE_MAX_S, .given = &config->width_given},
        {0, "iterations", "N", "of a trial, each way (200)", .whole = &config->iterations, .least = 1,
         .most = ITERATIONS_MAX},
        {0, "trials", "N", "each with its own random order (5)", .whole = &config->trials, .least = 1,
         .most = ITERATIONS_MAX},
        {0, "seed", "N", "of arrivals and order (1)", .whole = &config->seed},
        {0, "fold", NULL, "with fewer ranks than peers + 1, several buffers go to the same rank",
         .flag = &config->fold},
        {0, "clear-cache", NULL, "write over the caches before each iteration", .flag = &config->clears_cache},
        {0, "verify", NULL, "compare the content of every part in every iteration", .flag = &config->verify},
    };
    _Static_assert(sizeof all / sizeof all[0] <= FINEGRAIN_ROWS, "place for all rows");
    memcpy(rows, all, sizeof all);
    return sizeof all / sizeof all[0];
}

int finegrain_config_check(const struct finegrain_config *config, struct error *error)
{
    unsigned long long peers = config->peers, bytes = config->bytes, threads = config->threads, parts = config->parts;
    if (peers % 2 != 0)
        return error_set(error, "--peers %llu: expected an even number, half of them in either direction of the ring",
                         peers);
    if (parts > threads || threads % parts != 0)
        return error_set(error, "--parts %llu: expected a divisor of --threads %llu", parts, threads);
    if (bytes < parts)
        return error_set(error, "--bytes %llu: expected at least a byte for each of --parts %llu", bytes, parts);
    if (config->interface == FINEGRAIN_PARTITIONED && bytes % parts != 0)
        return error_set(error,
                         "--bytes %llu: expected a multiple of --parts %llu, since MPI's partitions are of one size",
                         bytes, parts);
    if (config->rma_given && config->interface != FINEGRAIN_RMA)
        return error_set(error, "--rma %s: only with --interface rma", finegrain_rma_word[config->rma]);
    if (config->width_given && strncmp(config->arrivals, "kde:", 4) != 0)
        return error_set(error, "--width: only with --arrivals kde:FILE");
    if (config->width_given && !(config->width_s > 0))
        return error_set(error, "--width 0: expected seconds above 0");
    return 0;
}

void finegrain_config_words(const struct finegrain_config *config, const char *arrivals, struct finegrain_words *words)
{
    struct finegrain_config copy = *config;
    struct option_row rows[FINEGRAIN_ROWS];
    size_t n_rows = finegrain_config_rows(&copy, rows), n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const struct option_row *row = &rows[i];
        bool is_rma = row->choice == &copy.rma;
        if (row->text != NULL || (row->flag != NULL && !*row->flag) || (is_rma && config->interface != FINEGRAIN_RMA) ||
            (row->real == &copy.width_s && !config->width_given))
            continue;
        char *option = words->text[n], *value = words->text[n + 1];
        snprintf(option, FINEGRAIN_WORD_SIZE, "--%s", row->name);
        words->words[n++] = option;
        if (row->whole != NULL)
            snprintf(value, FINEGRAIN_WORD_SIZE, "%llu", (unsigned long long)*row->whole);
        else if (row->real != NULL)
            snprintf(value, FINEGRAIN_WORD_SIZE, "%.17g", *row->real);
        else if (row->choice != NULL)
            snprintf(value, FINEGRAIN_WORD_SIZE, "%s",
                     is_rma ? finegrain_rma_word[config->rma] : finegrain_interface_word[config->interface]);
        if (row->flag == NULL)
            words->words[n++] = value;
    }
    words->words[n++] = "--arrivals";
    words->words[n++] = (char *)arrivals;
    words->words[n] = NULL;
}
