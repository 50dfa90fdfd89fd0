/* A round is under way on a socket from its first rank's begin there to its last rank's end; on a node's NIC likewise,
 * if it has ranks on several nodes. One sweep over each socket counts the rounds on it and on its node's NIC: while
 * there are two, ranks in rounds there are crowded. See concurrent_rounds.h. */
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

/* A rank's socket, and the sockets of its node, numbered through all nodes; end 0: not known. */
struct place {
    uint32_t socket, first, end;
};

/* A rank in a round. */
struct entry {
    int64_t begin_ns, end_ns;
    struct place place;
};

struct span {
    int64_t begin_ns, end_ns;
};

/* What changes on a socket. */
struct moment {
    int64_t at_ns;
    uint32_t socket;
    int8_t rounds, nic_rounds; /* 1: one begins; -1: one ends */
    int8_t rank;               /* -1: a rank's time in a round begins; 1: it ends */
    bool several;              /* its round has ranks on several nodes */
};

struct sweep {
    struct place *places; /* [n_places] by rank */
    size_t n_places;
    struct span *sockets,
        *nics;           /* [of all sockets] of the round that is read; those of NICs at their node's first one */
    struct entry *round; /* [n_round] its ranks */
    size_t n_round;
    struct moment *moments;
    size_t n_moments;
    double time_ns;
};

static const struct span no_span = {INT64_MAX, INT64_MIN};

static int read_places(sqlite3 *database, const char *path, struct sweep *sweep, struct error *error)
{
    struct cursor rows;
    uint32_t n_sockets = 0;
    cursor_open(&rows, database, path,
                "WITH numbered AS (SELECT rank, node, dense_rank() OVER (ORDER BY node, socket) AS number FROM process "
                "WHERE node >= 0 AND socket >= 0) SELECT rank, number - 1, min(number) OVER (PARTITION BY node) - 1, "
                "max(number) OVER (PARTITION BY node) FROM numbered",
                error);
    while (cursor_next(&rows)) {
        /* In a damaged database even a condition on the rank would not hold. */
        if (cursor_integer(&rows, 0) < 0 || cursor_integer(&rows, 0) >= MAX_RANK) {
            rows.result = error_set(error, "%s: process: rank %lld; expected 0 to %d", path,
                                    (long long)cursor_integer(&rows, 0), MAX_RANK - 1);
            break;
        }
        size_t rank = (size_t)cursor_integer(&rows, 0);
        while (sweep->n_places <= rank)
            ARRAY_ADD(sweep->places, sweep->n_places, (struct place){0});
        struct place place = {(uint32_t)cursor_integer(&rows, 1), (uint32_t)cursor_integer(&rows, 2),
                              (uint32_t)cursor_integer(&rows, 3)};
        sweep->places[rank] = place;
        n_sockets = place.end > n_sockets ? place.end : n_sockets;
    }
    sweep->sockets = xcalloc(n_sockets, sizeof *sweep->sockets);
    sweep->nics = xcalloc(n_sockets, sizeof *sweep->nics);
    for (uint32_t i = 0; i < n_sockets; i++)
        sweep->sockets[i] = sweep->nics[i] = no_span;
    return cursor_close(&rows);
}

/* Adds begin and end of a span, of which `begins` says what begins. */
static void add_moments(struct sweep *sweep, uint32_t socket, struct span span, struct moment begins)
{
    begins.socket = socket;
    begins.at_ns = span.begin_ns;
    struct moment ends = begins;
    ends.at_ns = span.end_ns;
    ends.rounds = (int8_t)-begins.rounds;
    ends.nic_rounds = (int8_t)-begins.nic_rounds;
    ends.rank = (int8_t)-begins.rank;
    if (span.end_ns <= span.begin_ns)
        return;
    ARRAY_ADD(sweep->moments, sweep->n_moments, begins);
    ARRAY_ADD(sweep->moments, sweep->n_moments, ends);
}

static void widen(struct span *span, const struct entry *entry)
{
    span->begin_ns = entry->begin_ns < span->begin_ns ? entry->begin_ns : span->begin_ns;
    span->end_ns = entry->end_ns > span->end_ns ? entry->end_ns : span->end_ns;
}

