/* Each socket, and each node's NIC, is a lane with the spans of the rounds that use it (see concurrent_rounds.h). Where
 * two spans of a lane overlap, the lane is crowded. The crowded segments of a lane are sorted and do not touch, so two
 * searches tell how much of any interval is crowded. */
#include "interpose/sums/concurrent_rounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* A rank in a round. */
struct entry {
    int64_t begin_ns, end_ns;
    uint32_t rank;
};

struct round {
    int64_t id;
    size_t first, n; /* its entries */
};

struct rounds {
    struct round *items; /* [n] */
    size_t n;
    struct entry *entries; /* [n_entries] */
    size_t n_entries;
};

/* Begin and end of a round on a lane, or of a crowded segment of a lane. */
struct span {
    int64_t begin_ns, end_ns;
    double before_ns; /* segments: how long those before it are together */
    uint32_t lane;
};

struct spans {
    struct span *items; /* [n] */
    size_t n;
};

/* Where a rank is: its socket's lane, and its node's. */
struct place {
    uint32_t socket, node;
};

enum { NO_LANE = UINT32_MAX };

struct lanes {
    struct place *ranks; /* [n_ranks] */
    size_t n_ranks;
    uint32_t n;
    struct spans used;      /* spans of all rounds */
    struct spans *crowded;  /* [n] */
    struct spans *with_nic; /* [n] on a socket's lane: crowded there or on its node's NIC */
    struct span *round;     /* [n] span of the current round; end below begin: not used */
};

static void push(struct spans *spans, struct span span)
{
    ARRAY_ADD(spans->items, spans->n, span);
}

/* Gives each socket and each node a lane of its own. */
static int read_places(sqlite3 *database, const char *path, struct lanes *lanes, struct error *error)
{
    struct cursor rows;
    int64_t node = -1, socket = -1;
    struct place place = {NO_LANE, NO_LANE};
    cursor_open(&rows, database, path,
                "SELECT rank, node, socket FROM process WHERE node >= 0 AND socket >= 0 ORDER BY node, socket, rank",
                error);
    while (cursor_next(&rows)) {
        /* In a damaged database even a condition on the rank would not hold. */
        if (cursor_integer(&rows, 0) < 0 || cursor_integer(&rows, 0) >= MAX_RANK) {
            rows.result = error_set(error, "%s: process: rank %lld; expected 0 to %d", path,
                                    (long long)cursor_integer(&rows, 0), MAX_RANK - 1);
            break;
        }
        size_t rank = (size_t)cursor_integer(&rows, 0);
        bool new_node = place.node == NO_LANE || cursor_integer(&rows, 1) != node;
        if (new_node)
            place.node = lanes->n++;
        if (new_node || cursor_integer(&rows, 2) != socket)
            place.socket = lanes->n++;
        node = cursor_integer(&rows, 1);
        socket = cursor_integer(&rows, 2);
        while (lanes->n_ranks <= rank) {
            ARRAY_ADD(lanes->ranks, lanes->n_ranks, (struct place){NO_LANE, NO_LANE});
        }
        lanes->ranks[rank] = place;
    }
    return cursor_close(&rows);
}

static int read_rounds(sqlite3 *database, const char *path, struct rounds *rounds, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path,
                "SELECT round_id, rank, begin_ns, end_ns FROM round_process ORDER BY round_id, rank", error);
    while (cursor_next(&rows)) {
        int64_t id = cursor_integer(&rows, 0), rank = cursor_integer(&rows, 1);
        if (rounds->n == 0 || rounds->items[rounds->n - 1].id != id) {
            ARRAY_ADD(rounds->items, rounds->n, (struct round){.id = id, .first = rounds->n_entries});
        }
        ARRAY_ADD(rounds->entries, rounds->n_entries,
                  (struct entry){cursor_integer(&rows, 2), cursor_integer(&rows, 3),
                                 rank < 0 || rank >= MAX_RANK ? MAX_RANK : (uint32_t)rank});
        rounds->items[rounds->n - 1].n++;
    }
    return cursor_close(&rows);
}

