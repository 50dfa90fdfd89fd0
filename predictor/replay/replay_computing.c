/* A socket's threads that compute are a step function of time, made of all calls in the order of time. Its integral is
 * kept at each step, so that a message costs a search, and not its calls. A rank has as many threads that call MPI as
 * it had calls at one time at most; those that never do (OpenMP) follow from its processor time, and count beside each
 * of them. Ranks compute from their begin to their end. See replay_computing.h. */
#include "predictor/replay/replay_computing.h"

#include <math.h>
#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "predictor/terms/memory_share.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Holds an entry to MPI (1) or an exit (-1) of a rank. */
struct passage {
    int64_t at_ns;
    uint32_t rank;
    int32_t by;
};

struct passages {
    struct passage *all; /* [n] */
    size_t n, room;
};

/* Holds one change of how many threads of a socket compute. */
struct change {
    int64_t at_ns;
    uint32_t socket;
    int32_t by;
};

/* Says from when to when a rank ran, and how many processors it had in the mean, NaN where that is not known. */
struct life {
    int64_t begin_ns, end_ns;
    double processors;
};

static const char calls_text[] =
    "SELECT rank, begin_ns, call_ns FROM call_row "
    "UNION ALL SELECT src, send_post_ns, send_call_ns FROM message_row m JOIN form f ON f.id = m.form "
    "WHERE send_call_ns IS NOT NULL AND f.send_completed IS NOT NULL "
    "UNION ALL SELECT dst, send_post_ns + late_ns, recv_call_ns FROM message_row m JOIN form f ON f.id = m.form "
    "WHERE recv_call_ns IS NOT NULL AND f.recv_completed IS NOT NULL";

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Orders by rank, then time, exits first: calls that touch each other are not of two threads. */
static int compare_passages(const void *left, const void *right)
{
    const struct passage *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->at_ns != b->at_ns ? compare_numbers(a->at_ns, b->at_ns) : compare_numbers(a->by, b->by);
}

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->socket != b->socket)
        return a->socket < b->socket ? -1 : 1;
    return compare_numbers(a->at_ns, b->at_ns);
}

static int read_calls(sqlite3 *database, const char *path, size_t n_ranks, struct passages *passages,
                      struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, calls_text, error);
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0), begin_ns = cursor_integer(&rows, 1), ns = cursor_integer(&rows, 2);
        if (rank < 0 || (size_t)rank >= n_ranks || ns <= 0)
            continue;
        array_reserve(&passages->all, &passages->room, passages->n + 2, sizeof *passages->all);
        passages->all[passages->n++] = (struct passage){begin_ns, (uint32_t)rank, 1};
        passages->all[passages->n++] = (struct passage){begin_ns + ns, (uint32_t)rank, -1};
    }
    return cursor_close(&rows);
}

static void add_stay(struct computing_rank *rank, int64_t begin_ns, int64_t end_ns)
{
    size_t room = rank->room;
    array_reserve(&rank->begin_ns, &room, rank->n_stays + 1, sizeof *rank->begin_ns);
    array_reserve(&rank->end_ns, &rank->room, rank->n_stays + 1, sizeof *rank->end_ns);
    rank->begin_ns[rank->n_stays] = begin_ns;
    rank->end_ns[rank->n_stays++] = end_ns;
}

/* Makes the stays of a rank, whose passages are in order, and returns how many of its threads were inside at once. */
static int32_t make_stays(struct computing_rank *rank, const struct passage *passages, size_t n)
{
    int32_t inside = 0, most = 1;
    int64_t begin_ns = 0;
    for (size_t i = 0; i < n; i++) {
        if (inside == 0)
            begin_ns = passages[i].at_ns;
        inside += passages[i].by;
        most = inside > most ? inside : most;
        if (inside == 0)
            add_stay(rank, begin_ns, passages[i].at_ns);
    }
    return most;
}

