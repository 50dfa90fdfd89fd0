/* The facts of a node are asked for once, at the start or the end of a process. How each is found stands before it. */
#include "interpose/backend/run/node.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/run/comm.h"
#include "interpose/backend/run/folder.h"
#include "interpose/backend/run/run.h"
#include "interpose/spool/clock.h"

/* hwloc is loaded here and only here, with its symbols kept local, so that the job's own hwloc is not disturbed and no
 * recorded process needs one. hwloc itself honours HWLOC_XMLFILE and HWLOC_SYNTHETIC. */
#define INCLUDE_DISALLOWED 1UL /* HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED: other ranks' processors too */

typedef struct hwloc_topology *hwloc_topology_t;

typedef int export_xml_buffer(hwloc_topology_t, char **xml, int *bytes, unsigned long flags);

struct text {
    char *xml;
    int bytes; /* includes the 0 at its end */
};

static int write_text(int fd, const void *data)
{
    const struct text *text = data;
    return text->bytes > 0 && write(fd, text->xml, (size_t)text->bytes - 1) == text->bytes - 1 ? 0 : -1;
}

void node_write_topology(struct run *run)
{
    int claimed = folder_create(run, run->topology, 0);
    if (claimed < 0)
        return;
    close(claimed);
    run->made_topology = 1;
    void *hwloc = dlopen("libhwloc.so.15", RTLD_LOCAL | RTLD_NOW);
    hwloc_topology_t topology;
    int written = 0;
    if (hwloc) {
        int (*init)(hwloc_topology_t *) = (int (*)(hwloc_topology_t *))dlsym(hwloc, "hwloc_topology_init");
        int (*set_flags)(hwloc_topology_t, unsigned long) =
            (int (*)(hwloc_topology_t, unsigned long))dlsym(hwloc, "hwloc_topology_set_flags");
        int (*load)(hwloc_topology_t) = (int (*)(hwloc_topology_t))dlsym(hwloc, "hwloc_topology_load");
        export_xml_buffer *export_xml = (export_xml_buffer *)dlsym(hwloc, "hwloc_topology_export_xmlbuffer");
        void (*free_xml)(hwloc_topology_t, char *) =
            (void (*)(hwloc_topology_t, char *))dlsym(hwloc, "hwloc_free_xmlbuffer");
        void (*destroy)(hwloc_topology_t) = (void (*)(hwloc_topology_t))dlsym(hwloc, "hwloc_topology_destroy");
        if (init && set_flags && load && export_xml && free_xml && destroy && init(&topology) == 0) {
            struct text text = {NULL, 0};
            set_flags(topology, INCLUDE_DISALLOWED);
            if (load(topology) == 0 && export_xml(topology, &text.xml, &text.bytes, 0) == 0) {
                written = folder_write(run, run->topology, write_text, &text) == 0;
                free_xml(topology, text.xml);
            }
            destroy(topology);
        }
        dlclose(hwloc);
    }
    if (!written) {
        unlink(run->topology);
        run->made_topology = 0;
        run->topology[0] = '\0';
    }
}

/* Node leaders measure their clocks by ping-pongs: the child asks, the parent answers with its CLOCK_MONOTONIC. The
 * answer with the shortest round trip counts, its time taken to lie in the middle (Cristian, "Probabilistic clock
 * synchronization", 1989). Leader i's parent is leader (i - 1) / 2. Each first asks its parent, then serves its
 * children one after the other, so no two wait for each other. */
#define PINGS             64
#define GOOD_RTT_NS       UINT64_C(200000)   /* longer measuring gains nothing */
#define LINK_TIME_NS      UINT64_C(10000000) /* time for PINGS */
#define LINK_TIME_MOST_NS UINT64_C(60000000) /* limit where no round trip was good yet: processes that share cores */
#define TAG_PING          1
#define TAG_PONG          2

/* What a parent answers: its clock, and by how much that of rank 0's node is ahead of it. */
struct clock_answer {
    uint64_t now_ns;
    int64_t root_ahead_ns;
};

