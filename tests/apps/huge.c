/* huge is a job of one or more ranks that names more bytes than there are, in calls for which MPI moves none.
 *
 *     huge
 *
 * A type of 2^30 bytes and one of 2^60 are sent to MPI_PROC_NULL and broadcast on MPI_COMM_SELF, as are 17 GB. What is
 * more than 2^63 - 1 bytes in one call, is recorded as so many. */
#include "tests/apps/app.h"

#include <limits.h>
#include <mpi.h>
#include <stddef.h>

enum { TIMES = 8 }; /* of 2^60 bytes: together 2^63 */

static char buffer[8];

static void send_to_nobody(int count, MPI_Datatype type)
{
    MPI_Request request;
    MPI_Send(buffer, count, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Isend(buffer, count, type, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, count, type, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(buffer, count, type, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    MPI_Datatype gib, eib;
    MPI_Init(&argc, &argv);
    if (argc != 1)
        app_fail("usage: huge");
    MPI_Type_contiguous(1 << 30, MPI_BYTE, &gib);
    MPI_Type_contiguous(1 << 30, gib, &eib);
    MPI_Type_commit(&gib);
    MPI_Type_commit(&eib);
    MPI_Bcast(buffer, 17, gib, 0, MPI_COMM_SELF);
    MPI_Bcast(buffer, INT_MAX, MPI_DOUBLE, 0, MPI_COMM_SELF);
    for (int i = 0; i < TIMES; i++)
        MPI_Bcast(buffer, 1, eib, 0, MPI_COMM_SELF);
    MPI_Bcast(buffer, INT_MAX, eib, 0, MPI_COMM_SELF);
    send_to_nobody(17, gib);
    for (int i = 0; i < TIMES; i++)
        send_to_nobody(1, eib);
    send_to_nobody(INT_MAX, eib);
    MPI_Type_free(&gib);
    MPI_Type_free(&eib);
    MPI_Finalize();
    return 0;
}