/* Makes the steps of the sockets from their changes, which are put in order. */
static void make_steps(struct replay_computing *computing, struct change *changes, size_t n)
{
    qsort(changes, n, sizeof *changes, compare_changes);
    for (size_t i = 0, end; i < n; i = end) {
        struct computing_socket *socket = &computing->of_socket[changes[i].socket];
        for (end = i; end < n && changes[end].socket == changes[i].socket; end++)
            ;
        socket->time_ns = xmalloc((end - i) * sizeof *socket->time_ns);
        socket->integral_s = xmalloc((end - i) * sizeof *socket->integral_s);
        socket->n = xmalloc((end - i) * sizeof *socket->n);
        int32_t computing_now = 0;
        double integral_s = 0;
        for (size_t k = i; k < end; k++) {
            if (k > i)
                integral_s += 1e-9 * (double)(changes[k].at_ns - changes[k - 1].at_ns) * computing_now;
            computing_now += changes[k].by;
            socket->time_ns[socket->n_steps] = changes[k].at_ns;
            socket->integral_s[socket->n_steps] = integral_s;
            socket->n[socket->n_steps++] = computing_now;
        }
    }
}

static int64_t within(const struct life *life, int64_t at_ns)
{
    return at_ns < life->begin_ns ? life->begin_ns : at_ns > life->end_ns ? life->end_ns : at_ns;
}

/* Returns how many threads compute for each of n_callers, which call MPI. */
static int32_t threads_each(const struct life *life, int32_t n_callers, const struct passage *passages, size_t n)
{
    double life_s = 1e-9 * (double)(life->end_ns - life->begin_ns), inside_s = 0;
    for (size_t i = 0; i < n; i++)
        inside_s -= 1e-9 * (double)(within(life, passages[i].at_ns) - life->begin_ns) * passages[i].by;
    return (int32_t)memory_threads(life->processors * life_s, inside_s, life_s * n_callers - inside_s);
}

/* Turns the passages of all ranks, in order, into stays and changes: changes[passages->n + 2 n_ranks]. Returns how many
 * changes there are. */
static size_t make_changes(struct replay_computing *computing, const struct passages *passages, const bool *placed,
                           const struct life *lives, struct change *changes)
{
    size_t n_changes = 0, first = 0;
    for (uint32_t rank = 0; rank < computing->n_ranks; rank++) {
        size_t end = first;
        const struct life *life = &lives[rank];
        bool counts = placed[rank] && life->begin_ns < life->end_ns;
        while (end < passages->n && passages->all[end].rank == rank)
            end++;
        const struct passage *own = end > first ? passages->all + first : NULL;
        int32_t callers = make_stays(&computing->of_rank[rank], own, end - first);
        uint32_t socket = computing->sockets.of[rank];
        int32_t each = counts ? threads_each(life, callers, own, end - first) : 1;
        for (size_t i = first; counts && i < end; i++)
            changes[n_changes++] =
                (struct change){within(life, passages->all[i].at_ns), socket, -passages->all[i].by * each};
        if (counts && end > first) {
            changes[n_changes++] = (struct change){life->begin_ns, socket, callers * each};
            changes[n_changes++] = (struct change){life->end_ns, socket, -callers * each};
        }
        first = end;
    }
    return n_changes;
}

/* Reads the lives of all ranks; one that is not known is empty. */
static int read_lives(sqlite3 *database, const char *path, size_t n_ranks, struct life *lives, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path,
                "SELECT rank, begin_ns, end_ns, coalesce(1.0 * run_ns / nullif(observed_ns, 0), -1) FROM process "
                "WHERE begin_ns IS NOT NULL AND end_ns IS NOT NULL",
                error);
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0);
        double processors = cursor_real(&rows, 3);
        if (rank >= 0 && (size_t)rank < n_ranks)
            lives[rank] = (struct life){.begin_ns = cursor_integer(&rows, 1),
                                        .end_ns = cursor_integer(&rows, 2),
                                        .processors = processors >= 0 ? processors : NAN};
    }
    return cursor_close(&rows);
}

/* Reads the rows `progress`; a level without bandwidths has no messages that a model could predict. */
static void read_progress(struct replay_computing *computing, const struct machine *machine)
{
    struct error unused;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct machine_protocols *protocols = &computing->protocols[level];
        if (machine_protocols(machine, level, protocols, &unused) != 0)
            protocols->n = 0;
        for (size_t i = 0; i < protocols->n; i++) {
            double of_level = machine_value(machine, level, PROTOCOL_ANY, "progress", 0);
            computing->progress[level][protocols->protocol[i]] =
                (unsigned)machine_value(machine, level, protocols->protocol[i], "progress", of_level);
        }
    }
}

void replay_computing_needs(const struct replay_computing *computing, enum level level, uint64_t bytes,
                            struct computing_message *message)
{
    const struct machine_protocols *protocols = &computing->protocols[level];
    unsigned progress = protocols->n > 0 ? computing->progress[level][machine_protocol_of(protocols, bytes)] : 0;
    message->needs_sender = (progress & 1) != 0;
    message->needs_receiver = (progress & 2) != 0;
}

