/* Computes what messages between GPUs would take on other ways. The messages of a kind and level are judged together:
 * how many ranks of a node send at once decides what the model says of each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/tables/gpu_paths.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

#define ON_GPU(side) "(f." side "_memory GLOB 'device*' OR f." side "_memory GLOB 'managed*')"
#define MESSAGES     " FROM message_row m JOIN form f ON f.id = m.form JOIN round r ON r.id = m.round_id"
#define BETWEEN_GPUS " WHERE " ON_GPU("send") " AND " ON_GPU("recv") " AND f.level BETWEEN 1 AND 3 AND m.bytes > 0"

/* Messages of one size that a rank sends in rounds of a kind. */
struct gpu_row {
    int64_t kind, rounds, level, rank, node, of_node, bytes, messages; /* of_node: ranks there */
};
static const struct fields gpu_row_fields =
    FIELDS(gpu_row, FIELD(gpu_row, kind), FIELD(gpu_row, rounds), FIELD(gpu_row, level), FIELD(gpu_row, rank),
           FIELD(gpu_row, node), FIELD(gpu_row, of_node), FIELD(gpu_row, bytes), FIELD(gpu_row, messages));

struct collecting_gpu {
    struct report *report;
    struct machine machine;
    struct report_gpu_kind *kinds;
    size_t n_kinds;
};

static const enum level levels[] = {[1] = LEVEL_INTRA_SOCKET, [2] = LEVEL_INTER_SOCKET, [3] = LEVEL_INTER_NODE};

/* Takes a rank, whose messages are these of n sizes, into the kind where it is the slowest so far on a path. gpus:
 * ranks of its node that send. */
static void add_sender(struct collecting_gpu *collecting, const struct gpu_row *sender,
                       const struct gpu_messages *messages, size_t n, uint32_t gpus, struct report_gpu_kind *kind)
{
    uint32_t each = (sender->of_node > 0 && sender->of_node < INT32_MAX ? (uint32_t)sender->of_node : 1) / gpus;
    struct gpu_problem problem = {.level = kind->level, .gpus = gpus, .ppn = gpus * (each > 0 ? each : 1)};
    struct gpu_costs costs;
    gpu_costs_find(&collecting->machine, &problem, &costs);
    double path_s[GPU_PATH_COUNT], all = 0, bytes = 0;
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        path_s[path] = gpu_messages_s(&costs, &problem, messages, n, (enum gpu_path)path);
        if (isnan(path_s[path]) && kind->reason[path] == NULL) {
            const char *reason = costs.reason[path].text;
            kind->reason[path] = pool_clean(&collecting->report->pool, reason, strlen(reason));
        }
        if (kind->reason[path] == NULL)
            kind->path_s[path] = fmax(kind->path_s[path], path_s[path]); /* takes the other one where one is NaN */
    }
    for (size_t i = 0; i < n; i++) {
        all += messages[i].messages;
        bytes += messages[i].messages * (double)messages[i].bytes;
    }
    bool decides = kind->gpus == 0 || path_s[GPU_DIRECT] == kind->path_s[GPU_DIRECT];
    if (isnan(path_s[GPU_DIRECT]) ? bytes > kind->bytes : decides) {
        kind->gpus = gpus;
        kind->ppn = problem.ppn;
        kind->messages = all;
        kind->bytes = bytes;
    }
}

/* Makes a kind's row of all of its messages at a level. */
static void add_kind(struct collecting_gpu *collecting, const struct gpu_row *rows, const struct gpu_messages *messages,
                     size_t n)
{
    struct report_gpu_kind kind = {.kind = rows->kind,
                                   .rounds = rows->rounds > 0 ? rows->rounds : 1,
                                   .level = levels[rows->level],
                                   .function = "",
                                   .file = "",
                                   .caller = ""};
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        kind.path_s[path] = NAN;
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t gpus = 0;
        for (end = i + 1; end < n && rows[end].rank == rows[i].rank;)
            end++;
        for (size_t k = 0; k < n; k++)
            gpus += rows[k].node == rows[i].node && (k == 0 || rows[k - 1].rank != rows[k].rank);
        add_sender(collecting, &rows[i], messages + i, end - i, gpus, &kind);
    }
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (kind.reason[path] != NULL)
            kind.path_s[path] = NAN;
    ARRAY_ADD(collecting->kinds, collecting->n_kinds, kind);
}

