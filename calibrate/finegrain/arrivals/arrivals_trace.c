/* Two queries go through the trace side by side, both in the order of ranks: returns of calls, of which those of one
 * rank are in memory at a time, and posts of sends by round. */
#include "calibrate/finegrain/arrivals/arrivals_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/cursor.h"
#include "share/base/array.h"
#include "interpose/database/database.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"
#include "share/base/order.h"

/* Says when the last call of a rank before some time returned: where a computation began.
 *
 * Calls of all kinds count, but not MPI_Pready, which threads call while others still compute. */

/* Goes through the calls of a trace rank by rank; those of one rank are in memory. */
struct rank_returns {
    struct cursor rows;
    bool more;            /* rows stands at one that is not taken */
    int64_t rank;         /* whose these are; -1: none yet */
    int64_t *returned_ns; /* [n] in order */
    size_t n, capacity;
};

/* A call whose length is not known stands at its post. */
static const char returns_sql[] =
    "SELECT rank, begin_ns + call_ns AS end_ns FROM call_row "
    "WHERE function NOT IN (SELECT id FROM function WHERE name GLOB 'MPI_Pready*') "
    "UNION ALL SELECT src, send_post_ns + coalesce(send_call_ns, 0) FROM message_row "
    "UNION ALL SELECT dst, send_post_ns + late_ns + coalesce(recv_call_ns, 0) FROM message_row "
    "UNION ALL SELECT rank, begin_ns FROM process WHERE begin_ns IS NOT NULL "
    "ORDER BY 1, 2";

/* Begins before the first rank. A failure shows in rank_returns_close. */
static void rank_returns_open(struct rank_returns *returns, sqlite3 *database, const char *path, struct error *error)
{
    *returns = (struct rank_returns){.rank = -1};
    cursor_open(&returns->rows, database, path, returns_sql, error);
    returns->more = cursor_next(&returns->rows);
}

/* Goes on to a rank, which is not before the last one. Returns 0, or -1 with the reason. */
static int rank_returns_load(struct rank_returns *returns, int64_t rank)
{
    if (returns->rank == rank)
        return 0;
    returns->rank = rank;
    returns->n = 0;
    while (returns->more && cursor_integer(&returns->rows, 0) <= rank) {
        if (cursor_integer(&returns->rows, 0) == rank) {
            array_reserve(&returns->returned_ns, &returns->capacity, returns->n + 1, sizeof *returns->returned_ns);
            returns->returned_ns[returns->n++] = cursor_integer(&returns->rows, 1);
        }
        returns->more = cursor_next(&returns->rows);
    }
    return returns->rows.result;
}

/* Returns when the rank's last call returned that did so until at_ns; at_ns itself where there is none. */
static int64_t rank_returns_last(const struct rank_returns *returns, int64_t at_ns)
{
    size_t at = 0;
    FIRST_BEYOND(at, returns->n, returns->returned_ns[at] <= at_ns);
    return at > 0 ? returns->returned_ns[at - 1] : at_ns;
}

/* Returns 0, or -1 where something failed. */
static int rank_returns_close(struct rank_returns *returns)
{
    free(returns->returned_ns);
    returns->returned_ns = NULL;
    return cursor_close(&returns->rows);
}

/* Gives a NULL place to a partitioned message without rows of its partitions. */
static const char posts_sql[] =
    "WITH parted AS (SELECT DISTINCT message_id FROM partition "
    "                WHERE direction = 'send' AND message_id IS NOT NULL),"
    "     seen AS (SELECT DISTINCT message_id FROM partition "
    "              WHERE direction = 'send' AND message_id IS NOT NULL AND partition IS NOT NULL),"
    "     post(message_id, kind, place, at_ns, n) AS ("
    "  SELECT p.message_id, 1, p.partition, p.first_ns,"
    "         (SELECT max(a.partitions) FROM partition a WHERE a.message_id = p.message_id AND a.direction = 'send')"
    "  FROM partition p WHERE p.direction = 'send' AND p.partition IS NOT NULL AND p.message_id IS NOT NULL"
    "  UNION ALL SELECT message_id, 1, NULL, NULL, 0 FROM parted WHERE message_id NOT IN (SELECT message_id FROM seen)"
    "  UNION ALL SELECT id, 0, send_cpu, send_post_ns, 0 FROM message_row"
    "            WHERE id NOT IN (SELECT message_id FROM parted))"
    " SELECT m.src, m.round_id, p.kind, p.place, p.at_ns, p.n, m.id, m.dst, m.bytes, r.begin_ns,"
    " o.kind_id, f.level"
    " FROM post p JOIN message_row m ON m.id = p.message_id"
    "      JOIN round_process r ON r.round_id = m.round_id AND r.rank = m.src"
    "      JOIN round o ON o.id = m.round_id LEFT JOIN form f ON f.id = m.form"
    " WHERE m.round_id IS NOT NULL AND m.src <> m.dst ORDER BY m.src, r.begin_ns, m.round_id, m.dst, m.id";

