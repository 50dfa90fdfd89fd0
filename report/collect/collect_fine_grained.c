/* Collects what sending the buffers of recorded rounds in parts would have given. It goes through the rounds of the
 * trace once: the model takes each rank's round by itself, and sums are kept by kind and number of threads. Ranks and
 * rounds are many, ways of sending few, so that what a way costs is kept. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "predictor/tables/finegrain.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/order.h"

const uint32_t report_parts[REPORT_FINE_PARTS] = {2, 4, 8};
const char *const report_fine_by_name[FINE_BY_COUNT] = {"p2p", "rma", "partitioned", "at most"};

const struct fields report_fine_kind_fields =
    FIELDS(report_fine_kind, FIELD(report_fine_kind, kind), FIELD(report_fine_kind, threads),
           FIELD(report_fine_kind, times), FIELD(report_fine_kind, peers), FIELD(report_fine_kind, bytes),
           FIELD(report_fine_kind, late_s), FIELD(report_fine_kind, whole_s), FIELD(report_fine_kind, limit_share));

enum { FINE_INTERFACES = FINE_BY_BOUND };
static const enum finegrain_interface fine_interfaces[FINE_INTERFACES] = {FINEGRAIN_P2P, FINEGRAIN_RMA,
                                                                          FINEGRAIN_PARTITIONED};

/* Costs of ranks that send alike; threads and arrivals of the problems are not set. */
struct fine_shape {
    uint32_t peers, ppn;
    uint64_t bytes; /* to each peer */
    enum level level;
    bool known;
    struct finegrain_problem whole, parts[FINE_INTERFACES][REPORT_FINE_PARTS];
};

enum { FINE_SHAPES = 64 };

/* Sums of a kind and number of threads. */
struct sums {
    struct report_fine_kind row;
    double last_s;
    double whole_s[FINE_BY_COUNT][REPORT_FINE_PARTS], fine_s[FINE_BY_COUNT][REPORT_FINE_PARTS];
};

struct collecting_grained {
    struct report *report;
    struct machine machine;
    struct finegrain_notes notes;
    uint32_t *of_node, *of_socket; /* [n_ranks] ranks on the rank's node, and on its socket */
    size_t n_ranks;
    struct fine_shape shapes[FINE_SHAPES];
    struct map kinds;   /* by id: those of the trace */
    struct map sums_of; /* by (kind, threads) */
    struct sums *sums;
    size_t n_sums;
    double *arrivals_s, *scratch_s;
    size_t capacity; /* of both */
};

/* Reads which ranks share nodes and sockets. */
static void read_grained_places(struct collecting_grained *collecting)
{
    struct cursor rows;
    size_t capacity = 0, socket_capacity = 0;
    report_query(
        collecting->report, &rows,
        "SELECT rank, count(*) OVER (PARTITION BY node), count(*) OVER (PARTITION BY node, socket) FROM process"
        " WHERE node IS NOT NULL ORDER BY rank");
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0);
        if (rank < (int64_t)collecting->n_ranks || rank > INT32_MAX)
            continue;
        collecting->n_ranks = (size_t)rank + 1;
        array_reserve_zeroed(&collecting->of_node, &capacity, collecting->n_ranks, sizeof *collecting->of_node);
        array_reserve_zeroed(&collecting->of_socket, &socket_capacity, collecting->n_ranks,
                             sizeof *collecting->of_socket);
        collecting->of_node[rank] = (uint32_t)cursor_integer(&rows, 1);
        collecting->of_socket[rank] = (uint32_t)cursor_integer(&rows, 2);
    }
    report_query_end(collecting->report, &rows);
}

/* All ranks of a node, or of a socket, share the bandwidth of their level, as they mostly send at one time. */
static uint32_t ranks_that_share(const struct collecting_grained *collecting, const struct round_arrivals *round)
{
    uint32_t n = 0;
    if (round->rank < collecting->n_ranks)
        n = round->level == LEVEL_INTRA_SOCKET ? collecting->of_socket[round->rank] : collecting->of_node[round->rank];
    return n > 0 ? n : 1;
}

/* Returns what a rank's sends of a round cost, valid until the next call; NULL with the reason where the table lacks
 * the level. */
