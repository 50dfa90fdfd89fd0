/* Passes once over the messages into sums for each rank, then once over the ranks. Completes both files before either
 * takes its name. Units of the statistics are bytes; MB is 1e6. */
#include "predictor/generate/pattern_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"

struct rank_sums {
    uint64_t *messages; /* [n_ranks] */
    uint64_t *bytes;
};

static struct rank_sums sums_init(size_t n_ranks)
{
    return (struct rank_sums){xcalloc(n_ranks, sizeof(uint64_t)), xcalloc(n_ranks, sizeof(uint64_t))};
}

static void sums_release(struct rank_sums *sums)
{
    free(sums->messages);
    free(sums->bytes);
}

static void sums_add(struct rank_sums *sums, uint32_t rank, uint64_t bytes)
{
    sums->messages[rank]++;
    sums->bytes[rank] += bytes;
}

static struct pattern_side_statistics side(const struct rank_sums *sums, size_t n_ranks)
{
    struct pattern_side_statistics s = {.least_messages = n_ranks > 0 ? UINT64_MAX : 0};
    for (size_t rank = 0; rank < n_ranks; rank++) {
        uint64_t messages = sums->messages[rank], bytes = sums->bytes[rank];
        s.most_messages = messages > s.most_messages ? messages : s.most_messages;
        s.least_messages = messages < s.least_messages ? messages : s.least_messages;
        s.most_bytes = bytes > s.most_bytes ? bytes : s.most_bytes;
        if (bytes > 0 && (s.least_bytes == 0 || bytes < s.least_bytes))
            s.least_bytes = bytes;
    }
    return s;
}

/* Counts different nodes, as their numbers need not be dense. */
static size_t count_nodes(const struct placement *placement)
{
    uint32_t *nodes = xmalloc((placement->n_ranks + 1) * sizeof *nodes);
    for (size_t i = 0; i < placement->n_ranks; i++)
        nodes[i] = placement->node[i];
    qsort(nodes, placement->n_ranks, sizeof *nodes, compare_u32);
    size_t n_nodes = 0;
    for (size_t i = 0; i < placement->n_ranks; i++)
        n_nodes += i == 0 || nodes[i] != nodes[i - 1];
    free(nodes);
    return n_nodes;
}

static int add_messages(const struct pattern *pattern, const struct placement *placement,
                        struct pattern_statistics *statistics, struct rank_sums *in, struct rank_sums *out,
                        struct error *error)
{
    for (size_t i = 0; i < pattern->n_messages; i++) {
        uint32_t src = pattern->src[i], dst = pattern->dst[i];
        uint64_t bytes = pattern->bytes[i];
        enum level level = placement_level(placement, src, dst);
        if (__builtin_add_overflow(statistics->bytes, bytes, &statistics->bytes))
            return error_set(error, "the pattern's bytes are more than 64 bits hold");
        statistics->level_messages[level]++;
        statistics->level_bytes[level] += bytes;
        if (level == LEVEL_SELF)
            continue;
        sums_add(out, src, bytes);
        sums_add(in, dst, bytes);
    }
    return 0;
}

int pattern_statistics(const struct pattern *pattern, const struct placement *placement,
                       struct pattern_statistics *statistics, struct error *error)
{
    size_t n_ranks = placement->n_ranks;
    struct rank_sums in = sums_init(n_ranks), out = sums_init(n_ranks);
    *statistics = (struct pattern_statistics){
        .n_ranks = n_ranks, .n_nodes = count_nodes(placement), .n_messages = pattern->n_messages};
    int result = add_messages(pattern, placement, statistics, &in, &out, error);
    if (result == 0) {
        statistics->received = side(&in, n_ranks);
        statistics->sent = side(&out, n_ranks);
    }
    sums_release(&in);
    sums_release(&out);
    return result;
}

