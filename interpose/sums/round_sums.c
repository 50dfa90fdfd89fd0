/* SQLite sums over (kind, rank) by sorting all rows of round_process, 1 s for 1.4e6 of them, and each view that does so
 * sorts anew. Here the rounds are walked kind by kind, so that only the sums over the ranks of one kind and of one
 * round are held. The rows equal those of the views to the last bit: both use sums of integers and the same expression
 * of them. The entries are kept for the messages (message_sums.c), which come in no order of rounds. */
#include "interpose/sums/round_sums.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "share/base/array.h"
#include "share/base/statistics.h"

/* Sums the times of a rank over the rounds of a kind, or over all rounds. */
struct times {
    int64_t n, time_ns, in_mpi_ns;
    int64_t n_half[2], half_ns[2]; /* sums over the first and the second half of the rounds */
};

enum { INTO_ACTUAL, INTO_IN_MPI, INTO_HALVES, INTO_WAIT, INTO_RANK, INTO_COUNT };

static const char *const insert[INTO_COUNT] = {
    [INTO_ACTUAL] = "INSERT INTO temp.kind_actual VALUES (?1, ?2, ?3, ?4 * 1e-9 / ?3)",
    [INTO_IN_MPI] = "INSERT INTO temp.kind_in_mpi VALUES (?1, ?2, ?3, ?4 * 1e-9 / ?3, ?5 * 1e-9 / ?3)",
    [INTO_HALVES] = ("INSERT INTO temp.kind_halves VALUES (?1, ?2, ?3, 1.0 * ?4 / nullif(?5, 0) * 1e-9, "
                     "1.0 * ?6 / nullif(?7, 0) * 1e-9)"),
    [INTO_WAIT] = "INSERT INTO temp.round_wait VALUES (?1, ?2, ?3, ?4 * 1e-9, ?5 * 1e-9, ?6 * 1e-9, ?7)",
    [INTO_RANK] = "INSERT INTO temp.rank_actual VALUES (?1, ?2, ?3 * 1e-9, ?4 * 1e-9)",
};

struct walk {
    struct round_sums *sums;
    const char *path;
    struct error *error;
    struct cursor into[INTO_COUNT];
    struct times *of_kind, *of_all; /* [capacity] of a rank */
    uint32_t *met;                  /* [capacity] the ranks of the current kind */
    size_t capacity, n_met;
    size_t n_ranks; /* the largest seen, plus one */
};

static int no_memory(const struct walk *walk)
{
    return error_set(walk->error, "%s: no memory for the sums over its rounds", walk->path);
}

static int too_long(const struct walk *walk, int64_t rank)
{
    return error_set(walk->error, "%s: the times of rank %lld in rounds are too long for 64 bits", walk->path,
                     (long long)rank);
}

static int store(struct cursor *rows, const int64_t *values, int n)
{
    if (rows->result != 0)
        return -1;
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(rows->statement, i + 1, values[i]);
    cursor_next(rows);
    sqlite3_reset(rows->statement);
    return rows->result;
}

static int make_room(struct walk *walk, int64_t rank)
{
    if (rank < 0 || rank >= MAX_RANK)
        return error_set(walk->error, "%s: rank %lld in a round, expected 0 to %d", walk->path, (long long)rank,
                         MAX_RANK - 1);
    if ((size_t)rank >= walk->n_ranks)
        walk->n_ranks = (size_t)rank + 1;
    size_t of_kind = walk->capacity, of_all = of_kind, met = of_kind, n = (size_t)rank + 1;
    if (array_reserve_zeroed(&walk->of_kind, &of_kind, n, sizeof *walk->of_kind) != 0 ||
        array_reserve_zeroed(&walk->of_all, &of_all, n, sizeof *walk->of_all) != 0 ||
        array_reserve_zeroed(&walk->met, &met, n, sizeof *walk->met) != 0)
        return no_memory(walk);
    walk->capacity = met;
    return 0;
}

static bool add_up(struct times *times, int64_t length_ns, int64_t in_mpi_ns)
{
    times->n++;
    return !__builtin_add_overflow(times->time_ns, length_ns, &times->time_ns) &&
           !__builtin_add_overflow(times->in_mpi_ns, in_mpi_ns, &times->in_mpi_ns);
}