/* Adds the round that was read; one of a rank alone is none. */
static void end_round(struct sweep *sweep)
{
    size_t n = sweep->n_round;
    uint32_t node = UINT32_MAX;
    bool several = false;
    sweep->n_round = 0;
    for (size_t i = 0; n > 1 && i < n; i++) {
        const struct entry *entry = &sweep->round[i];
        if (entry->place.end == 0)
            continue;
        several = several || (node != UINT32_MAX && node != entry->place.first);
        node = entry->place.first;
        widen(&sweep->sockets[entry->place.socket], entry);
        widen(&sweep->nics[entry->place.first], entry);
    }
    for (size_t i = 0; n > 1 && i < n; i++) {
        const struct entry *entry = &sweep->round[i];
        struct place place = entry->place;
        if (place.end == 0)
            continue;
        struct span *on_socket = &sweep->sockets[place.socket];
        struct moment begins = {.rank = -1, .several = several};
        /* Mostly a round has one rank on a socket. */
        begins.rounds = entry->begin_ns == on_socket->begin_ns && entry->end_ns == on_socket->end_ns;
        add_moments(sweep, place.socket, (struct span){entry->begin_ns, entry->end_ns}, begins);
        if (begins.rounds == 0)
            add_moments(sweep, place.socket, *on_socket, (struct moment){.rounds = 1});
        for (uint32_t socket = place.first; several && socket < place.end; socket++)
            add_moments(sweep, socket, sweep->nics[place.first], (struct moment){.nic_rounds = 1});
        *on_socket = sweep->nics[place.first] = no_span;
    }
}

static int read_rounds(sqlite3 *database, const char *path, struct sweep *sweep, struct error *error)
{
    struct cursor rows;
    int64_t round = 0;
    cursor_open(&rows, database, path,
                "SELECT round_id, rank, begin_ns, end_ns FROM round_process ORDER BY round_id, rank", error);
    while (cursor_next(&rows)) {
        uint64_t rank = (uint64_t)cursor_integer(&rows, 1);
        struct entry entry = {cursor_integer(&rows, 2), cursor_integer(&rows, 3),
                              rank < sweep->n_places ? sweep->places[rank] : (struct place){0}};
        if (sweep->n_round > 0 && cursor_integer(&rows, 0) != round)
            end_round(sweep);
        round = cursor_integer(&rows, 0);
        ARRAY_ADD(sweep->round, sweep->n_round, entry);
        sweep->time_ns += fmax((double)entry.end_ns - (double)entry.begin_ns, 0);
    }
    end_round(sweep);
    return cursor_close(&rows);
}

static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    return ORDER(a->socket, b->socket) ?: ORDER(a->at_ns, b->at_ns);
}

/* Returns the crowded part of the time of ranks in rounds. */
static double sum_crowded(struct sweep *sweep)
{
    double crowded_ns = 0, socket_ns = 0, either_ns = 0; /* crowded so far: the socket; the socket or the NIC */
    int64_t rounds = 0, nic_rounds = 0;
    if (sweep->n_moments > 1)
        qsort(sweep->moments, sweep->n_moments, sizeof *sweep->moments, compare_moments);
    for (size_t i = 0; i < sweep->n_moments; i++) {
        const struct moment *moment = &sweep->moments[i];
        /* All that begins on a socket also ends there. */
        double since_ns = rounds + nic_rounds > 0 ? (double)moment->at_ns - (double)moment[-1].at_ns : 0;
        socket_ns += rounds > 1 ? since_ns : 0;
        either_ns += rounds > 1 || nic_rounds > 1 ? since_ns : 0;
        crowded_ns += moment->rank * (moment->several ? either_ns : socket_ns);
        rounds += moment->rounds;
        nic_rounds += moment->nic_rounds;
    }
    return crowded_ns;
}

int concurrent_rounds_share(sqlite3 *database, const char *path, double *share, struct error *error)
{
    struct sweep sweep = {0};
    int result = read_places(database, path, &sweep, error);
    if (result == 0)
        result = read_rounds(database, path, &sweep, error);
    if (result == 0)
        *share = sweep.time_ns > 0 ? sum_crowded(&sweep) / sweep.time_ns : NAN;
    free(sweep.places);
    free(sweep.sockets);
    free(sweep.nics);
    free(sweep.round);
    free(sweep.moments);
    return result;
}