static struct spool_clock_link ask_parent(int parent, int64_t *root_ahead_ns)
{
    struct spool_clock_link best = {.rtt_ns = UINT64_MAX, .parent_rank = -1};
    uint64_t begin_ns = spool_clock_node_ns();
    for (int i = 0, more = 1; more; i++) {
        struct clock_answer answer;
        uint64_t sent_ns = spool_clock_node_ns();
        uint64_t limit_ns = best.rtt_ns > GOOD_RTT_NS ? LINK_TIME_MOST_NS : LINK_TIME_NS;
        more = (i + 1 < PINGS || best.rtt_ns > GOOD_RTT_NS) && sent_ns - begin_ns < limit_ns;
        if (PMPI(Send)(&more, 1, MPI_INT, parent, TAG_PING, run_comm) != MPI_SUCCESS ||
            PMPI(Recv)(&answer, sizeof answer, MPI_BYTE, parent, TAG_PONG, run_comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            break;
        uint64_t received_ns = spool_clock_node_ns(), rtt_ns = received_ns - sent_ns;
        if (rtt_ns < best.rtt_ns) {
            best.rtt_ns = rtt_ns;
            best.at_ns = sent_ns + rtt_ns / 2;
            best.offset_ns = (int64_t)(answer.now_ns - best.at_ns);
            best.parent_rank = parent;
        }
        *root_ahead_ns = answer.root_ahead_ns;
    }
    if (best.parent_rank < 0)
        *root_ahead_ns = NODE_CLOCK_UNKNOWN;
    else if (*root_ahead_ns != NODE_CLOCK_UNKNOWN)
        *root_ahead_ns += best.offset_ns;
    return best;
}

static void answer_child(int child, int64_t root_ahead_ns)
{
    for (int more = 1; more;) {
        if (PMPI(Recv)(&more, 1, MPI_INT, child, TAG_PING, run_comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        struct clock_answer answer = {spool_clock_node_ns(), root_ahead_ns};
        if (PMPI(Send)(&answer, sizeof answer, MPI_BYTE, child, TAG_PONG, run_comm) != MPI_SUCCESS)
            return;
    }
}

struct spool_clock_link node_measure_clock_link(const struct run *run, int64_t *root_ahead_ns)
{
    struct spool_clock_link link = {.parent_rank = -1};
    int i = 0;
    *root_ahead_ns = 0;
    while (run->leaders[i] != run->rank)
        i++;
    if (i > 0)
        link = ask_parent(run->leaders[(i - 1) / 2], root_ahead_ns);
    for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
        if (child < run->n_leaders)
            answer_child(run->leaders[child], *root_ahead_ns);
    return link;
}

int64_t node_agree_root_ahead(const struct run *run, int64_t root_ahead_ns)
{
    int64_t *all = malloc((size_t)run->size * sizeof *all), mine = NODE_CLOCK_UNKNOWN;
    int64_t room = all ? 1 : NODE_CLOCK_UNKNOWN, every = NODE_CLOCK_UNKNOWN;
    /* The least of all: where one does not know its clock or has no memory, nobody does. */
    if (run->node_leader == run->rank && root_ahead_ns == NODE_CLOCK_UNKNOWN)
        room = NODE_CLOCK_UNKNOWN;
    if (PMPI(Allreduce)(&room, &every, 1, MPI_INT64_T, MPI_MIN, run_comm) == MPI_SUCCESS && every == 1 &&
        PMPI(Allgather)(&root_ahead_ns, 1, MPI_INT64_T, all, 1, MPI_INT64_T, run_comm) == MPI_SUCCESS)
        mine = all[run->node_leader];
    free(all);
    return mine;
}

int64_t node_agree_begin(int64_t root_ahead_ns)
{
    int64_t last_ns = 0;
    if (root_ahead_ns == NODE_CLOCK_UNKNOWN)
        return 0;
    int64_t now_ns = (int64_t)spool_clock_node_ns() + root_ahead_ns;
    if (PMPI(Allreduce)(&now_ns, &last_ns, 1, MPI_INT64_T, MPI_MAX, run_comm) != MPI_SUCCESS)
        return 0;
    return last_ns;
}

/* Ranks spin while they wait, so a rank without a processor of its own looks like one that waits for messages. The
 * kernel knows better: schedstat has the time that a thread was ready to run while others had its processor. It is
 * read for the main thread, which calls MPI in most programs; threads that come and go would take their times along. */
#define NS_PER_S UINT64_C(1000000000)

static uint64_t time_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

static uint64_t wait_ns(void)
{
    char text[128];
    uint64_t run_ns = 0, waited_ns = 0;
    spool_read_text("/proc/self/schedstat", text, sizeof text);
    int is_known = sscanf(text, "%" SCNu64 " %" SCNu64, &run_ns, &waited_ns) == 2 && run_ns > 0;
    return is_known ? waited_ns : SPOOL_NOT_KNOWN;
}

struct spool_processor_use node_processor_use(void)
{
    struct timespec now;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0 || clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return (struct spool_processor_use){0};
    return (struct spool_processor_use){
        .at_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec,
        .run_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime),
        .wait_ns = wait_ns(),
        .involuntary_switches = usage.ru_nivcsw > 0 ? (uint64_t)usage.ru_nivcsw : 0,
    };
}

/* Only Open MPI's ob1 has an eager limit for each transport and names it: each BTL has an MCA variable. A component
 * that is not in use (another PML was chosen, a BTL found no device or was switched off) is closed at MPI_Init and its
 * variables are withdrawn. So a variable that can be found belongs to a transport that is there. If there are several,
 * the one with the highest exclusivity carries the messages to a peer: shared memory before TCP inside a node,
 * InfiniBand before TCP between nodes (btl_..._exclusivity in Open MPI 4.1: vader and sm 65535, openib 1024, tcp 100).
 *
 * The MPI tool interface has the same variables, but MPI_T_init_thread of Open MPI 4.1 loads all components that are
 * installed: 69 libraries and 0.2 s here. So Open MPI is asked where MPI_T asks, by the two functions that its own
 * tools use (test/monitoring/monitoring_test.c in its sources); a build that does not export them is not asked.
 *
 * UCX (the PML of that name, and MPICH over it) decides by itself for each size and peer and tells nothing here. */
#if defined OPEN_MPI || defined MPISTAIR_STANDARD_ABI /* whose MPI may be Open MPI */

/* Declared in opal/mca/base/mca_base_var.h: one gives 0 and the index of a variable, the other 0 and a pointer to
 * where its value is. */
typedef int find_by_name(const char *full_name, int *index);
typedef int get_value(int index, const void *value, void *source, const char **source_file);

static const char *const inside[] = {"btl_vader_eager_limit", "btl_sm_eager_limit", "btl_tcp_eager_limit", NULL};
static const char *const between[] = {"btl_openib_eager_limit", "btl_tcp_eager_limit", NULL};

/* Returns where the value of a variable is; NULL if there is none of that name. */
static const void *variable(const char *name)
{
    union { /* ISO C has no conversion for this */
        void *object;
        find_by_name *find;
        get_value *get;
    } find = {dlsym(RTLD_DEFAULT, "mca_base_var_find_by_name")}, get = {dlsym(RTLD_DEFAULT, "mca_base_var_get_value")};
    int index = -1;
    const void *value = NULL;
    if (!find.object || !get.object || find.find(name, &index) != 0 || index < 0 ||
        get.get(index, &value, NULL, NULL) != 0)
        return NULL;
    return value;
}

uint64_t node_eager_limit_bytes(int between_nodes)
{
    const int *priority = variable("pml_ob1_priority");
    const size_t *bytes = NULL;
    if (priority && *priority > 0)
        for (const char *const *name = between_nodes ? between : inside; *name && !bytes; name++)
            bytes = variable(*name);
    return bytes ? *bytes : 0;
}

#else

uint64_t node_eager_limit_bytes(int between_nodes)
{
    (void)between_nodes;
    return 0;
}

#endif