/* Adds the row of a rank of the current round. */
static int add_entry(struct walk *walk, const struct round_span *round, struct cursor *rows)
{
    struct round_sums *sums = walk->sums;
    int64_t rank = cursor_integer(rows, 0), begin_ns = cursor_integer(rows, 1), in_mpi_ns = cursor_integer(rows, 3),
            length_ns;
    if (make_room(walk, rank) != 0)
        return -1;
    if (array_grow(&sums->entries, sums->n_entries, sizeof *sums->entries) != 0)
        return no_memory(walk);
    struct times *times = &walk->of_kind[rank];
    if (times->n == 0)
        walk->met[walk->n_met++] = (uint32_t)rank;
    if (__builtin_sub_overflow(cursor_integer(rows, 2), begin_ns, &length_ns) || !add_up(times, length_ns, in_mpi_ns) ||
        !add_up(&walk->of_all[rank], length_ns, in_mpi_ns))
        return too_long(walk, rank);
    int64_t half = round->of_rounds / 2;
    if (round->place <= half || round->place > round->of_rounds - half) {
        int which = round->place > half;
        times->n_half[which]++;
        if (__builtin_add_overflow(times->half_ns[which], length_ns, &times->half_ns[which]))
            return too_long(walk, rank);
    }
    sums->entries[sums->n_entries++] = (struct round_entry){begin_ns, length_ns, (uint32_t)rank};
    return 0;
}

/* Stores which rank is last, and how long the others wait for it. */
static int store_wait(struct walk *walk, const struct round_span *round)
{
    if (round->n == 0)
        return 0;
    const struct round_entry *entries = walk->sums->entries + round->first, *last = entries;
    int64_t first_ns = INT64_MAX, last_ns = 0, wait_ns = 0, time_ns = 0;
    for (size_t i = 0; i < round->n; i++) {
        int64_t end_ns = entries[i].begin_ns + entries[i].length_ns;
        if (i == 0 || end_ns > last_ns) {
            last = &entries[i];
            last_ns = end_ns;
        }
        first_ns = end_ns < first_ns ? end_ns : first_ns;
    }
    for (size_t i = 0; i < round->n; i++) {
        int64_t own_ns;
        if (__builtin_sub_overflow(last_ns, entries[i].begin_ns + entries[i].length_ns, &own_ns) ||
            __builtin_add_overflow(wait_ns, own_ns, &wait_ns) ||
            __builtin_add_overflow(time_ns, entries[i].length_ns, &time_ns))
            return too_long(walk, entries[i].rank);
    }
    const int64_t values[] = {round->id, round->kind_id,     (int64_t)round->n, time_ns,
                              wait_ns,   last_ns - first_ns, last->rank};
    return store(&walk->into[INTO_WAIT], values, 7);
}

static int end_kind(struct walk *walk, const struct round_span *round)
{
    int result = 0;
    if (walk->n_met > 1)
        qsort(walk->met, walk->n_met, sizeof *walk->met, compare_u32);
    for (size_t i = 0; result == 0 && i < walk->n_met; i++) {
        struct times *times = &walk->of_kind[walk->met[i]];
        int64_t rank = walk->met[i], outside_ns;
        if (__builtin_sub_overflow(times->time_ns, times->in_mpi_ns, &outside_ns))
            return too_long(walk, rank);
        const int64_t actual[] = {round->kind_id, rank, round->kind_rounds, times->time_ns};
        const int64_t in_mpi[] = {round->kind_id, rank, round->kind_rounds, times->in_mpi_ns, outside_ns};
        const int64_t halves[] = {
            round->kind_id,  rank, round->of_rounds, times->half_ns[0], times->n_half[0], times->half_ns[1],
            times->n_half[1]};
        if (round->kind_rounds >= 0)
            result = store(&walk->into[INTO_ACTUAL], actual, 4) == 0 ? store(&walk->into[INTO_IN_MPI], in_mpi, 5) : -1;
        if (result == 0 && round->of_rounds >= 2)
            result = store(&walk->into[INTO_HALVES], halves, 7);
        *times = (struct times){0};
    }
    walk->n_met = 0;
    return result;
}

static int store_ranks(struct walk *walk)
{
    int result = 0;
    for (size_t rank = 0; result == 0 && rank < walk->n_ranks; rank++) {
        const struct times *times = &walk->of_all[rank];
        const int64_t values[] = {(int64_t)rank, times->n, times->time_ns, times->in_mpi_ns};
        if (times->n > 0)
            result = store(&walk->into[INTO_RANK], values, 4);
    }
    return result;
}