static void write_messages(FILE *stream, const struct pattern *pattern)
{
    fputs("src,dst,bytes\n", stream);
    for (size_t i = 0; i < pattern->n_messages; i++)
        fprintf(stream, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 "\n", pattern->src[i], pattern->dst[i], pattern->bytes[i]);
}

static void write_places(FILE *stream, const struct placement *placement)
{
    fputs("rank,node,socket\n", stream);
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        fprintf(stream, "%zu,%" PRIu32 ",%" PRIu32 "\n", rank, placement->node[rank], placement->socket[rank]);
}

int pattern_write(const char *name, const struct pattern *pattern, const struct placement *placement,
                  struct error *error)
{
    char path[4096];
    struct output_file messages, places;
    if ((size_t)snprintf(path, sizeof path, "%s.P.csv", name) >= sizeof path)
        return error_set(error, "--output: a name of %zu bytes or more", sizeof path);
    if (output_file_open(&messages, path, error) != 0)
        return -1;
    snprintf(path, sizeof path, "%s.L.csv", name);
    if (output_file_open(&places, path, error) != 0) {
        output_file_discard(&messages);
        return -1;
    }
    write_messages(messages.stream, pattern);
    write_places(places.stream, placement);
    if (output_file_commit(&messages, error) != 0) {
        output_file_discard(&places);
        return -1;
    }
    return output_file_commit(&places, error);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void show_side(FILE *stream, const char *name, const struct pattern_side_statistics *side)
{
    fprintf(stream, "  %-14s  %12" PRIu64 "  %12" PRIu64 "  %14" PRIu64 "  %14" PRIu64 "\n", name, side->most_messages,
            side->least_messages, side->most_bytes, side->least_bytes);
}

static void show_pattern_text(FILE *stream, const struct pattern_statistics *s)
{
    fprintf(stream, "ranks     %zu on %zu node%s\n", s->n_ranks, s->n_nodes, s->n_nodes == 1 ? "" : "s");
    fprintf(stream, "messages  %" PRIu64 "\n", s->n_messages);
    fprintf(stream, "volume    %.6f MB\n\n", (double)s->bytes * 1e-6);
    fprintf(stream, "  %-14s  %12s  %12s  %14s  %14s\n", "of a rank", "most messages", "least", "most bytes",
            "least above 0");
    show_side(stream, "received", &s->received);
    show_side(stream, "sent", &s->sent);
    fprintf(stream, "\n  %-14s  %12s  %14s  %s\n", "level", "messages", "bytes", "share of the volume");
    for (int level = 0; level < LEVEL_COUNT; level++)
        fprintf(stream, "  %-14s  %12" PRIu64 "  %14" PRIu64 "  %5.1f %%\n", level_name[level],
                s->level_messages[level], s->level_bytes[level], percent(s->level_bytes[level], s->bytes));
}

static struct json *side_json(const struct pattern_side_statistics *side)
{
    return json_pack("{sI sI so so}", "most_messages", (int64_t)side->most_messages, "least_messages",
                     (int64_t)side->least_messages, "most_bytes", json_count(side->most_bytes), "least_bytes",
                     json_count(side->least_bytes));
}

static struct json *statistics_json(const struct pattern_statistics *s)
{
    struct json *levels = json_object();
    for (int level = 0; level < LEVEL_COUNT; level++)
        json_set(levels, level_name[level],
                 json_pack("{sI so}", "messages", (int64_t)s->level_messages[level], "bytes",
                           json_count(s->level_bytes[level])));
    return json_pack("{sI sI sI so so so so}", "ranks", (int64_t)s->n_ranks, "nodes", (int64_t)s->n_nodes, "messages",
                     (int64_t)s->n_messages, "bytes", json_count(s->bytes), "received", side_json(&s->received), "sent",
                     side_json(&s->sent), "levels", levels);
}

int pattern_show(FILE *stream, const struct pattern_statistics *statistics, bool json, struct error *error)
{
    if (json)
        return json_write(stream, statistics_json(statistics), error);
    show_pattern_text(stream, statistics);
    return 0;
}
