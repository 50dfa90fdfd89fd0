/* Makes and frees communicators in every way that this MPI has, and exchanges messages on each; needs 4 ranks.
 *
 * usage: communicators OUT [connect] [threads]
 *
 * OUT.RANK, a line each: `member LABEL RANK SIZE REMOTE_SIZE WORLD_RANK KNOWN` and, by the receiver, who learns the
 * sender's world rank from the message, `message LABEL SRC DST TAG BYTES`.
 */
#include "tests/apps/communicator_kinds.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/apps/mpi_itself.h"

#define TAG   5
#define LIMIT 8192 /* bytes of a message */
#define MOST  16   /* ranks */

static FILE *out;
static int world_rank, world_size;
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;

void required(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Returns the bytes of the messages under a label: 64 to 4160, the same in all processes. */
static int bytes_of(const char *label)
{
    unsigned hash = 5381;
    for (const char *c = label; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    return 64 + (int)(hash % 1024) * 4;
}

/* Sends to and receives from each of n, all at once; wild: receives take whatever comes first. */
static void all_to_all(MPI_Comm comm, const char *label, int n, int wild, int free_it)
{
    static _Thread_local int in[MOST][LIMIT / 4], mine[LIMIT / 4];
    MPI_Request requests[2 * MOST];
    int bytes = bytes_of(label);
    mine[0] = world_rank;
    for (int i = 0; i < n; i++)
        MPI_Irecv(in[i], bytes, MPI_BYTE, wild ? MPI_ANY_SOURCE : i, TAG, comm, &requests[i]);
    for (int i = 0; i < n; i++)
        MPI_Isend(mine, bytes, MPI_BYTE, i, TAG, comm, &requests[n + i]);
    if (free_it)
        MPI_Comm_free(&comm); /* with all that pending */
    MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
    pthread_mutex_lock(&out_lock);
    for (int i = 0; i < n; i++)
        fprintf(out, "message %s %d %d %d %d\n", label, in[i][0], world_rank, TAG, bytes);
    pthread_mutex_unlock(&out_lock);
}

static void talk(MPI_Comm comm, const char *label, int known, int free_it)
{
    int rank, size, remote_size = 0, is_inter;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_test_inter(comm, &is_inter);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (is_inter)
        MPI_Comm_remote_size(comm, &remote_size);
    MPI_Comm_set_name(comm, label);
    pthread_mutex_lock(&out_lock);
    fprintf(out, "member %s %d %d %d %d %d\n", label, rank, size, remote_size, world_rank, known);
    pthread_mutex_unlock(&out_lock);
    all_to_all(comm, label, is_inter ? remote_size : size, bytes_of(label) % 8 == 0, free_it);
}

void exchange_on(MPI_Comm comm, const char *label, int known)
{
    talk(comm, label, known, 0);
}

void exchange_and_free(MPI_Comm *comm, const char *label)
{
    exchange_on(*comm, label, 1);
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

/* Returns the label with a letter for the part of a split that this process is in. */
static const char *part(const char *label, int color)
{
    static char text[64];
    snprintf(text, sizeof text, "%s_%c", label, 'a' + color);
    return text;
}

static MPI_Group group_of(int n, const int ranks[])
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

/* Duplicates as a tool would: nobody who stands before the MPI sees it. */
static void dup_unseen(MPI_Comm *comm)
{
    ((__typeof__(&MPI_Comm_dup))mpi_itself("PMPI_Comm_dup"))(MPI_COMM_WORLD, comm);
}

static void make_intracommunicators(void)
{
    MPI_Comm comm, none;
    int first_three[3] = {2, 0, 1};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    exchange_and_free(&comm, "dup");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    exchange_and_free(&comm, "dup_with_info");
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3 == 0 ? 0 : MPI_UNDEFINED, 0, &none);
    exchange_and_free(&none, "split_some");
    MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, -world_rank, &comm); /* the order turned round */
    exchange_and_free(&comm, part("split", world_rank / 2));
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    exchange_and_free(&comm, "split_type");
    MPI_Group group = group_of(3, first_three);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    MPI_Group_free(&group);
    exchange_and_free(&comm, "create");
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    char label[32];
    snprintf(label, sizeof label, "self_dup_%d", world_rank);
    exchange_and_free(&comm, label);
    for (int i = 0; i < 20; i++) { /* the same handle again and again */
        snprintf(label, sizeof label, "again_%d", i);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        exchange_and_free(&comm, label);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    talk(comm, "pending", 1, 1);
    dup_unseen(&comm);
    exchange_on(comm, "met", 0);
    PMPI_Comm_free(&comm);
}

static void make_topologies(void)
{
    MPI_Comm cart, comm;
    int dims[2] = {2, 2}, periods[2] = {1, 0}, rows[2] = {0, 1}, coordinates[2], rank;
    int index[4] = {1, 2, 3, 4}, edges[4] = {1, 0, 3, 2};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
    exchange_on(cart, "cart", 1);
    if (cart != MPI_COMM_NULL) {
        MPI_Comm_rank(cart, &rank);
        MPI_Cart_coords(cart, rank, 2, coordinates);
        MPI_Cart_sub(cart, rows, &comm);
        exchange_and_free(&comm, part("cart_sub", coordinates[0]));
        MPI_Comm_free(&cart);
    }
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 1, &comm);
    exchange_and_free(&comm, "graph");
    int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size, one = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &one, 1, &right, &one, MPI_INFO_NULL, 1, &comm);
    exchange_and_free(&comm, "dist_graph_adjacent");
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world_rank, &one, &right, &one, MPI_INFO_NULL, 1, &comm);
    exchange_and_free(&comm, "dist_graph");
}

