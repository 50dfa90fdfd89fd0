/* SQLite would sort all messages for each of these sums; here a message takes a look-up in a table. What is added up is
 * whole numbers below 2^53, so that their order does not matter. See pair_sums.h. */
#include "report/diagnose/pair_sums.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "share/base/array.h"

enum { LEAST_NODES = 3 };

int pair_sums_init(struct pair_sums *sums, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    *sums = (struct pair_sums){0};
    cursor_open(&rows, database, path,
                "SELECT coalesce(node, -1), (SELECT count(DISTINCT node) FROM process) FROM process ORDER BY rank",
                error);
    while (cursor_next(&rows)) {
        array_grow(&sums->node, sums->n_ranks, sizeof *sums->node);
        sums->node[sums->n_ranks++] = cursor_integer(&rows, 0);
        sums->n_nodes = (size_t)cursor_integer(&rows, 1);
    }
    return cursor_close(&rows);
}

/* Returns the pair of ranks at the site, added where it is new; NULL where there are too many. */
static struct rank_pair *rank_pair_of(struct pair_sums *sums, const struct run_recorded_message *message)
{
    uint32_t *number =
        map_at(&sums->ranks, (struct map_key){(uint64_t)message->src << 32 | message->dst, message->site, 0});
    if (*number == MAP_ABSENT) {
        if (sums->n_rank_pairs >= MAP_ABSENT)
            return NULL;
        array_grow(&sums->rank_pairs, sums->n_rank_pairs, sizeof *sums->rank_pairs);
        *number = (uint32_t)sums->n_rank_pairs;
        sums->rank_pairs[sums->n_rank_pairs++] =
            (struct rank_pair){.site = message->site, .src = message->src, .dst = message->dst};
    }
    return &sums->rank_pairs[*number];
}

/* Returns the length of a call from when its partner's began, if that was while it lasted. */
static double call_alone_ns(int64_t call_ns, int64_t waited_ns)
{
    return (double)(waited_ns > 0 && waited_ns < call_ns ? call_ns - waited_ns : call_ns);
}

/* Returns the number of bits of a size; the sizes 0 and 1 are alike. */
static uint32_t class_of(uint64_t bytes)
{
    return bytes == 0 ? 1 : 64 - (uint32_t)__builtin_clzll(bytes);
}

static int add_time(struct pair_sums *sums, const struct run_recorded_message *message, int64_t time_ns)
{
    int64_t from = sums->node[message->src], to = sums->node[message->dst];
    if (from < 0 || to < 0 || from == to || time_ns <= 0)
        return 0;
    uint32_t class = class_of(message->bytes);
    uint32_t *number = map_at(&sums->nodes, (struct map_key){(uint64_t)from, (uint64_t)to, class});
    if (*number == MAP_ABSENT) {
        if (sums->n_node_pairs >= MAP_ABSENT)
            return -1;
        array_grow(&sums->node_pairs, sums->n_node_pairs, sizeof *sums->node_pairs);
        *number = (uint32_t)sums->n_node_pairs;
        sums->node_pairs[sums->n_node_pairs++] = (struct node_pair_times){.class = class, .from = from, .to = to};
    }
    struct node_pair_times *pair = &sums->node_pairs[*number];
    array_grow(&pair->times_ns, pair->n, sizeof *pair->times_ns);
    pair->times_ns[pair->n++] = time_ns;
    return 0;
}

static int add_message(void *context, const struct run_recorded_message *message)
{
    struct pair_sums *sums = context;
    if (message->src == message->dst || message->src >= sums->n_ranks || message->dst >= sums->n_ranks)
        return 0;
    struct rank_pair *pair = rank_pair_of(sums, message);
    if (pair == NULL)
        return -1;
    pair->n++;
    pair->small += message->bytes < PAIR_SMALL_BYTES;
    pair->bytes += (double)message->bytes;
    pair->receiver_late += message->late_ns > 0;
    pair->receiver_late_ns += message->late_ns > 0 ? (double)message->late_ns : 0;
    pair->sender_late_ns -= message->late_ns < 0 ? (double)message->late_ns : 0;
    pair->call_ns += message->send_stands ? call_alone_ns(message->send_call_ns, message->late_ns) : 0;
    pair->call_ns += message->recv_stands ? call_alone_ns(message->recv_call_ns, -message->late_ns) : 0;
    int64_t recv_ns = message->recv_ns < 0 ? 0 : message->recv_ns;
    int64_t time_ns = message->late_ns < 0 ? message->late_ns + recv_ns : recv_ns;
    if (!message->between_nodes || time_ns <= 0)
        return 0;
    pair->between_ns += (double)time_ns;
    return sums->n_nodes < LEAST_NODES ? 0 : add_time(sums, message, time_ns);
}

struct run_message_watch pair_sums_watch(struct pair_sums *sums)
{
    return (struct run_message_watch){add_message, sums};
}

void pair_sums_release(struct pair_sums *sums)
{
    for (size_t i = 0; i < sums->n_node_pairs; i++)
        free(sums->node_pairs[i].times_ns);
    free(sums->node);
    free(sums->rank_pairs);
    free(sums->node_pairs);
    map_release(&sums->ranks);
    map_release(&sums->nodes);
    *sums = (struct pair_sums){0};
}
