/* worlds sends messages between processes of different MPI_COMM_WORLDs.
 *
 *     worlds spawn N         spawns itself N times, all together; parents are world 0, children world 1
 *     worlds each            every rank spawns one child for itself, all at once; the child of rank r is world r + 1
 *     worlds accept FILE     opens a port, writes its name to FILE and accepts; world 0
 *     worlds connect FILE    waits for FILE and connects; world 1
 *     worlds join            as `spawn 1` with one parent; then both join over a socket of that host
 *     worlds row N           one parent spawns N children in a row, worlds 1 to N; then 1 and 2 connect REPEATS times
 *     worlds bridge          as `spawn 2` with two parents; MPI_Intercomm_create then joins both worlds, and those of
 *                            even rank with those of odd rank in both
 *
 * Each process prints `process WORLD RANK PID`. On the intercommunicator rank r sends to rank r of the other group and
 * gets an answer (tags 1 and 2, world 0 begins), the same on its duplicate. Then all exchange around the ring of the
 * merged communicator (tag 3), and of its duplicate (tag 4). Each message's sender prints a line `message WORLD RANK
 * WORLD RANK TAG BYTES`. Both groups must be equally large. */
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPEATS 3
#define MOST    16

static int world, other_world; /* of this process, and of those with which it talks */
static int first_rank;         /* rank of the group's rank 0 in world 0: with `each` all are alone */

static void fail(const char *what)
{
    fprintf(stderr, "worlds: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void told(int src_world, int src, int dst_world, int dst, int tag, int bytes)
{
    src += src_world == 0 ? first_rank : 0;
    dst += dst_world == 0 ? first_rank : 0;
    printf("message %d %d %d %d %d %d\n", src_world, src, dst_world, dst, tag, bytes);
    fflush(stdout);
}

static void pairs(MPI_Comm inter)
{
    char buffer[256] = {0};
    int rank;
    MPI_Comm_rank(inter, &rank);
    for (int tag = 1; tag <= 2; tag++) {
        if ((tag == 1) == (world == 0)) {
            MPI_Send(buffer, 10 * tag + rank, MPI_CHAR, rank, tag, inter);
            told(world, rank, other_world, rank, tag, 10 * tag + rank);
        } else {
            MPI_Recv(buffer, sizeof buffer, MPI_CHAR, rank, tag, inter, MPI_STATUS_IGNORE);
        }
    }
}

/* Exchanges around the ring; first_world has the ranks below `first` of comm. */
static void ring(MPI_Comm comm, int first_world, int second_world, int first, int tag)
{
    char out[256] = {0}, in[256];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int next = (rank + 1) % size;
    MPI_Sendrecv(out, 10 * tag + rank, MPI_CHAR, next, tag, in, sizeof in, MPI_CHAR, (rank + size - 1) % size, tag,
                 comm, MPI_STATUS_IGNORE);
    told(rank < first ? first_world : second_world, rank < first ? rank : rank - first,
         next < first ? first_world : second_world, next < first ? next : next - first, tag, 10 * tag + rank);
}

static void talk(MPI_Comm inter)
{
    MPI_Comm merged, duplicate;
    int local;
    MPI_Comm_size(inter, &local);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("process %d %d %ld\n", world, rank, (long)getpid());
    pairs(inter);
    MPI_Comm_dup(inter, &duplicate);
    pairs(duplicate);
    MPI_Comm_free(&duplicate);
    MPI_Intercomm_merge(inter, world != 0, &merged);
    int first = world == 0 ? world : other_world, second = world == 0 ? other_world : world;
    ring(merged, first, second, local, 3);
    MPI_Comm_dup(merged, &duplicate);
    ring(duplicate, first, second, local, 4);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&merged);
}

/* Returns a connected socket between the two processes, which have an intercommunicator already. */
static int connect_by_tcp(MPI_Comm inter)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int end = socket(AF_INET, SOCK_STREAM, 0), port;
    if (world == 0) {
        if (bind(end, (struct sockaddr *)&address, length) != 0 || listen(end, 1) != 0 ||
            getsockname(end, (struct sockaddr *)&address, &length) != 0)
            fail("no socket");
        port = address.sin_port;
        MPI_Bcast(&port, 1, MPI_INT, MPI_ROOT, inter);
        return accept(end, NULL, NULL);
    }
    MPI_Bcast(&port, 1, MPI_INT, 0, inter);
    address.sin_port = (in_port_t)port;
    if (connect(end, (struct sockaddr *)&address, length) != 0)
        fail("no connection");
    return end;
}

static void join(MPI_Comm inter)
{
    MPI_Comm joined;
    int end = connect_by_tcp(inter);
    MPI_Comm_join(end, &joined);
    if (joined == MPI_COMM_NULL)
        fail("MPI_Comm_join gave nothing");
    talk(joined);
    MPI_Comm_disconnect(&joined);
    close(end);
}

/* Lets the children 1 and 2 of `row` meet again and again at a port of the first, of which the parent tells the second.
 */