static void make_lanes(struct lanes *lanes)
{
    lanes->crowded = xcalloc(lanes->n, sizeof *lanes->crowded);
    lanes->with_nic = xcalloc(lanes->n, sizeof *lanes->with_nic);
    lanes->round = xcalloc(lanes->n, sizeof *lanes->round);
    for (uint32_t lane = 0; lane < lanes->n; lane++)
        lanes->round[lane] = (struct span){.begin_ns = INT64_MAX, .end_ns = INT64_MIN, .lane = lane};
}

static struct place place_of(const struct lanes *lanes, const struct entry *entry)
{
    return entry->rank < lanes->n_ranks ? lanes->ranks[entry->rank] : (struct place){NO_LANE, NO_LANE};
}

static void widen(struct span *span, const struct entry *entry)
{
    span->begin_ns = entry->begin_ns < span->begin_ns ? entry->begin_ns : span->begin_ns;
    span->end_ns = entry->end_ns > span->end_ns ? entry->end_ns : span->end_ns;
}

static void take(struct lanes *lanes, uint32_t lane, bool wanted)
{
    struct span span = lanes->round[lane];
    lanes->round[lane] = (struct span){.begin_ns = INT64_MAX, .end_ns = INT64_MIN, .lane = lane};
    if (wanted && span.end_ns > span.begin_ns)
        push(&lanes->used, span);
}

static bool of_several_nodes(const struct lanes *lanes, const struct rounds *rounds, const struct round *round)
{
    uint32_t first = NO_LANE;
    for (size_t i = 0; i < round->n; i++) {
        uint32_t node = place_of(lanes, &rounds->entries[round->first + i]).node;
        if (first != NO_LANE && node != NO_LANE && node != first)
            return true;
        first = node != NO_LANE ? node : first;
    }
    return false;
}

/* Adds the spans of a round on the lanes of its ranks. */
static void add_round(struct lanes *lanes, const struct rounds *rounds, const struct round *round)
{
    const struct entry *entries = rounds->entries + round->first;
    bool several = of_several_nodes(lanes, rounds, round);
    for (size_t i = 0; i < round->n; i++) {
        struct place place = place_of(lanes, &entries[i]);
        if (place.socket == NO_LANE)
            continue;
        widen(&lanes->round[place.socket], &entries[i]);
        widen(&lanes->round[place.node], &entries[i]);
    }
    for (size_t i = 0; i < round->n; i++) {
        struct place place = place_of(lanes, &entries[i]);
        if (place.socket == NO_LANE)
            continue;
        take(lanes, place.socket, true);
        take(lanes, place.node, several);
    }
}

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return ORDER(a->lane, b->lane) ?: ORDER(a->begin_ns, b->begin_ns);
}

static double length_ns(const struct span *span)
{
    return (double)span->end_ns - (double)span->begin_ns;
}

/* Adds a segment that begins no earlier than those there; time that it shares with them counts once. */
static void add_segment(struct spans *segments, struct span segment)
{
    struct span *last = segments->n > 0 ? &segments->items[segments->n - 1] : NULL;
    if (last != NULL && segment.begin_ns <= last->end_ns) {
        last->end_ns = segment.end_ns > last->end_ns ? segment.end_ns : last->end_ns;
        return;
    }
    segment.before_ns = last != NULL ? last->before_ns + length_ns(last) : 0;
    push(segments, segment);
}

/* Finds the crowded segments of each lane: where a span begins before another has ended, both are under way until one
 * of them ends. */