static void read_gpu_kinds(struct collecting_gpu *collecting)
{
    struct gpu_row *rows = NULL;
    size_t n = 0;
    report_read_rows(collecting->report,
                     "SELECT r.kind_id, k.rounds, f.level, m.src, p.node,"
                     " (SELECT count(*) FROM process q WHERE q.node = p.node), m.bytes, count(*)" MESSAGES
                     " JOIN kind k ON k.id = r.kind_id LEFT JOIN process p ON p.rank = m.src" BETWEEN_GPUS
                     " GROUP BY r.kind_id, f.level, m.src, m.bytes ORDER BY r.kind_id, f.level, m.src, m.bytes",
                     &gpu_row_fields, &rows, &n);
    struct gpu_messages *messages = xcalloc(n, sizeof *messages);
    for (size_t i = 0; i < n; i++) {
        collecting->report->gpu.messages += rows[i].messages;
        messages[i] = (struct gpu_messages){.messages = (double)rows[i].messages /
                                                        (double)(rows[i].rounds > 0 ? rows[i].rounds : 1),
                                            .bytes = (uint64_t)rows[i].bytes};
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && rows[end].kind == rows[i].kind && rows[end].level == rows[i].level;)
            end++;
        add_kind(collecting, rows + i, messages + i, end - i);
    }
    free(messages);
    free(rows);
}

/* Returns what the fastest path saves in all rounds, in s; 0 where the MPI alone is it, or its time is not known. */
static double saved_s(const struct report_gpu_kind *kind)
{
    enum gpu_path best = report_gpu_fastest(kind);
    if (best == GPU_PATH_COUNT || isnan(kind->path_s[GPU_DIRECT]))
        return 0;
    return (kind->path_s[GPU_DIRECT] - kind->path_s[best]) * (double)kind->rounds;
}

static double fastest_s(const struct report_gpu_kind *kind)
{
    enum gpu_path best = report_gpu_fastest(kind);
    return best == GPU_PATH_COUNT ? 0 : kind->path_s[best] * (double)kind->rounds;
}

static int compare_gpu_kinds(const void *first, const void *second)
{
    const struct report_gpu_kind *a = first, *b = second;
    return ORDER(saved_s(b), saved_s(a)) ?: ORDER(fastest_s(b), fastest_s(a)) ?: ORDER(a->kind, b->kind)
                                         ?: ORDER(a->level, b->level);
}

/* Finds the call site that sends most of a kind's bytes. */
static void read_site(struct report *report, struct report_gpu_kind *kind)
{
    struct cursor rows;
    int64_t level = kind->level == LEVEL_INTRA_SOCKET ? 1 : kind->level == LEVEL_INTER_SOCKET ? 2 : 3;
    report_query(report, &rows,
                 "SELECT n.name, c.file, c.line, c.name" MESSAGES " JOIN function n ON n.id = f.send_function"
                 " LEFT JOIN site c ON c.id = f.send_callsite" BETWEEN_GPUS " AND r.kind_id = ?1 AND f.level = ?2"
                 " GROUP BY f.send_function, f.send_callsite ORDER BY sum(1.0 * m.bytes) DESC, 1, 2, 3 LIMIT 1");
    cursor_bind(&rows, "ii", kind->kind, level);
    if (cursor_next(&rows)) {
        kind->function = cursor_text(&rows, 0, &report->pool);
        kind->file = cursor_text(&rows, 1, &report->pool);
        kind->line = cursor_integer(&rows, 2);
        kind->caller = cursor_text(&rows, 3, &report->pool);
    }
    report_query_end(report, &rows);
}

/* Returns the number that a query gives, 0 without rows. */
static int64_t ask(struct report *report, const char *sql)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    int64_t number = cursor_next(&rows) ? cursor_integer(&rows, 0) : 0;
    report_query_end(report, &rows);
    return number;
}

void report_collect_gpu(struct report *report, const struct report_choice *choice)
{
    struct collecting_gpu collecting = {.report = report};
    report->gpu.machine = "";
    if (ask(report, "SELECT EXISTS (SELECT 1 FROM form f WHERE " ON_GPU("send") " OR " ON_GPU("recv") ")") == 0)
        return;
    report->gpu.one_side = ask(report, "SELECT count(*) FROM message_row m JOIN form f ON f.id = m.form"
                                       " WHERE coalesce(" ON_GPU("send") ", 0) <> coalesce(" ON_GPU("recv") ", 0)");
    if (!report_load_machine(report, choice, &report->gpu.machine, &report->gpu.unknown, &collecting.machine))
        return;
    struct report_gpu *gpu = &report->gpu;
    read_gpu_kinds(&collecting);
    if (collecting.n_kinds > 0)
        qsort(collecting.kinds, collecting.n_kinds, sizeof *collecting.kinds, compare_gpu_kinds);
    for (gpu->all = collecting.n_kinds; gpu->n < gpu->all && gpu->n < REPORT_GPU_KINDS; gpu->n++) {
        gpu->rows[gpu->n] = collecting.kinds[gpu->n];
        read_site(report, &gpu->rows[gpu->n]);
    }
    machine_release(&collecting.machine);
    free(collecting.kinds);
}