static void reconnect(MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (world == 1) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, 5, parent);
        told(1, 0, 0, 0, 5, sizeof port);
    } else {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 6, parent, MPI_STATUS_IGNORE);
    }
    other_world = 3 - world;
    for (int i = 0; i < REPEATS; i++) {
        if (world == 1)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        if (world == 1) {
            MPI_Send(port, i + 1, MPI_CHAR, 0, 7, inter);
            told(1, 0, 2, 0, 7, i + 1);
        } else {
            MPI_Recv(port, sizeof port, MPI_CHAR, 0, 7, inter, MPI_STATUS_IGNORE);
        }
        MPI_Comm_disconnect(&inter);
    }
    if (world == 1)
        MPI_Close_port(port);
}

/* Runs the parent of `row`. */
static void spawn_row(char *program, int n)
{
    char numbers[MOST][16], way[] = "row", port[MPI_MAX_PORT_NAME];
    MPI_Comm children[MOST] = {0};
    for (int i = 0; i < n; i++) {
        char *arguments[] = {way, numbers[i], NULL};
        snprintf(numbers[i], sizeof numbers[i], "%d", i + 1);
        MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children[i], MPI_ERRCODES_IGNORE);
    }
    for (int i = 0; i < n; i++) {
        other_world = i + 1;
        talk(children[i]);
    }
    MPI_Recv(port, sizeof port, MPI_CHAR, 0, 5, children[0], MPI_STATUS_IGNORE);
    MPI_Send(port, sizeof port, MPI_CHAR, 0, 6, children[1]);
    told(0, 0, 2, 0, 6, sizeof port);
    for (int i = 0; i < n; i++)
        MPI_Comm_disconnect(&children[i]);
}

/* Runs `bridge`, once two parents have spawned two children. */
static void bridge(MPI_Comm spawned)
{
    MPI_Comm all, inter, half;
    int rank;
    MPI_Intercomm_merge(spawned, world != 0, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Intercomm_create(MPI_COMM_WORLD, 0, all, world == 0 ? 2 : 0, 1, &inter);
    talk(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_split(all, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, all, (rank + 1) % 2, 1, &inter);
    /* Rank 0 of each half is of world 0, its rank 1 of world 1. */
    if (world == 0) {
        MPI_Send(NULL, 0, MPI_CHAR, 1, 8, inter);
        told(0, rank, 1, 1 - rank, 8, 0);
    } else {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 8, inter, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
}

static void accept_all(const char *path)
{
    char port[MPI_MAX_PORT_NAME] = "", temporary[4096];
    int rank;
    MPI_Comm inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        snprintf(temporary, sizeof temporary, "%s.new", path);
        FILE *file = fopen(temporary, "w");
        if (!file || fputs(port, file) < 0 || fclose(file) != 0 || rename(temporary, path) != 0)
            fail("the port cannot be written");
    }
    other_world = 1;
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
    if (rank == 0)
        MPI_Close_port(port);
}

static void connect_all(const char *path)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 0 && i < 600 && port[0] == '\0'; i++) {
        FILE *file = fopen(path, "r");
        if (!file || !fgets(port, sizeof port, file))
            usleep(50000);
        if (file)
            fclose(file);
    }
    if (rank == 0 && port[0] == '\0')
        fail("nobody wrote a port");
    world = 1;
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&inter);
    const char *way = argc > 1 ? argv[1] : "";
    if (inter != MPI_COMM_NULL) {
        world = argc > 2 ? atoi(argv[2]) : 1;
        first_rank = argc > 3 ? atoi(argv[3]) : 0;
        talk(inter);
        if (strcmp(way, "join") == 0)
            join(inter);
        if (strcmp(way, "row") == 0 && world <= 2)
            reconnect(inter);
        if (strcmp(way, "bridge") == 0)
            bridge(inter);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(way, "row") == 0 && argc == 3 && atoi(argv[2]) >= 2 && atoi(argv[2]) <= MOST) {
        spawn_row(argv[0], atoi(argv[2]));
    } else if (strcmp(way, "accept") == 0 && argc == 3) {
        accept_all(argv[2]);
    } else if (strcmp(way, "connect") == 0 && argc == 3) {
        connect_all(argv[2]);
    } else if (strcmp(way, "spawn") == 0 || strcmp(way, "each") == 0 || strcmp(way, "join") == 0 ||
               strcmp(way, "bridge") == 0) {
        int rank, alone = strcmp(way, "each") == 0;
        char number[16], first[16];
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        other_world = alone ? rank + 1 : 1;
        first_rank = alone ? rank : 0;
        snprintf(number, sizeof number, "%d", other_world);
        snprintf(first, sizeof first, "%d", first_rank);
        char *arguments[] = {argv[1], number, first, NULL};
        int n = strcmp(way, "bridge") == 0 ? 2 : argc == 3 ? atoi(argv[2]) : 1;
        MPI_Comm_spawn(argv[0], arguments, n, MPI_INFO_NULL, 0, alone ? MPI_COMM_SELF : MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        talk(inter);
        if (strcmp(way, "join") == 0)
            join(inter);
        if (strcmp(way, "bridge") == 0)
            bridge(inter);
        MPI_Comm_disconnect(&inter);
    } else {
        fail("usage: worlds spawn N|each|accept FILE|connect FILE|join|row N|bridge");
    }
    MPI_Finalize();
    return 0;
}
