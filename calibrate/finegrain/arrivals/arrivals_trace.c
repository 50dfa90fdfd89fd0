/* Two queries go through the trace side by side, both in the order of ranks: returns of calls, of which those of one
 * rank are in memory at a time, and posts of sends by round. */
#include "calibrate/finegrain/arrivals/arrivals_trace.h"

#include <stdlib.h>
#include <string.h>

#include "calibrate/finegrain/arrivals/arrival_file.h"
#include "calibrate/finegrain/arrivals/rank_returns.h"
#include "interpose/database/cursor.h"
#include "share/base/array.h"

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
    if (a->partitioned != b->partitioned)
        return a->partitioned ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
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

/* Says whether the partitions of a round are all there, each once. */
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

/* Says whether the MPI was told that one thread calls it. */
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
