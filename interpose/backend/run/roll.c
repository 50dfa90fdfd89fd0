/* A signature is a socket whose name is the launcher's name for this MPI_COMM_WORLD and the rank on the node. Such
 * names lie in no file system, only the processes of this machine see them, and the kernel takes them away with
 * the process. Nothing is ever sent. */
#include "interpose/backend/run/roll.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "interpose/backend/run/launcher_environment.h"

enum { WORLD_BYTES = 60 }; /* of the world's name, so that there is room for all */

static struct {
    char world[256];
    uint64_t start;
    int socket;      /* with our name */
    int n;           /* processes on this node, 0: nobody called the roll */
    char *signed_by; /* [n] */
} roll = {.socket = -1};

/* Writes the name of a process of this node; returns the length of the address. */
static socklen_t name_of(struct sockaddr_un *address, int rank)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* A name that begins with NUL is in no file system. Worlds of one launcher differ at the end of theirs. */
    size_t world = strlen(roll.world);
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mpistair-%s-%" PRIx64 "-%d",
                          roll.world + (world > WORLD_BYTES ? world - WORLD_BYTES : 0), roll.start, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

void roll_sign(void)
{
    struct sockaddr_un address;
    int n = launcher_local_size(), rank = launcher_local_rank();
    if (roll.n > 0 || n < 2 || rank < 0 || rank >= n || launcher_world(roll.world, sizeof roll.world) != 0)
        return;
    roll.start = launcher_start();
    roll.signed_by = calloc((size_t)n, 1);
    roll.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (roll.signed_by && roll.socket >= 0 && bind(roll.socket, (void *)&address, name_of(&address, rank)) == 0) {
        roll.n = n;
        roll.signed_by[rank] = 1;
    } else {
        roll_close();
    }
}

int roll_missing(void)
{
    int missing = 0, look = roll.n > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    for (int rank = 0; rank < roll.n && look >= 0; rank++) {
        struct sockaddr_un address;
        if (!roll.signed_by[rank])
            roll.signed_by[rank] = connect(look, (void *)&address, name_of(&address, rank)) == 0;
        missing += !roll.signed_by[rank];
    }
    if (look >= 0)
        close(look);
    return missing;
}

const char *roll_signed(int *n)
{
    *n = roll.n;
    return roll.signed_by;
}

void roll_close(void)
{
    if (roll.socket >= 0)
        close(roll.socket);
    free(roll.signed_by);
    roll.socket = -1;
    roll.signed_by = NULL;
    roll.n = 0;
}