int replay_computing_init(struct replay_computing *computing, sqlite3 *database, const char *path,
                          const struct recorded_places *places, const struct machine *machine, struct error *error)
{
    size_t n_ranks = places->placement.n_ranks;
    struct passages passages = {0};
    *computing =
        (struct replay_computing){.n_ranks = n_ranks, .of_rank = xcalloc(n_ranks + 1, sizeof(struct computing_rank))};
    struct life *lives = xcalloc(n_ranks + 1, sizeof *lives);
    read_progress(computing, machine);
    grouping_init(&computing->sockets, &places->placement, GROUP_BY_SOCKET);
    computing->of_socket = xcalloc(computing->sockets.n_groups + 1, sizeof *computing->of_socket);
    int result = read_calls(database, path, n_ranks, &passages, error);
    if (result == 0)
        result = read_lives(database, path, n_ranks, lives, error);
    if (result == 0) {
        computing->known = passages.n > 0;
        if (passages.n > 0)
            qsort(passages.all, passages.n, sizeof *passages.all, compare_passages);
        struct change *changes = xmalloc((passages.n + 2 * n_ranks + 1) * sizeof *changes);
        make_steps(computing, changes, make_changes(computing, &passages, places->node_known, lives, changes));
        free(changes);
    }
    free(passages.all);
    free(lives);
    return result;
}

void replay_computing_release(struct replay_computing *computing)
{
    for (size_t i = 0; computing->of_socket != NULL && i < computing->sockets.n_groups; i++) {
        free(computing->of_socket[i].time_ns);
        free(computing->of_socket[i].integral_s);
        free(computing->of_socket[i].n);
    }
    for (size_t rank = 0; computing->of_rank != NULL && rank < computing->n_ranks; rank++) {
        free(computing->of_rank[rank].begin_ns);
        free(computing->of_rank[rank].end_ns);
    }
    free(computing->of_socket);
    free(computing->of_rank);
    grouping_release(&computing->sockets);
    *computing = (struct replay_computing){0};
}

/* Returns how many of n ascending times are not after at_ns. */
static size_t count_until(const int64_t *times_ns, size_t n, int64_t at_ns)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (times_ns[middle] <= at_ns)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* Returns what the socket computed before that time. */
static double integral_s(const struct computing_socket *socket, int64_t at_ns)
{
    size_t n = count_until(socket->time_ns, socket->n_steps, at_ns);
    return n == 0 ? 0 : socket->integral_s[n - 1] + 1e-9 * (double)(at_ns - socket->time_ns[n - 1]) * socket->n[n - 1];
}

/* Adds a piece of the time in which the message may move: where the ranks that it still needs are inside. */
static void add_piece(const struct replay_computing *computing, const struct computing_message *message,
                      int64_t from_ns, int64_t to_ns, double *computed_s, double *moved_s)
{
    if (from_ns >= to_ns)
        return;
    if (!message->needs_sender && !message->needs_receiver) {
        const struct computing_socket *socket = &computing->of_socket[computing->sockets.of[message->dst]];
        *computed_s += integral_s(socket, to_ns) - integral_s(socket, from_ns);
        *moved_s += 1e-9 * (double)(to_ns - from_ns);
        return;
    }
    const struct computing_rank *rank = &computing->of_rank[message->needs_receiver ? message->dst : message->src];
    struct computing_message rest = *message;
    if (message->needs_receiver)
        rest.needs_receiver = false;
    else
        rest.needs_sender = false;
    for (size_t i = count_until(rank->end_ns, rank->n_stays, from_ns); i < rank->n_stays && rank->begin_ns[i] < to_ns;
         i++)
        add_piece(computing, &rest, rank->begin_ns[i] > from_ns ? rank->begin_ns[i] : from_ns,
                  rank->end_ns[i] < to_ns ? rank->end_ns[i] : to_ns, computed_s, moved_s);
}

double replay_computing_of(const struct replay_computing *computing, const struct computing_message *message)
{
    double computed_s = 0, moved_s = 0;
    if (message->src >= computing->n_ranks || message->dst >= computing->n_ranks)
        return 0;
    add_piece(computing, message, message->from_ns, message->to_ns, &computed_s, &moved_s);
    return moved_s > 0 && computed_s > 0 ? computed_s / moved_s : 0;
}
