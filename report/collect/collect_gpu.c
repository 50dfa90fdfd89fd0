/* Computes what messages between GPUs would take on other ways. The messages of a kind and level are read rank by rank;
 * once all of its node are known, how many send at once is, and the model is asked. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/gpu/gpu_paths.h"
#include "report/collect/report.h"
#include "report/collect/section_machine.h"
#include "share/base/array.h"

#define ON_GPU(side) "(f." side "_memory GLOB 'device*' OR f." side "_memory GLOB 'managed*')"
#define MESSAGES     " FROM message_row m JOIN form f ON f.id = m.form JOIN round r ON r.id = m.round_id"
#define BETWEEN_GPUS " WHERE " ON_GPU("send") " AND " ON_GPU("recv") " AND f.level BETWEEN 1 AND 3 AND m.bytes > 0"

/* Holds a rank's messages of a group, all[first] to all[first + n - 1]. */
struct sender {
    int64_t node;
    uint32_t of_node; /* ranks there */
    size_t first, n;
};

/* Holds the messages of a kind and level, which are looked at together. */
struct group {
    int64_t kind, level, rounds;
    struct sender *senders;
    size_t n_senders, senders_capacity;
    struct gpu_messages *all;
    size_t n, capacity;
};

struct collecting {
    struct report *report;
    struct machine machine;
    struct report_gpu_kind *kinds;
    size_t n_kinds, capacity;
};

static const enum level levels[] = {[1] = LEVEL_INTRA_SOCKET, [2] = LEVEL_INTER_SOCKET, [3] = LEVEL_INTER_NODE};

enum gpu_path report_gpu_fastest(const struct report_gpu_kind *kind)
{
    enum gpu_path best = GPU_PATH_COUNT;
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (!isnan(kind->path_s[path]) && (best == GPU_PATH_COUNT || kind->path_s[path] < kind->path_s[best]))
            best = (enum gpu_path)path;
    return best;
}

/* Returns how many ranks of a node send. */
static uint32_t senders_of(const struct group *group, int64_t node)
{
    uint32_t n = 0;
    for (size_t i = 0; i < group->n_senders; i++)
        n += group->senders[i].node == node;
    return n;
}

/* Takes the sender into the kind where it is the slowest so far on a path. Returns 0, or -1 without memory. */
static int add_sender(struct collecting *collecting, const struct group *group, const struct sender *sender,
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
            if (kind->reason[path] == NULL)
                return -1;
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
    return 0;
}

/* Ends a group: makes the kind's row of it. */
static int end_group(struct collecting *collecting, struct group *group, struct error *error)
{
    if (group->n_senders == 0)
        return 0;
    struct report_gpu_kind kind = {.kind = group->kind,
                                   .rounds = group->rounds,
                                   .level = levels[group->level],
                                   .function = "",
                                   .file = "",
                                   .caller = ""};
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        kind.path_s[path] = NAN;
    for (size_t i = 0; i < group->n_senders; i++)
        if (add_sender(collecting, group, &group->senders[i], &kind) != 0)
            return error_set(error, "%s: no memory", collecting->report->path);
    if (array_reserve(&collecting->kinds, &collecting->capacity, collecting->n_kinds + 1, sizeof kind) != 0)
        return error_set(error, "%s: no memory", collecting->report->path);
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (kind.reason[path] != NULL)
            kind.path_s[path] = NAN;
    collecting->kinds[collecting->n_kinds++] = kind;
    group->n = group->n_senders = 0;
    return 0;
}

/* Adds a row, which is of the group: messages of one size by a rank. */
static int add_row(struct group *group, struct cursor *rows, bool same_rank)
{
    if (!same_rank) {
        if (array_reserve(&group->senders, &group->senders_capacity, group->n_senders + 1, sizeof *group->senders) != 0)
            return -1;
        int64_t of_node = cursor_integer(rows, 5);
        group->senders[group->n_senders++] =
            (struct sender){.node = cursor_integer(rows, 4),
                            .of_node = of_node > 0 && of_node < INT32_MAX ? (uint32_t)of_node : 1,
                            .first = group->n};
    }
    if (array_reserve(&group->all, &group->capacity, group->n + 1, sizeof *group->all) != 0)
        return -1;
    group->all[group->n++] = (struct gpu_messages){.messages = cursor_real(rows, 7) / (double)group->rounds,
                                                   .bytes = (uint64_t)cursor_integer(rows, 6)};
    group->senders[group->n_senders - 1].n++;
    return 0;
}

static int read_groups(struct collecting *collecting, struct cursor *rows, struct group *group, struct error *error)
{
    int64_t rank = -1;
    while (cursor_next(rows)) {
        int64_t kind = cursor_integer(rows, 0), level = cursor_integer(rows, 2), sender = cursor_integer(rows, 3);
        bool same = group->n_senders > 0 && kind == group->kind && level == group->level;
        if (!same && end_group(collecting, group, error) != 0)
            return -1;
        int64_t rounds = cursor_integer(rows, 1);
        group->kind = kind;
        group->level = level;
        group->rounds = rounds > 0 ? rounds : 1;
        if (add_row(group, rows, same && sender == rank) != 0) {
            cursor_no_memory(rows);
            return -1;
        }
        rank = sender;
        collecting->report->gpu.messages += cursor_integer(rows, 7);
    }
    return end_group(collecting, group, error);
}

