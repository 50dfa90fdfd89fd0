/* First each process finds by sockets, without a message, which other processes of its node are here. Then all ranks
 * meet up and down a binomial tree of MPI_COMM_WORLD, also across nodes: the parent of a rank is that rank without its
 * lowest bit. A rank sends to its parent that all below it are here, and the parent sends back what the root decided.
 * Every wait has a time limit, so no call here blocks: a rank that has heard nothing by then sends to those below it
 * that they go on apart. Only the root decides that all are here, and a rank that waits for its decision gives it more
 * time than those above it need.
 *
 * It uses messages instead of a collective, which a process without the recorder might match with one of its own. See
 * lifecycle.c for what keeps them apart from the application's. */
#include "interpose/backend/run/join.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/run/comm.h"
#include "interpose/backend/run/launcher_environment.h"
#include "share/base/settings.h"

/* A process that was started without the recorder would find a message of ours where the application takes any, and
 * a collective of ours would wait for it for ever. So each process says that it is here by a socket whose name is
 * the launcher's name for this MPI_COMM_WORLD and the rank on the node. Such names lie in no file system, only the
 * processes of this machine see them, and the kernel takes them away with the process. Nothing is ever sent. */
enum { WORLD_BYTES = 60 }; /* of the world's name, so that there is room for all */

static struct {
    char world[256];
    uint64_t start;
    int socket;    /* with our name */
    int n;         /* processes on this node, 0: not known */
    char *is_here; /* [n] */
} node = {.socket = -1};

/* Writes the name of a process of this node; returns the length of the address. */
static socklen_t socket_name(struct sockaddr_un *address, int rank)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* A name that begins with NUL is in no file system. Worlds of one launcher differ at the end of theirs. */
    size_t world = strlen(node.world);
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mpistair-%s-%" PRIx64 "-%d",
                          node.world + (world > WORLD_BYTES ? world - WORLD_BYTES : 0), node.start, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

void join_announce(void)
{
    struct sockaddr_un address;
    int n = launcher_local_size(), rank = launcher_local_rank();
    if (node.n > 0 || n < 2 || rank < 0 || rank >= n || launcher_world(node.world, sizeof node.world) != 0)
        return;
    node.start = launcher_start();
    node.is_here = calloc((size_t)n, 1);
    node.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (node.is_here && node.socket >= 0 && bind(node.socket, (void *)&address, socket_name(&address, rank)) == 0) {
        node.n = n;
        node.is_here[rank] = 1;
    } else {
        join_withdraw();
    }
}

/* Returns how many processes that the launcher started on this node have not announced themselves so far; 0 where it
 * does not say how many there are, or this process cannot look. A process that was seen once counts as here for good.
 */
static int look_for_others(void)
{
    int missing = 0, look = node.n > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    for (int rank = 0; rank < node.n && look >= 0; rank++) {
        struct sockaddr_un address;
        if (!node.is_here[rank])
            node.is_here[rank] = connect(look, (void *)&address, socket_name(&address, rank)) == 0;
        missing += !node.is_here[rank];
    }
    if (look >= 0)
        close(look);
    return missing;
}

void join_withdraw(void)
{
    if (node.socket >= 0)
        close(node.socket);
    free(node.is_here);
    node.socket = -1;
    node.is_here = NULL;
    node.n = 0;
}

#define TAG_MEET 24601 /* an application is unlikely to use it, and it is below the 32767 that every MPI has */

#define DEFAULT_JOIN_S 60
#define MOST_JOIN_S    1000000
#define NS_PER_S       UINT64_C(1000000000)
#define LEVEL_NS       (2 * NS_PER_S) /* what a level of the tree may take longer than the one above it */
#define MOST_PAUSE_NS  5000000
#define LEAST_TESTS    100

static int speaks = 1;

struct wait {
    uint64_t end_ns, say_ns; /* say_ns: UINT64_MAX once a line was printed */
    int join_s, say_s;
    long pause_ns;
};