enum { SRC, ROUND, KIND, PLACE, AT, N_PARTS, MESSAGE, DST, BYTES, BEGIN, KIND_ID, LEVEL };

struct post {
    bool partitioned;
    int64_t place; /* partition or processor; -1: not known */
    int64_t at_ns;
};

struct reading {
    struct rank_returns returns;
    struct cursor posts;
    bool one_thread; /* the MPI was told that one thread calls it */
    struct post *post;
    size_t n_posts, posts_capacity;
    double *seconds;
    size_t seconds_capacity;
    struct round_arrivals round;
    uint64_t level_bytes[LEVEL_COUNT + 1]; /* the last ones without a level */
    int64_t begin_ns, last_peer, last_message, n_partitions;
    struct arrivals_left_out left_out;
    int (*take)(void *context, const struct round_arrivals *round, struct error *error);
    void *context;
    struct error *error;
};

static int compare_posts(const void *first, const void *second)
{
    const struct post *a = first, *b = second;
    return ORDER(b->partitioned, a->partitioned) ?: ORDER(a->place, b->place) ?: ORDER(a->at_ns, b->at_ns);
}

/* Keeps of each place its first post, behind each other at the begin. Returns how many there are: those of partitions
 * alone, where there are any. */
static size_t first_posts(struct reading *reading)
{
    struct post *post = reading->post;
    size_t n = 0;
    for (size_t i = 0; reading->one_thread && i < reading->n_posts; i++)
        if (!post[i].partitioned)
            post[i].place = 0;
    qsort(post, reading->n_posts, sizeof *post, compare_posts);
    for (size_t i = 0; i < reading->n_posts && post[i].partitioned == post[0].partitioned; i++)
        if (n == 0 || post[i].place != post[n - 1].place)
            post[n++] = post[i];
    return n;
}