/* Makes groups by members only: two of one group with different tags, two with one tag, and disjoint groups at once. */
static void make_groups(void)
{
    int three[3] = {0, 1, 2}, pairs[2][2] = {{0, 1}, {2, 3}}, half = world_rank / 2;
    MPI_Comm one, two, three_again, again;
    MPI_Group group = group_of(3, three);
    if (world_rank < 3) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &one);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 2, &two);
        MPI_Comm_create_group(one, group, 2, &three_again);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &again);
        exchange_on(again, "group_again", 1);
        exchange_on(three_again, "group_of_group", 1);
        exchange_on(two, "group_tag_2", 1);
        exchange_and_free(&one, "group_tag_1");
        MPI_Comm_free(&again);
        MPI_Comm_free(&three_again);
        MPI_Comm_free(&two);
    }
    MPI_Group_free(&group);
    if (half < 2) {
        group = group_of(2, pairs[half]);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &one);
        exchange_and_free(&one, part("disjoint", half));
        MPI_Group_free(&group);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &one); /* the world's creations are still counted alike */
    exchange_and_free(&one, "after_groups");
}

static void make_intercommunicators(void)
{
    MPI_Comm half, inter, comm, inter_part, merged;
    int odd = world_rank % 2, rank, remote_rank;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 7, &inter);
    exchange_on(inter, "inter", 1);
    MPI_Comm_dup(inter, &comm);
    exchange_and_free(&comm, "inter_dup");
    MPI_Intercomm_create(half, 1, MPI_COMM_WORLD, 1 - odd + 2, 7, &comm); /* the same groups and tag */
    exchange_and_free(&comm, "inter_again");
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_split(inter, rank % 2, 0, &inter_part);
    exchange_on(inter_part, part("inter_split", rank % 2), 1);
    if (inter_part != MPI_COMM_NULL)
        MPI_Comm_free(&inter_part);
    MPI_Group local, first;
    MPI_Comm_group(inter, &local);
    remote_rank = 0;
    MPI_Group_incl(local, 1, &remote_rank, &first);
    MPI_Comm_create(inter, first, &comm); /* the first of each group */
    exchange_and_free(&comm, "inter_create");
    MPI_Group_free(&first);
    MPI_Group_free(&local);
    MPI_Intercomm_merge(inter, odd, &merged);
    exchange_on(merged, "merge", 1);
    MPI_Intercomm_merge(inter, 1 - odd, &comm);
    exchange_on(comm, "merge_high", 1);
    MPI_Comm_disconnect(&comm);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_split(merged, rank % 2, 0, &comm);
    exchange_on(comm, part("merge_split", rank % 2), 1);
    MPI_Comm_dup(comm, &inter_part);
    exchange_and_free(&inter_part, part("merge_split_dup", rank % 2));
    MPI_Comm_free(&comm);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Lets the halves of the world meet by a port, as if they were strangers. */
static void make_connection(void)
{
    MPI_Comm half, comm;
    char port[MPI_MAX_PORT_NAME] = "";
    int upper = world_rank >= world_size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
    if (world_rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (upper)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &comm);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &comm);
    exchange_on(comm, "connected", 1);
    MPI_Comm_disconnect(&comm);
    if (world_rank == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
}

#ifdef MPI_SESSION_NULL
/* Makes communicators from a session's group, inside a job that called MPI_Init. */
static void make_from_sessions(void)
{
    MPI_Session session;
    MPI_Group world, half;
    MPI_Comm comm;
    int odd = world_rank % 2, ranks[MOST], n = 0;
    REQUIRE(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    exchange_and_free(&comm, "session_all");
    for (int i = odd; i < world_size; i += 2)
        ranks[n++] = i;
    MPI_Group_incl(world, n, ranks, &half);
    MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    exchange_and_free(&comm, part("session_half", odd));
    MPI_Group_free(&half);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
}
#endif

static int at_finalize(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)state;
    exchange_and_free(value, "in_finalize");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    char path[4096];
    int provided = MPI_THREAD_SINGLE, key, threads = argc > 2 && strcmp(argv[argc - 1], "threads") == 0;
    static MPI_Comm last;
    if (threads)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(argc > 1 && world_size == 4);
    snprintf(path, sizeof path, "%s.%d", argv[1], world_rank);
    out = fopen(path, "w");
    REQUIRE(out != NULL);
    make_intracommunicators();
    make_topologies();
    make_groups();
    make_intercommunicators();
    if (argc > 2 && strcmp(argv[2], "connect") == 0)
        make_connection();
#ifdef MPI_SESSION_NULL
    make_from_sessions();
#endif
    if (threads) {
        REQUIRE(provided == MPI_THREAD_MULTIPLE);
        threads_create(world_rank);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &last);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &last);
    MPI_Finalize();
    return fclose(out) == 0 ? 0 : 1;
}
