/* algorithm2: executes a communication pattern as T Algorithm 2 (many_pair.c), as the paper does for its measurements:
 * ten times, the mean time of each rank apart.
 *
 *     algorithm2 [--repetitions N] [--exchanges N] [--traffic FILE] P.csv
 *
 * P.csv has the header `src,dst,bytes`. Prints CSV on stdout: header `rank,mean_s`, a row a rank: the time from its
 * first post to its last completion. All ranks begin a repetition at the same moment of a common clock, as barriers end
 * apart by more than what is measured, and no rank begins before all have ended the one before. On several hosts
 * finding that clock takes messages, which are counted too. Papers are named as in share/doc/MODELS.md. */
#include "tests/apps/app.h"
#include "calibrate/measure/shared_clock.h"
#include "tests/apps/many_pair.h"
#include "predictor/pattern/pattern.h"
#include "tests/apps/witness.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lies between the moment that all ranks are ready and their start: each must have heard of it by then. It grows where
 * one rank had not. */
#define LEAD_S     20e-3
#define LEAD_MAX_S 0.5

static const char usage[] = "usage: algorithm2 [--repetitions N] [--exchanges N] [--traffic FILE] P.csv";

struct options {
    int repetitions;
    int exchanges; /* how often the whole pattern is exchanged in a repetition, one directly after the other; its time
                    * is that of one */
    const char *traffic;
    const char *pattern;
};

static void parse(int argc, char **argv, struct options *options)
{
    static const struct option long_options[] = {{"repetitions", required_argument, NULL, 'r'},
                                                 {"exchanges", required_argument, NULL, 'e'},
                                                 {"traffic", required_argument, NULL, 'f'},
                                                 {NULL, 0, NULL, 0}};
    *options = (struct options){.repetitions = 10, .exchanges = 1};
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == 'r')
            options->repetitions = (int)app_integer("repetitions", optarg, 1, 1000000);
        else if (option == 'e')
            options->exchanges = (int)app_integer("exchanges", optarg, 1, 1000000);
        else if (option == 'f')
            options->traffic = optarg;
        else
            app_fail("%s", usage);
    }
    if (optind + 1 != argc)
        app_fail("expected one pattern; %s", usage);
    options->pattern = argv[optind];
}

/* Makes the messages of one direction: own[i] is this rank's side of message i, peer[i] the other. They share one
 * buffer, which the caller frees. */
static char *make_side(const struct pattern *pattern, const uint32_t *own, const uint32_t *peer,
                       struct many_pair_side *side)
{
    uint32_t rank = (uint32_t)app_rank();
    int n_messages = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (own[i] != rank)
            continue;
        if (pattern_bytes(pattern, i) > INT_MAX || n_messages == INT_MAX)
            app_fail("message %zu has %llu bytes; expected at most %d", i + 1,
                     (unsigned long long)pattern_bytes(pattern, i), INT_MAX);
        n_messages++;
        bytes += pattern_bytes(pattern, i);
    }
    many_pair_init(side, n_messages);
    char *buffer = app_allocate(bytes, 1);
    memset(buffer, 1, bytes); /* no page is touched for the first time in a measurement */
    struct many_pair_message *message = side->messages;
    char *at = buffer;
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (own[i] != rank)
            continue;
        *message++ = (struct many_pair_message){(int)peer[i], (int)pattern_bytes(pattern, i), at};
        at += pattern_bytes(pattern, i);
    }
    return buffer;
}

/* Numbers hosts by first appearance: host[size]. Collective; the caller frees. */
static int *number_hosts(void)
{
    size_t size = (size_t)app_size();
    char name[MPI_MAX_PROCESSOR_NAME] = {0};
    int length;
    MPI_Get_processor_name(name, &length);
    char(*names)[MPI_MAX_PROCESSOR_NAME] = app_allocate(size, sizeof(*names));
    MPI_Allgather(name, sizeof(name), MPI_CHAR, names, sizeof(name), MPI_CHAR, MPI_COMM_WORLD);
    int *host = app_allocate(size, sizeof(*host));
    int hosts = 0;
    for (size_t i = 0; i < size; i++) {
        size_t first = 0;
        while (memcmp(names[first], names[i], sizeof(name)) != 0)
            first++;
        host[i] = first < i ? host[first] : hosts++;
    }
    free(names);
    return host;
}