static int join_s(int rank)
{
    const char *text = setting("MPISTAIR_JOIN_S");
    char *end;
    if (!text || !*text)
        return DEFAULT_JOIN_S;
    errno = 0;
    long s = strtol(text, &end, 10);
    if (*text >= '1' && *text <= '9' && *end == '\0' && errno == 0 && s <= MOST_JOIN_S)
        return (int)s;
    if (rank == 0)
        fprintf(stderr, "mpistair: MPISTAIR_JOIN_S must be a number of seconds from 1 to %d, not '%s'; using %d\n",
                MOST_JOIN_S, text, DEFAULT_JOIN_S);
    return DEFAULT_JOIN_S;
}

/* Sleeps a little longer each time. Returns 0 once the wait is over. */
static int pause_until(struct wait *wait, uint64_t end_ns)
{
    if (clock_monotonic_ns() >= end_ns)
        return 0;
    if (wait->pause_ns < 100000)
        sched_yield(); /* the others are mostly about to come */
    else
        nanosleep(&(struct timespec){.tv_nsec = wait->pause_ns}, NULL);
    wait->pause_ns += wait->pause_ns < MOST_PAUSE_NS ? wait->pause_ns / 16 + 100 : 0;
    return 1;
}

/* Returns whether to print, once, which ranks the others wait for. */
static int is_time_to_say(struct wait *wait)
{
    if (clock_monotonic_ns() < wait->say_ns)
        return 0;
    wait->say_ns = UINT64_MAX;
    return 1;
}

/* Writes the ranks of this node that are not here; returns how many. */
static int list_missing(const struct run *run, char *text, size_t size)
{
    const char *is_here = node.is_here;
    int n = node.n, rank;
    size_t used = 0;
    if (n != run->size)
        used = (size_t)snprintf(text, size, "on %.100s the ", run->host);
    const char *what = n == run->size ? "rank" : "local rank";
    int begin = 1, missing = 0;
    for (rank = 0; rank < n; rank++)
        missing += !is_here[rank];
    for (rank = 0; rank < n && used + 40 < size; rank++) {
        int first = rank;
        if (is_here[rank])
            continue;
        while (rank + 1 < n && !is_here[rank + 1])
            rank++;
        if (begin)
            used += (size_t)snprintf(text + used, size - used, "%s%s ", what, missing > 1 ? "s" : "");
        used += (size_t)snprintf(text + used, size - used, rank > first ? "%s%d-%d" : "%s%d", begin ? "" : ", ", first,
                                 rank);
        begin = 0;
    }
    if (rank < n)
        snprintf(text + used, size - used, ", ...");
    return missing;
}

static void say_whom(const struct wait *wait, const char *whom, const char *have)
{
    fprintf(stderr,
            "mpistair: %s %s not joined the recording after %d s, as a process does that was started without "
            "LD_PRELOAD. All others wait for %d s (MPISTAIR_JOIN_S), then they go on without. Start all with it: "
            "mpistair run, or with Open MPI on several hosts mpiexec -x LD_PRELOAD\n",
            whom, have, wait->say_s, wait->join_s);
}

static void say_without(const struct wait *wait, const char *whom)
{
    fprintf(
        stderr,
        "mpistair: %s did not join the recording in %d s (MPISTAIR_JOIN_S); the job goes on, and its trace lacks what "
        "they do\n",
        whom, wait->join_s);
}

/* Waits until all of this node are here. Returns 1, or 0 where they have not in time. */
static int wait_for_node(const struct run *run, struct wait *wait)
{
    char whom[300];
    while (look_for_others() > 0) {
        int first = 0;
        while (first < node.n && !node.is_here[first])
            first++;
        speaks = first == launcher_local_rank();
        if (speaks && is_time_to_say(wait)) {
            int missing = list_missing(run, whom, sizeof whom);
            say_whom(wait, whom, missing > 1 ? "have" : "has");
        }
        if (!pause_until(wait, wait->end_ns)) {
            list_missing(run, whom, sizeof whom);
            if (speaks)
                say_without(wait, whom);
            return 0;
        }
    }
    return 1;
}

/* Waits for a request. Returns 1 once it is complete, else 0; a receive is taken back then. whom: of whom to speak
 * meanwhile; NULL: it is not for this rank to do it. */