static void find_crowded(struct lanes *lanes)
{
    int64_t until_ns = INT64_MIN;
    if (lanes->used.n > 1)
        qsort(lanes->used.items, lanes->used.n, sizeof *lanes->used.items, compare_spans);
    for (size_t i = 0; i < lanes->used.n; i++) {
        struct span span = lanes->used.items[i], both = span;
        if (i == 0 || span.lane != lanes->used.items[i - 1].lane)
            until_ns = INT64_MIN;
        both.end_ns = span.end_ns < until_ns ? span.end_ns : until_ns;
        if (both.end_ns > both.begin_ns)
            add_segment(&lanes->crowded[span.lane], both);
        until_ns = span.end_ns > until_ns ? span.end_ns : until_ns;
    }
}

/* Unites two lists of segments into one. */
static void unite(const struct spans *a, const struct spans *b, struct spans *both)
{
    for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
        bool first = k == b->n || (i < a->n && a->items[i].begin_ns <= b->items[k].begin_ns);
        add_segment(both, first ? a->items[i++] : b->items[k++]);
    }
}

static void unite_with_nics(struct lanes *lanes)
{
    for (size_t rank = 0; rank < lanes->n_ranks; rank++) {
        struct place place = lanes->ranks[rank];
        if (place.socket != NO_LANE && lanes->with_nic[place.socket].items == NULL)
            unite(&lanes->crowded[place.socket], &lanes->crowded[place.node], &lanes->with_nic[place.socket]);
    }
}

/* Returns how much of the time before at_ns lies in the segments. */
static double crowded_before(const struct spans *segments, int64_t at_ns)
{
    size_t low = 0, high = segments->n; /* the first segment that ends behind at_ns */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segments->items[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == segments->n)
        return low > 0 ? segments->items[low - 1].before_ns + length_ns(&segments->items[low - 1]) : 0;
    const struct span *segment = &segments->items[low];
    return segment->before_ns + fmax((double)at_ns - (double)segment->begin_ns, 0);
}

/* Returns the crowded share of all time in rounds, NaN without any time. */
static double sum_share(const struct lanes *lanes, const struct rounds *rounds)
{
    double time_ns = 0, crowded_ns = 0;
    for (size_t i = 0; i < rounds->n; i++) {
        const struct round *round = &rounds->items[i];
        bool several = of_several_nodes(lanes, rounds, round);
        for (size_t k = 0; k < round->n; k++) {
            const struct entry *entry = &rounds->entries[round->first + k];
            uint32_t socket = place_of(lanes, entry).socket;
            if (entry->end_ns <= entry->begin_ns)
                continue;
            time_ns += (double)entry->end_ns - (double)entry->begin_ns;
            if (socket == NO_LANE || round->n < 2)
                continue;
            const struct spans *segments = several ? &lanes->with_nic[socket] : &lanes->crowded[socket];
            crowded_ns += crowded_before(segments, entry->end_ns) - crowded_before(segments, entry->begin_ns);
        }
    }
    return time_ns > 0 ? crowded_ns / time_ns : NAN;
}

static void release(struct lanes *lanes, struct rounds *rounds)
{
    for (uint32_t lane = 0; lanes->crowded != NULL && lane < lanes->n; lane++) {
        free(lanes->crowded[lane].items);
        free(lanes->with_nic[lane].items);
    }
    free(lanes->ranks);
    free(lanes->crowded);
    free(lanes->with_nic);
    free(lanes->round);
    free(lanes->used.items);
    free(rounds->items);
    free(rounds->entries);
}

int concurrent_rounds_share(sqlite3 *database, const char *path, double *share, struct error *error)
{
    struct lanes lanes = {0};
    struct rounds rounds = {0};
    int result = read_places(database, path, &lanes, error);
    if (result == 0)
        result = read_rounds(database, path, &rounds, error);
    if (result == 0) {
        make_lanes(&lanes);
        for (size_t i = 0; i < rounds.n; i++)
            if (rounds.items[i].n > 1)
                add_round(&lanes, &rounds, &rounds.items[i]);
        find_crowded(&lanes);
        unite_with_nics(&lanes);
        *share = sum_share(&lanes, &rounds);
    }
    release(&lanes, &rounds);
    return result;
}