/* Returns what to add to this host's clock for rank 0's; counts the messages that finding it took. */
static double common_clock(struct traffic *traffic)
{
    int *host = number_hosts();
    int hosts = 1;
    for (int rank = 0; rank < app_size(); rank++) {
        if (host[rank] < hosts)
            continue;
        hosts++;
        for (int i = 0; i < CLOCK_ROUND_TRIPS; i++) {
            if (app_rank() == 0)
                traffic_sent(traffic, rank, sizeof(double));
            else if (app_rank() == rank)
                traffic_sent(traffic, 0, sizeof(double));
        }
    }
    double offset_s = clock_offset_s(MPI_COMM_WORLD, host);
    free(host);
    return offset_s;
}

/* Waits until all ranks are here, and starts them at one moment. Ranks are ready when the last message of the
 * repetition before has reached its receiver, so that nothing is left of it in the network. lead_s and late_s say, for
 * this rank, how far ahead starts are agreed upon and how late it was for the last one. */
static void start_together(double offset_s, double *lead_s, double *late_s)
{
    double latest[2] = {0, *late_s}; /* when the rank is ready, and its lateness */
    MPI_Barrier(MPI_COMM_WORLD);
    latest[0] = clock_now_s() + offset_s;
    MPI_Allreduce(MPI_IN_PLACE, latest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (latest[1] > 0)
        *lead_s = fmin(2 * *lead_s, LEAD_MAX_S);
    *late_s = clock_wait_until(latest[0] + *lead_s - offset_s);
}

/* Returns the seconds of one repetition on this rank. */
static double repeat(struct many_pair_side *send, struct many_pair_side *receive, int exchanges,
                     struct traffic *traffic)
{
    double begin_s = clock_now_s();
    for (int i = 0; i < exchanges; i++)
        many_pair_run(send, receive, MPI_CHAR, traffic);
    return (clock_now_s() - begin_s) / exchanges;
}

/* Says so if ranks started late in some repetitions: their partners waited for them. */
static void report_late(int late, int repetitions)
{
    MPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (late > 0 && app_rank() == 0)
        fprintf(stderr, "algorithm2: a rank started late in up to %d of %d repetitions\n", late, repetitions);
}

static void print_means(double mean_s)
{
    double *all_s = app_allocate((size_t)app_size(), sizeof(*all_s));
    MPI_Gather(&mean_s, 1, MPI_DOUBLE, all_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (app_rank() == 0) {
        puts("rank,mean_s");
        for (int rank = 0; rank < app_size(); rank++)
            printf("%d,%.9f\n", rank, all_s[rank]);
    }
    free(all_s);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct options options;
    parse(argc, argv, &options);
    struct pattern pattern = {0};
    struct error error;
    if (pattern_read_csv(options.pattern, (size_t)app_size(), &pattern, &error))
        app_fail("%s", error.text);
    struct traffic traffic;
    struct many_pair_side send, receive;
    witness_init(&traffic);
    char *out = make_side(&pattern, pattern.src, pattern.dst, &send);
    char *in = make_side(&pattern, pattern.dst, pattern.src, &receive);
    double offset_s = common_clock(&traffic);
    double sum_s = 0, lead_s = LEAD_S, late_s = 0;
    int late = 0;
    for (int i = 0; i < options.repetitions; i++) {
        start_together(offset_s, &lead_s, &late_s);
        late += late_s > 0;
        sum_s += repeat(&send, &receive, options.exchanges, &traffic);
    }
    report_late(late, options.repetitions);
    print_means(sum_s / options.repetitions);
    traffic_write(&traffic, options.traffic);
    many_pair_release(&send);
    many_pair_release(&receive);
    free(out);
    free(in);
    pattern_release(&pattern);
    witness_release(&traffic);
    MPI_Finalize();
    return 0;
}