static int wait_for_request(struct wait *wait, MPI_Request *request, int is_receive, uint64_t end_ns, const char *whom)
{
    int done = 0, tests = 0, is_time = 1;
    wait->pause_ns = 100;
    while (is_time || tests++ < LEAST_TESTS) { /* what has come long ago may still need MPI to look */
        if (PMPI(Test)(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done)
            return done;
        if (whom && is_time_to_say(wait))
            say_whom(wait, whom, "has");
        is_time = pause_until(wait, end_ns);
    }
    if (!is_receive) { /* a send cannot be taken back */
        PMPI(Request_free)(request);
        return 0;
    }
    MPI_Status status;
    int is_cancelled = 0;
    PMPI(Cancel)(request);
    PMPI(Wait)(request, &status);
    PMPI(Test_cancelled)(&status, &is_cancelled);
    if (is_cancelled && whom)
        say_without(wait, whom);
    return !is_cancelled;
}

/* Returns what the rank says, -1 where it says nothing until end_ns. */
static int hear_word(struct wait *wait, int rank, uint64_t end_ns, const char *whom)
{
    MPI_Request request;
    int word = -1;
    if (PMPI(Irecv)(&word, 1, MPI_INT, rank, TAG_MEET, run_comm, &request) != MPI_SUCCESS)
        return -1;
    return wait_for_request(wait, &request, 1, end_ns, whom) ? word : -1;
}

/* Returns 1 once the word is under way. */
static int say_word(struct wait *wait, int rank, int word, uint64_t end_ns)
{
    static int words[2] = {0, 1}; /* stay, should the send not be complete in time */
    MPI_Request request;
    if (PMPI(Isend)(&words[word], 1, MPI_INT, rank, TAG_MEET, run_comm, &request) != MPI_SUCCESS)
        return 0;
    return wait_for_request(wait, &request, 0, end_ns, NULL);
}

/* Hears of all below that are here, those behind one that is not, too: else their words would stay. Returns a bit for
 * each child. */
static uint32_t hear_children(const struct run *run, struct wait *wait, int n)
{
    uint32_t heard = 0;
    for (int i = 0; i < n; i++) {
        char whom[64];
        int child = run->rank + (1 << i), last = i == 30 ? run->size - 1 : child + (1 << i) - 1;
        last = last < run->size ? last : run->size - 1;
        snprintf(whom, sizeof whom, last > child ? "one of ranks %d-%d" : "rank %d", child, last);
        if (hear_word(wait, child, wait->end_ns, whom) == 1)
            heard |= UINT32_C(1) << i;
    }
    return heard;
}

static int meet(const struct run *run, struct wait *wait)
{
    int rank = run->rank, n_children = 0;
    while (n_children < 31 && !(rank >> n_children & 1) && (INT64_C(1) << n_children) < run->size - rank)
        n_children++;
    uint32_t heard = hear_children(run, wait, n_children);
    int all = heard == (UINT32_C(1) << n_children) - 1;
    if (rank > 0 && all) {
        int parent = rank & (rank - 1);
        uint64_t end_ns = wait->end_ns + (uint64_t)__builtin_popcount((unsigned)rank) * LEVEL_NS;
        /* A missing rank is reported by its parent, and rank 0 has none. */
        const char *whom = parent == 0 ? "rank 0, or one that it waits for," : NULL;
        all = say_word(wait, parent, 1, wait->end_ns) && hear_word(wait, parent, end_ns, whom) == 1;
    }
    for (int i = 0; i < n_children; i++)
        if (heard >> i & 1)
            say_word(wait, rank + (1 << i), all, clock_monotonic_ns() + LEVEL_NS);
    return all;
}

int join_wait(const struct run *run)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct wait wait = {.join_s = join_s(run->rank), .pause_ns = 100};
    wait.say_s = wait.join_s < 2 * JOIN_SAY_S ? (wait.join_s + 1) / 2 : JOIN_SAY_S;
    wait.say_ns = now_ns + (uint64_t)wait.say_s * NS_PER_S;
    wait.end_ns = now_ns + (uint64_t)wait.join_s * NS_PER_S;
    speaks = run->rank == 0;
    if (run->size == 1)
        return 1;
    if (!wait_for_node(run, &wait))
        return 0;
    speaks = run->rank == 0;
    wait.end_ns += LEVEL_NS; /* the last of a node may have come just now */
    return meet(run, &wait);
}

int join_speaks(void)
{
    return speaks;
}