static int read_kinds(struct collecting *collecting, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    struct group group = {0};
    cursor_open(&rows, database, collecting->report->path,
                "SELECT r.kind_id, k.rounds, f.level, m.src, p.node,"
                " (SELECT count(*) FROM process q WHERE q.node = p.node), m.bytes, count(*)" MESSAGES
                " JOIN kind k ON k.id = r.kind_id LEFT JOIN process p ON p.rank = m.src" BETWEEN_GPUS
                " GROUP BY r.kind_id, f.level, m.src, m.bytes ORDER BY r.kind_id, f.level, m.src, m.bytes",
                error);
    int result = read_groups(collecting, &rows, &group, error);
    int closed = cursor_close(&rows);
    free(group.senders);
    free(group.all);
    return result != 0 ? result : closed;
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

static int compare_kinds(const void *first, const void *second)
{
    const struct report_gpu_kind *a = first, *b = second;
    if (saved_s(a) != saved_s(b))
        return saved_s(a) > saved_s(b) ? -1 : 1;
    if (fastest_s(a) != fastest_s(b))
        return fastest_s(a) > fastest_s(b) ? -1 : 1;
    return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind)
                              : (a->level > b->level) - (a->level < b->level);
}

/* Finds the call site that sends most of a kind's bytes. */
static int read_site(struct report *report, sqlite3 *database, struct report_gpu_kind *kind, struct error *error)
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
    cursor_open(&rows, database, report->path, sql, error);
    if (cursor_next(&rows)) {
        kind->function = cursor_text(&rows, 0, &report->pool);
        kind->file = cursor_text(&rows, 1, &report->pool);
        kind->line = cursor_integer(&rows, 2);
        kind->caller = cursor_text(&rows, 3, &report->pool);
    }
    return cursor_close(&rows);
}

static int collect(struct collecting *collecting, sqlite3 *database, struct error *error)
{
    struct report *report = collecting->report;
    struct report_gpu *gpu = &report->gpu;
    if (read_kinds(collecting, database, error) != 0)
        return -1;
    if (collecting->n_kinds > 0)
        qsort(collecting->kinds, collecting->n_kinds, sizeof *collecting->kinds, compare_kinds);
    gpu->all = collecting->n_kinds;
    for (; gpu->n < gpu->all && gpu->n < REPORT_GPU_KINDS; gpu->n++) {
        gpu->rows[gpu->n] = collecting->kinds[gpu->n];
        if (read_site(report, database, &gpu->rows[gpu->n], error) != 0)
            return -1;
    }
    return 0;
}

/* Counts the messages with one side on a GPU, and says whether any message has a side there. */
static int look_for_gpus(struct report *report, sqlite3 *database, bool *any, struct error *error)
{
    struct cursor rows;
    /* A trace that was made before does not tell the memory. */
    cursor_open(&rows, database, report->path,
                "SELECT EXISTS (SELECT 1 FROM pragma_table_info('form') WHERE name = 'send_memory')", error);
    *any = cursor_next(&rows) && cursor_integer(&rows, 0) != 0;
    if (cursor_close(&rows) != 0 || !*any)
        return rows.result;
    cursor_open(&rows, database, report->path,
                "SELECT EXISTS (SELECT 1 FROM form f WHERE " ON_GPU("send") " OR " ON_GPU("recv") ")", error);
    *any = cursor_next(&rows) && cursor_integer(&rows, 0) != 0;
    if (cursor_close(&rows) != 0 || !*any)
        return rows.result;
    cursor_open(&rows, database, report->path,
                "SELECT count(*) FROM message_row m JOIN form f ON f.id = m.form"
                " WHERE coalesce(" ON_GPU("send") ", 0) <> coalesce(" ON_GPU("recv") ", 0)",
                error);
    if (cursor_next(&rows))
        report->gpu.one_side = cursor_integer(&rows, 0);
    return cursor_close(&rows);
}

int report_collect_gpu(struct report *report, sqlite3 *database, const struct report_choice *choice,
                       struct error *error)
{
    struct collecting collecting = {.report = report};
    struct error reason;
    bool any;
    report->gpu.machine = "";
    if (look_for_gpus(report, database, &any, error) != 0)
        return -1;
    if (!any)
        return 0;
    int result = section_machine_load(report, database, choice, &report->gpu.machine, &collecting.machine, &reason);
    if (result < 0) { /* a damaged table costs this section alone */
        report->gpu.unknown = pool_clean(&report->pool, reason.text, strlen(reason.text));
        return report->gpu.unknown != NULL ? 0 : error_set(error, "%s: no memory", report->path);
    }
    if (result == 1)
        return 0;
    result = collect(&collecting, database, error);
    machine_release(&collecting.machine);
    free(collecting.kinds);
    return result;
}