static const struct fine_shape *shape_of(struct collecting_grained *collecting, const struct round_arrivals *round,
                                         struct error *error)
{
    struct fine_shape asked = {.peers = round->peers,
                               .ppn = ranks_that_share(collecting, round),
                               .bytes = round->bytes / round->peers,
                               .level = round->level,
                               .known = true};
    struct fine_shape *kept = &collecting->shapes[(asked.bytes + 31 * asked.peers + 7 * asked.ppn) % FINE_SHAPES];
    if (kept->known && kept->peers == asked.peers && kept->ppn == asked.ppn && kept->bytes == asked.bytes &&
        kept->level == asked.level)
        return kept;
    asked.whole = (struct finegrain_problem){.peers = asked.peers, .bytes = asked.bytes, .parts = 1};
    if (finegrain_costs(&collecting->machine, asked.level, FINEGRAIN_P2P, asked.ppn, &asked.whole, &collecting->notes,
                        error) != 0)
        return NULL;
    for (size_t by = 0; by < FINE_INTERFACES; by++)
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++) {
            asked.parts[by][k] = asked.whole;
            asked.parts[by][k].parts = report_parts[k];
            if (finegrain_costs(&collecting->machine, asked.level, fine_interfaces[by], asked.ppn, &asked.parts[by][k],
                                &collecting->notes, error) != 0)
                return NULL;
        }
    *kept = asked;
    return kept;
}

static void read_grained_kinds(struct collecting_grained *collecting)
{
    struct cursor rows;
    report_query(collecting->report, &rows, "SELECT id FROM kind");
    while (cursor_next(&rows))
        *map_at(&collecting->kinds, (struct map_key){(uint64_t)cursor_integer(&rows, 0), 0, 0}) = 0;
    report_query_end(collecting->report, &rows);
}

/* Returns the sums of a round's kind and number of threads, new ones if there are none; NULL where the trace lacks the
 * kind. */
static struct sums *sums_of(struct collecting_grained *collecting, const struct round_arrivals *round)
{
    if (map_find(&collecting->kinds, (struct map_key){(uint64_t)round->kind, 0, 0}) == MAP_ABSENT)
        return NULL;
    uint32_t *at = map_at(&collecting->sums_of, (struct map_key){(uint64_t)round->kind, round->n_threads, 0});
    if (*at == MAP_ABSENT) {
        *at = (uint32_t)collecting->n_sums;
        ARRAY_ADD(collecting->sums, collecting->n_sums,
                  (struct sums){.row = {.kind = round->kind, .threads = (int64_t)round->n_threads}});
    }
    return &collecting->sums[*at];
}

/* Sets arrivals_s[n]. One thread has all parts ready at once, as so many threads would that are done at one time. */
static void set_arrivals(struct collecting_grained *collecting, const struct round_arrivals *round, size_t n)
{
    size_t capacity = collecting->capacity;
    array_reserve(&collecting->arrivals_s, &capacity, n, sizeof *collecting->arrivals_s);
    array_reserve(&collecting->scratch_s, &collecting->capacity, n, sizeof *collecting->scratch_s);
    for (size_t t = 0; t < n; t++)
        collecting->arrivals_s[t] = round->seconds[round->n_threads == 1 ? 0 : t];
}

/* Adds the model's times of a round by an interface with so many parts. */
static void grained_add_parts(struct collecting_grained *collecting, struct sums *sums, size_t by, size_t k,
                              struct finegrain_problem problem)
{
    struct finegrain_times times;
    if (problem.threads % problem.parts != 0 || problem.bytes < problem.parts)
        return;
    finegrain_predict(&problem, collecting->scratch_s, &times);
    sums->whole_s[by][k] += times.bsp_s;
    sums->fine_s[by][k] += times.fine_s;
    if (by != FINE_BY_P2P)
        return;
    sums->whole_s[FINE_BY_BOUND][k] += times.bsp_s;
    sums->fine_s[FINE_BY_BOUND][k] += times.bound_s;
}