/* Reads the rounds in the order of kinds. */
static int read_rounds(sqlite3 *database, struct walk *walk)
{
    struct round_sums *sums = walk->sums;
    struct cursor rows;
    cursor_open(&rows, database, walk->path,
                "SELECT r.id, r.kind_id, k.rounds, "
                "row_number() OVER (PARTITION BY r.kind_id ORDER BY r.begin_ns, r.id), "
                "count(*) OVER (PARTITION BY r.kind_id) FROM round r LEFT JOIN kind k ON k.id = r.kind_id "
                "ORDER BY r.kind_id, r.begin_ns, r.id",
                walk->error);
    while (cursor_next(&rows)) {
        if (array_grow(&sums->rounds, sums->n_rounds, sizeof *sums->rounds) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        bool known = sqlite3_column_type(rows.statement, 2) != SQLITE_NULL;
        sums->rounds[sums->n_rounds++] = (struct round_span){.id = cursor_integer(&rows, 0),
                                                             .kind_id = cursor_integer(&rows, 1),
                                                             .kind_rounds = known ? cursor_integer(&rows, 2) : -1,
                                                             .place = cursor_integer(&rows, 3),
                                                             .of_rounds = cursor_integer(&rows, 4)};
    }
    return cursor_close(&rows);
}

static int read_entries(sqlite3 *database, struct walk *walk)
{
    struct round_sums *sums = walk->sums;
    struct cursor rows;
    cursor_open(&rows, database, walk->path,
                "SELECT rank, begin_ns, end_ns, in_mpi_ns FROM round_process WHERE round_id = ? ORDER BY rank",
                walk->error);
    int result = rows.result;
    for (size_t i = 0; result == 0 && i < sums->n_rounds; i++) {
        struct round_span *round = &sums->rounds[i];
        round->first = sums->n_entries;
        sqlite3_bind_int64(rows.statement, 1, round->id);
        while (result == 0 && cursor_next(&rows))
            result = add_entry(walk, round, &rows);
        sqlite3_reset(rows.statement);
        round->n = sums->n_entries - round->first;
        result = result == 0 ? rows.result : -1;
        if (result == 0)
            result = store_wait(walk, round);
        if (result == 0 && (i + 1 == sums->n_rounds || sums->rounds[i + 1].kind_id != round->kind_id))
            result = end_kind(walk, round);
    }
    return cursor_close(&rows) == 0 ? result : -1;
}

static int compare_round(const void *left, const void *right)
{
    int64_t a = ((const struct round_span *)left)->id, b = ((const struct round_span *)right)->id;
    return (a > b) - (a < b);
}

int round_sums_make(sqlite3 *database, const char *path, struct round_sums *sums, struct error *error)
{
    struct walk walk = {.sums = sums, .path = path, .error = error};
    *sums = (struct round_sums){0};
    int result = 0;
    for (int which = 0; which < INTO_COUNT; which++) {
        cursor_open(&walk.into[which], database, path, insert[which], error);
        result = walk.into[which].result != 0 ? -1 : result;
    }
    if (result == 0)
        result = read_rounds(database, &walk);
    if (result == 0)
        result = read_entries(database, &walk);
    if (result == 0)
        result = store_ranks(&walk);
    if (result == 0 && sums->n_rounds > 0)
        qsort(sums->rounds, sums->n_rounds, sizeof *sums->rounds, compare_round);
    for (int which = 0; which < INTO_COUNT; which++)
        cursor_close(&walk.into[which]);
    free(walk.of_kind);
    free(walk.of_all);
    free(walk.met);
    return result;
}

void round_sums_release(struct round_sums *sums)
{
    free(sums->rounds);
    free(sums->entries);
    free(sums->late);
    *sums = (struct round_sums){0};
}

const struct round_span *round_sums_find(const struct round_sums *sums, int64_t round_id)
{
    const struct round_span key = {.id = round_id};
    if (round_id >= 1 && (size_t)round_id <= sums->n_rounds && sums->rounds[round_id - 1].id == round_id)
        return &sums->rounds[round_id - 1]; /* as ingest numbers them */
    return sums->n_rounds == 0 ? NULL
                               : bsearch(&key, sums->rounds, sums->n_rounds, sizeof *sums->rounds, compare_round);
}