/* Returns whether the partitions of a round are all there, each once. */
static bool all_partitions(const struct reading *reading, size_t n)
{
    if (reading->n_partitions <= 0 || (size_t)reading->n_partitions != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (reading->post[i].place != (int64_t)i)
            return false;
    return true;
}

static enum level usual_level(const struct reading *reading)
{
    enum level usual = LEVEL_COUNT;
    for (int level = LEVEL_COUNT - 1; level >= 0; level--)
        if (reading->level_bytes[level] > reading->level_bytes[usual])
            usual = (enum level)level;
    return usual;
}

/* Hands the round that was read to take, or counts it as left out. */
static int end_round(struct reading *reading)
{
    struct round_arrivals *round = &reading->round;
    if (reading->n_posts == 0)
        return 0;
    size_t n = first_posts(reading);
    const struct post *post = reading->post;
    round->partitioned = post[0].partitioned;
    if (round->partitioned && !all_partitions(reading, n)) {
        bool unseen = post[0].place < 0;
        reading->left_out.unseen += unseen;
        reading->left_out.incomplete += !unseen;
        return 0;
    }
    array_reserve(&reading->seconds, &reading->seconds_capacity, n, sizeof *reading->seconds);
    int64_t from_ns = post[0].at_ns;
    for (size_t i = 1; i < n; i++)
        from_ns = post[i].at_ns < from_ns ? post[i].at_ns : from_ns;
    if (!round->partitioned && reading->begin_ns < from_ns)
        from_ns = reading->begin_ns;
    from_ns = rank_returns_last(&reading->returns, from_ns);
    double longest_s = 0;
    for (size_t i = 0; i < n; i++) {
        reading->seconds[i] = (double)(post[i].at_ns - from_ns) * 1e-9;
        longest_s = reading->seconds[i] > longest_s ? reading->seconds[i] : longest_s;
    }
    if (longest_s > ARRIVALS_MOST_S) {
        reading->left_out.too_long++;
        return 0;
    }
    round->n_threads = n;
    round->seconds = reading->seconds;
    round->level = usual_level(reading);
    return reading->take(reading->context, round, reading->error);
}

static void begin_round(struct reading *reading)
{
    struct cursor *posts = &reading->posts;
    reading->round = (struct round_arrivals){.round = cursor_integer(posts, ROUND),
                                             .kind = cursor_integer(posts, KIND_ID),
                                             .rank = (uint32_t)cursor_integer(posts, SRC)};
    reading->begin_ns = cursor_integer(posts, BEGIN);
    reading->n_posts = 0;
    reading->n_partitions = 0;
    memset(reading->level_bytes, 0, sizeof reading->level_bytes);
    reading->last_peer = reading->last_message = -1;
}

static void add_bytes(struct reading *reading)
{
    struct cursor *posts = &reading->posts;
    int64_t bytes = cursor_integer(posts, BYTES), level = cursor_integer(posts, LEVEL);
    bool known = sqlite3_column_type(posts->statement, LEVEL) != SQLITE_NULL && level >= 0 && level < LEVEL_COUNT;
    if (bytes < 0)
        return;
    reading->round.bytes += (uint64_t)bytes;
    reading->level_bytes[known ? level : LEVEL_COUNT] += (uint64_t)bytes;
}

static void take_post(struct reading *reading)
{
    struct cursor *posts = &reading->posts;
    bool known = sqlite3_column_type(posts->statement, PLACE) != SQLITE_NULL;
    array_reserve(&reading->post, &reading->posts_capacity, reading->n_posts + 1, sizeof *reading->post);
    reading->post[reading->n_posts++] = (struct post){.partitioned = cursor_integer(posts, KIND) != 0,
                                                      .place = known ? cursor_integer(posts, PLACE) : -1,
                                                      .at_ns = cursor_integer(posts, AT)};
    if (cursor_integer(posts, N_PARTS) > reading->n_partitions)
        reading->n_partitions = cursor_integer(posts, N_PARTS);
    if (reading->last_peer != cursor_integer(posts, DST)) /* peers come in order */
        reading->round.peers++;
    if (reading->last_message != cursor_integer(posts, MESSAGE))
        add_bytes(reading);
    reading->last_peer = cursor_integer(posts, DST);
    reading->last_message = cursor_integer(posts, MESSAGE);
}

static int read_rounds(struct reading *reading)
{
    int result = 0;
    while (result == 0 && cursor_next(&reading->posts)) {
        int64_t rank = cursor_integer(&reading->posts, SRC);
        bool same = reading->n_posts > 0 && reading->round.round == cursor_integer(&reading->posts, ROUND) &&
                    (int64_t)reading->round.rank == rank;
        if (!same) {
            result = end_round(reading);
            if (result == 0)
                result = rank_returns_load(&reading->returns, rank);
            begin_round(reading);
        }
        if (result == 0)
            take_post(reading);
    }
    return result == 0 && reading->posts.result == 0 ? end_round(reading) : -1;
}

/* Returns whether the MPI was told that one thread calls it. */
static int read_level(struct reading *reading, sqlite3 *database, const char *path)
{
    struct cursor rows;
    cursor_open(&rows, database, path, "SELECT thread_level IN ('MPI_THREAD_SINGLE', 'MPI_THREAD_FUNNELED') FROM run",
                reading->error);
    if (cursor_next(&rows))
        reading->one_thread = cursor_integer(&rows, 0) != 0;
    return cursor_close(&rows);
}

int arrivals_trace_each(sqlite3 *database, const char *path,
                        int (*take)(void *context, const struct round_arrivals *round, struct error *error),
                        void *context, struct arrivals_left_out *left_out, struct error *error)
{
    struct reading reading = {.take = take, .context = context, .error = error};
    if (read_level(&reading, database, path) != 0)
        return -1;
    rank_returns_open(&reading.returns, database, path, error);
    cursor_open(&reading.posts, database, path, posts_sql, error);
    int result = read_rounds(&reading);
    if (rank_returns_close(&reading.returns) != 0)
        result = -1;
    if (cursor_close(&reading.posts) != 0)
        result = -1;
    if (result == 0)
        *left_out = reading.left_out;
    free(reading.post);
    free(reading.seconds);
    return result;
}

/* A file of fixed times has as many of each thread of a rank, so that the rounds of a rank which have another number of
 * threads than most stay out. */

struct kept {
    uint32_t rank;
    size_t n_threads;
    size_t first; /* of its seconds */
};

struct keeping {
    struct kept *rounds;
    size_t n_rounds;
    double *seconds;
    size_t n_seconds, seconds_capacity;
    bool partitioned;
};

static int keep(void *context, const struct round_arrivals *round, struct error *error)
{
    struct keeping *keeping = context;
    (void)error;
    array_reserve(&keeping->seconds, &keeping->seconds_capacity, keeping->n_seconds + round->n_threads,
                  sizeof *keeping->seconds);
    ARRAY_ADD(keeping->rounds, keeping->n_rounds, (struct kept){round->rank, round->n_threads, keeping->n_seconds});
    memcpy(keeping->seconds + keeping->n_seconds, round->seconds, round->n_threads * sizeof *round->seconds);
    keeping->n_seconds += round->n_threads;
    keeping->partitioned |= round->partitioned;
    return 0;
}

/* Returns the number of threads that most of the rounds have, of equally many the larger one. sizes[n] is room. */
static size_t usual_threads(const struct kept *rounds, size_t n, size_t *sizes)
{
    size_t best = 0, most = 0, run = 0;
    for (size_t i = 0; i < n; i++)
        sizes[i] = rounds[i].n_threads;
    qsort(sizes, n, sizeof *sizes, compare_sizes);
    for (size_t i = 0; i < n; i++) {
        run = i > 0 && sizes[i] == sizes[i - 1] ? run + 1 : 1;
        if (run >= most) {
            most = run;
            best = sizes[i];
        }
    }
    return best;
}

static void write_ranks(const struct keeping *keeping, size_t *sizes, FILE *stream, struct arrivals_found *found)
{
    fprintf(stream, "rank,thread,seconds\n");
    for (size_t begin = 0, end; begin < keeping->n_rounds; begin = end) {
        const struct kept *rounds = keeping->rounds + begin;
        for (end = begin; end < keeping->n_rounds && keeping->rounds[end].rank == rounds[0].rank; end++)
            continue;
        size_t usual = usual_threads(rounds, end - begin, sizes);
        if (found->n_ranks++ == 0)
            found->n_threads = usual;
        for (size_t i = 0; i < end - begin; i++) {
            if (rounds[i].n_threads != usual) {
                found->n_others++;
                continue;
            }
            found->n_rounds++;
            for (size_t t = 0; t < usual; t++)
                fprintf(stream, "%" PRIu32 ",%zu,%.17g\n", rounds[i].rank, t, keeping->seconds[rounds[i].first + t]);
        }
    }
}

static int none(const char *path, const struct arrivals_left_out *left_out, struct error *error)
{
    if (left_out->unseen > 0)
        return error_set(
            error, "%s: the trace does not say when partitions were ready; record with MPISTAIR_PARTITIONS=1", path);
    if (left_out->incomplete > 0)
        return error_set(error, "%s: no round of which all partitions are recorded", path);
    if (left_out->too_long > 0)
        return error_set(error, "%s: no computation that is shorter than a day", path);
    return error_set(error, "%s: no round has sends to other ranks, which show when threads were done", path);
}

int arrivals_trace_write(const char *trace_path, const char *csv_path, struct arrivals_found *found,
                         struct error *error)
{
    sqlite3 *database = NULL;
    struct keeping keeping = {0};
    struct arrivals_found told = {0};
    struct output_file file;
    if (database_open(trace_path, false, &database, error) != 0)
        return -1;
    int result = arrivals_trace_each(database, trace_path, keep, &keeping, &told.left_out, error);
    sqlite3_close(database);
    size_t *sizes = xcalloc(keeping.n_rounds, sizeof *sizes);
    if (result == 0 && keeping.n_rounds == 0)
        result = none(trace_path, &told.left_out, error);
    if (result == 0)
        result = output_file_open(&file, csv_path, error);
    if (result == 0) {
        told.partitioned = keeping.partitioned;
        write_ranks(&keeping, sizes, file.stream, &told);
        result = output_file_commit(&file, error);
    }
    if (result == 0)
        *found = told;
    free(sizes);
    free(keeping.rounds);
    free(keeping.seconds);
    return result;
}

char *arrivals_trace_keep(const char *trace_path, const char *folder, struct error *error)
{
    struct arrivals_found found;
    char *path = xasprintf("%s/mpistair-arrivals-XXXXXX", folder);
    int descriptor = mkstemp(path);
    if (descriptor < 0) {
        error_set(error, "%s: cannot be made for the times of %s: %s", path, trace_path, strerror(errno));
        free(path);
        return NULL;
    }
    close(descriptor);
    if (arrivals_trace_write(trace_path, path, &found, error) == 0)
        return path;
    unlink(path);
    free(path);
    return NULL;
}

int arrivals_trace_open(const struct arrivals_request *request, double compute_s, struct arrivals **arrivals,
                        struct error *error)
{
    const char *folder = getenv("TMPDIR");
    if (request->kind != ARRIVAL_TRACE)
        return arrivals_open(request, compute_s, arrivals, error);
    char *path = arrivals_trace_keep(request->path, folder != NULL && folder[0] != '\0' ? folder : "/tmp", error);
    if (path == NULL)
        return -1;
    struct arrivals_request fixed = {.kind = ARRIVAL_FIXED, .path = path};
    int result = arrivals_open(&fixed, compute_s, arrivals, error);
    unlink(path);
    free(path);
    return result;
}