static int add_round(void *context, const struct round_arrivals *round, struct error *error)
{
    struct collecting_grained *collecting = context;
    size_t n = round->n_threads == 1 ? report_parts[REPORT_FINE_PARTS - 1] : round->n_threads;
    if (round->level == LEVEL_COUNT || round->level == LEVEL_SELF || round->bytes == 0 || n > UINT32_MAX) {
        collecting->report->fine_grained.left_out++;
        return 0;
    }
    const struct fine_shape *shape = shape_of(collecting, round, error);
    if (shape == NULL)
        return -1;
    struct sums *sums = sums_of(collecting, round);
    if (sums == NULL)
        return error_set(error, "%s: a round is of kind %" PRId64 ", which the table kind does not have",
                         collecting->report->path, round->kind);
    set_arrivals(collecting, round, n);
    struct finegrain_problem whole = shape->whole;
    struct finegrain_times times;
    double first_s = INFINITY;
    for (size_t t = 0; t < n; t++)
        first_s = fmin(first_s, collecting->arrivals_s[t]);
    whole.threads = (uint32_t)n;
    whole.arrivals_s = collecting->arrivals_s;
    finegrain_predict(&whole, collecting->scratch_s, &times);
    sums->row.times++;
    sums->row.peers += round->peers;
    sums->row.bytes += (double)shape->bytes;
    sums->row.late_s += times.last_s - first_s;
    sums->row.whole_s += times.bsp_s;
    sums->last_s += times.last_s;
    for (size_t by = 0; by < FINE_INTERFACES; by++)
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++) {
            struct finegrain_problem problem = shape->parts[by][k];
            problem.threads = (uint32_t)n;
            problem.arrivals_s = collecting->arrivals_s;
            grained_add_parts(collecting, sums, by, k, problem);
        }
    return 0;
}

/* Turns sums into means and shares. */
static void finish_row(const struct finegrain_notes *notes, struct sums *sums)
{
    struct report_fine_kind *row = &sums->row;
    row->peers /= (double)row->times;
    row->bytes /= (double)row->times;
    row->late_s /= (double)row->times;
    row->limit_share = row->whole_s > 0 ? (row->whole_s - sums->last_s) / row->whole_s : NAN;
    for (size_t by = 0; by < FINE_BY_COUNT; by++)
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++) {
            /* The bound leaves out what parts cost, and so is no bound of one thread, which gains nothing. */
            bool known =
                by == FINE_BY_BOUND ? row->threads > 1 : by == FINE_BY_P2P || !notes->tau_missing[fine_interfaces[by]];
            double whole_s = sums->whole_s[by][k];
            row->saved[by][k] = known && whole_s > 0 ? (whole_s - sums->fine_s[by][k]) / whole_s : NAN;
        }
}

static int compare_sums(const void *first, const void *second)
{
    const struct report_fine_kind *a = &((const struct sums *)first)->row, *b = &((const struct sums *)second)->row;
    return ORDER(b->whole_s, a->whole_s) ?: ORDER(a->kind, b->kind) ?: ORDER(a->threads, b->threads);
}

static void collect_grained_rounds(struct collecting_grained *collecting)
{
    struct report *report = collecting->report;
    struct report_fine_grained *fine = &report->fine_grained;
    struct arrivals_left_out left_out = {0};
    struct error reason;
    read_grained_kinds(collecting);
    read_grained_places(collecting);
    if (report->result != 0)
        return;
    if (arrivals_trace_each(report->database, report->path, add_round, collecting, &left_out, &reason) != 0) {
        fine->unknown = pool_clean(&report->pool, reason.text, strlen(reason.text));
        return;
    }
    if (collecting->n_sums > 0)
        qsort(collecting->sums, collecting->n_sums, sizeof *collecting->sums, compare_sums);
    for (size_t i = 0; i < collecting->n_sums; i++) {
        finish_row(&collecting->notes, &collecting->sums[i]);
        if (i < REPORT_FINE_KINDS)
            fine->rows[fine->n++] = collecting->sums[i].row;
        fine->one_thread = fine->one_thread || collecting->sums[i].row.threads == 1;
    }
    fine->all = collecting->n_sums;
    fine->tau_missing = collecting->notes.tau_missing[FINEGRAIN_P2P];
    fine->unseen = (int64_t)left_out.unseen;
    fine->left_out += (int64_t)(left_out.incomplete + left_out.too_long);
}

void report_collect_fine_grained(struct report *report, const struct report_choice *choice)
{
    struct collecting_grained *collecting = xcalloc(1, sizeof *collecting);
    collecting->report = report;
    struct report_fine_grained *fine = &report->fine_grained;
    if (report_load_machine(report, choice, &fine->machine, &fine->unknown, &collecting->machine))
        collect_grained_rounds(collecting);
    machine_release(&collecting->machine);
    free(collecting->of_node);
    free(collecting->of_socket);
    map_release(&collecting->kinds);
    map_release(&collecting->sums_of);
    free(collecting->sums);
    free(collecting->arrivals_s);
    free(collecting->scratch_s);
    free(collecting);
}
