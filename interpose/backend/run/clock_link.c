/* Node leaders measure their clocks by ping-pongs: the child asks, the parent answers with its CLOCK_MONOTONIC. The
 * answer with the shortest round trip counts, its time taken to lie in the middle (Cristian, "Probabilistic clock
 * synchronization", 1989). Leader i's parent is leader (i - 1) / 2. Each first asks its parent, then serves its
 * children one after the other, so no two wait for each other. */
#include "interpose/backend/run/clock_link.h"

#include "interpose/spool/clock.h"
#include "interpose/backend/recorder/state.h"

#define PINGS             64
#define GOOD_RTT_NS       UINT64_C(200000)   /* longer measuring gains nothing */
#define LINK_TIME_NS      UINT64_C(10000000) /* time for PINGS */
#define LINK_TIME_MOST_NS UINT64_C(60000000) /* limit where no round trip was good yet: processes that share cores */
#define TAG_PING          1
#define TAG_PONG          2

static struct spool_clock_link ask(const struct run *run, int parent)
{
    struct spool_clock_link best = {.rtt_ns = UINT64_MAX, .parent_rank = -1};
    uint64_t begin_ns = spool_clock_node_ns();
    for (int i = 0, more = 1; more; i++) {
        uint64_t sent_ns = spool_clock_node_ns(), parent_ns;
        uint64_t limit_ns = best.rtt_ns > GOOD_RTT_NS ? LINK_TIME_MOST_NS : LINK_TIME_NS;
        more = (i + 1 < PINGS || best.rtt_ns > GOOD_RTT_NS) && sent_ns - begin_ns < limit_ns;
        if (PMPI(Send)(&more, 1, MPI_INT, parent, TAG_PING, run->comm) != MPI_SUCCESS ||
            PMPI(Recv)(&parent_ns, 8, MPI_BYTE, parent, TAG_PONG, run->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            break;
        uint64_t received_ns = spool_clock_node_ns(), rtt_ns = received_ns - sent_ns;
        if (rtt_ns < best.rtt_ns) {
            best.rtt_ns = rtt_ns;
            best.at_ns = sent_ns + rtt_ns / 2;
            best.offset_ns = (int64_t)(parent_ns - best.at_ns);
            best.parent_rank = parent;
        }
    }
    return best;
}

static void answer(const struct run *run, int child)
{
    for (int more = 1; more;) {
        if (PMPI(Recv)(&more, 1, MPI_INT, child, TAG_PING, run->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        uint64_t now_ns = spool_clock_node_ns();
        if (PMPI(Send)(&now_ns, 8, MPI_BYTE, child, TAG_PONG, run->comm) != MPI_SUCCESS)
            return;
    }
}

struct spool_clock_link clock_link_measure(const struct run *run)
{
    struct spool_clock_link link = {.parent_rank = -1};
    int i = 0;
    while (run->leaders[i] != run->rank)
        i++;
    if (i > 0)
        link = ask(run, run->leaders[(i - 1) / 2]);
    for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
        if (child < run->n_leaders)
            answer(run, run->leaders[child]);
    return link;
}
