/* Computes what messages between GPUs would take on other ways. The messages of a kind and level are read rank by rank;
 * once all of its node are known, how many send at once is, and the model is asked. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/gpu/gpu_paths.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

#define ON_GPU(side) "(f." side "_memory GLOB 'device*' OR f." side "_memory GLOB 'managed*')"
#define MESSAGES     " FROM message_row m JOIN form f ON f.id = m.form JOIN round r ON r.id = m.round_id"
#define BETWEEN_GPUS " WHERE " ON_GPU("send") " AND " ON_GPU("recv") " AND f.level BETWEEN 1 AND 3 AND m.bytes > 0"

/* A rank's messages of a group, all[first] to all[first + n - 1]. */
struct sender {
    int64_t node;
    uint32_t of_node; /* ranks there */
    size_t first, n;
};

/* The messages of a kind and level, which are judged together. */
struct group {
    int64_t kind, level, rounds;
    struct sender *senders;
    size_t n_senders, senders_capacity;
    struct gpu_messages *all;
    size_t n, capacity;
};

struct collecting_gpu {
    struct report *report;
    struct machine machine;
    struct report_gpu_kind *kinds;
    size_t n_kinds, capacity;
};

static const enum level levels[] = {[1] = LEVEL_INTRA_SOCKET, [2] = LEVEL_INTER_SOCKET, [3] = LEVEL_INTER_NODE};

/* Returns how many ranks of a node send. */
static uint32_t senders_of(const struct group *group, int64_t node)
{
    uint32_t n = 0;
    for (size_t i = 0; i < group->n_senders; i++)
        n += group->senders[i].node == node;
    return n;
}

/* Takes the sender into the kind where it is the slowest so far on a path. */
static void add_sender(struct collecting_gpu *collecting, const struct group *group, const struct sender *sender,
                       struct report_gpu_kind *kind)
{
    uint32_t gpus = senders_of(group, sender->node), each = sender->of_node / gpus;
    struct gpu_problem problem = {.level = kind->level, .gpus = gpus, .ppn = gpus * (each > 0 ? each : 1)};
    struct gpu_costs costs;
    gpu_costs_find(&collecting->machine, &problem, &costs);
    double direct_s = NAN;
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        double seconds = gpu_messages_s(&costs, &problem, group->all + sender->first, sender->n, (enum gpu_path)path);
        if (path == GPU_DIRECT)
            direct_s = seconds;
        if (isnan(seconds) && kind->reason[path] == NULL) {
            const char *reason = costs.reason[path].text;
            kind->reason[path] = pool_clean(&collecting->report->pool, reason, strlen(reason));
        }
        if (kind->reason[path] == NULL)
            kind->path_s[path] = fmax(kind->path_s[path], seconds); /* takes the other one where one is NaN */
    }
    double messages = 0, bytes = 0;
    for (size_t i = sender->first; i < sender->first + sender->n; i++) {
        messages += group->all[i].messages;
        bytes += group->all[i].messages * (double)group->all[i].bytes;
    }
    bool decides = kind->gpus == 0 || direct_s == kind->path_s[GPU_DIRECT];
    if (isnan(direct_s) ? bytes > kind->bytes : decides) {
        kind->gpus = gpus;
        kind->ppn = problem.ppn;
        kind->messages = messages;
        kind->bytes = bytes;
    }
}

/* Ends a group: makes the kind's row of it. */
static void end_group(struct collecting_gpu *collecting, struct group *group)
{
    if (group->n_senders == 0)
        return;
    struct report_gpu_kind kind = {.kind = group->kind,
                                   .rounds = group->rounds,
                                   .level = levels[group->level],
                                   .function = "",
                                   .file = "",
                                   .caller = ""};
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        kind.path_s[path] = NAN;
    for (size_t i = 0; i < group->n_senders; i++)
        add_sender(collecting, group, &group->senders[i], &kind);
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (kind.reason[path] != NULL)
            kind.path_s[path] = NAN;
    array_reserve(&collecting->kinds, &collecting->capacity, collecting->n_kinds + 1, sizeof kind);
    collecting->kinds[collecting->n_kinds++] = kind;
    group->n = group->n_senders = 0;
}

/* Adds a row, which is of the group: messages of one size by a rank. */
static void add_row(struct group *group, struct cursor *rows, bool same_rank)
{
    if (!same_rank) {
        array_reserve(&group->senders, &group->senders_capacity, group->n_senders + 1, sizeof *group->senders);
        int64_t of_node = cursor_integer(rows, 5);
        group->senders[group->n_senders++] =
            (struct sender){.node = cursor_integer(rows, 4),
                            .of_node = of_node > 0 && of_node < INT32_MAX ? (uint32_t)of_node : 1,
                            .first = group->n};
    }
    array_reserve(&group->all, &group->capacity, group->n + 1, sizeof *group->all);
    group->all[group->n++] = (struct gpu_messages){.messages = cursor_real(rows, 7) / (double)group->rounds,
                                                   .bytes = (uint64_t)cursor_integer(rows, 6)};
    group->senders[group->n_senders - 1].n++;
}

static void read_gpu_kinds(struct collecting_gpu *collecting)
{
    struct cursor rows;
    struct group group = {0};
    int64_t rank = -1;
    report_query(collecting->report, &rows,
                 "SELECT r.kind_id, k.rounds, f.level, m.src, p.node,"
                 " (SELECT count(*) FROM process q WHERE q.node = p.node), m.bytes, count(*)" MESSAGES
                 " JOIN kind k ON k.id = r.kind_id LEFT JOIN process p ON p.rank = m.src" BETWEEN_GPUS
                 " GROUP BY r.kind_id, f.level, m.src, m.bytes ORDER BY r.kind_id, f.level, m.src, m.bytes");
    while (cursor_next(&rows)) {
        int64_t kind = cursor_integer(&rows, 0), level = cursor_integer(&rows, 2), sender = cursor_integer(&rows, 3);
        bool same = group.n_senders > 0 && kind == group.kind && level == group.level;
        if (!same)
            end_group(collecting, &group);
        int64_t rounds = cursor_integer(&rows, 1);
        group.kind = kind;
        group.level = level;
        group.rounds = rounds > 0 ? rounds : 1;
        add_row(&group, &rows, same && sender == rank);
        rank = sender;
        collecting->report->gpu.messages += cursor_integer(&rows, 7);
    }
    report_query_end(collecting->report, &rows);
    end_group(collecting, &group);
    free(group.senders);
    free(group.all);
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
    char sql[1024];
    struct cursor rows;
    int level = kind->level == LEVEL_INTRA_SOCKET ? 1 : kind->level == LEVEL_INTER_SOCKET ? 2 : 3;
    snprintf(sql, sizeof sql,
             "SELECT n.name, c.file, c.line, c.name" MESSAGES " JOIN function n ON n.id = f.send_function"
             " LEFT JOIN site c ON c.id = f.send_callsite" BETWEEN_GPUS " AND r.kind_id = %" PRId64
             " AND f.level = %d GROUP BY f.send_function, f.send_callsite ORDER BY sum(1.0 * m.bytes) DESC, 1, 2, 3"
             " LIMIT 1",
             kind->kind, level);
    report_query(report, &rows, sql);
    if (cursor_next(&rows)) {
        kind->function = cursor_text(&rows, 0, &report->pool);
        kind->file = cursor_text(&rows, 1, &report->pool);
        kind->line = cursor_integer(&rows, 2);
        kind->caller = cursor_text(&rows, 3, &report->pool);
    }
    report_query_end(report, &rows);
}

static void collect_gpu_kinds(struct collecting_gpu *collecting)
{
    struct report_gpu *gpu = &collecting->report->gpu;
    read_gpu_kinds(collecting);
    if (collecting->n_kinds > 0)
        qsort(collecting->kinds, collecting->n_kinds, sizeof *collecting->kinds, compare_gpu_kinds);
    gpu->all = collecting->n_kinds;
    for (; gpu->n < gpu->all && gpu->n < REPORT_GPU_KINDS; gpu->n++) {
        gpu->rows[gpu->n] = collecting->kinds[gpu->n];
        read_site(collecting->report, &gpu->rows[gpu->n]);
    }
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
    struct error reason;
    report->gpu.machine = "";
    /* A trace of an earlier version does not have the memory of buffers. */
    if (ask(report, "SELECT EXISTS (SELECT 1 FROM pragma_table_info('form') WHERE name = 'send_memory')") == 0 ||
        ask(report, "SELECT EXISTS (SELECT 1 FROM form f WHERE " ON_GPU("send") " OR " ON_GPU("recv") ")") == 0)
        return;
    report->gpu.one_side = ask(report, "SELECT count(*) FROM message_row m JOIN form f ON f.id = m.form"
                                       " WHERE coalesce(" ON_GPU("send") ", 0) <> coalesce(" ON_GPU("recv") ", 0)");
    int result = report_load_machine(report, choice, &report->gpu.machine, &collecting.machine, &reason);
    if (result < 0) /* a damaged table costs this section alone */
        report->gpu.unknown = pool_clean(&report->pool, reason.text, strlen(reason.text));
    if (result != 0)
        return;
    collect_gpu_kinds(&collecting);
    machine_release(&collecting.machine);
    free(collecting.kinds);
}
