/* Has cases of messages: repeating handles, wildcards, null requests, errors, datatypes, many requests, cancelling. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/recorder/recorder_expect.h"

static char buffer[2][1 << 16];

/* Sends small messages whose request handles repeat, completed by every kind of call; two sizes, so that not all do. */
void case_handles(int rank)
{
    enum { N = 24 };
    MPI_Request requests[2 * N];
    MPI_Status statuses[2 * N];
    int done = 0, indices[2 * N], n, index, flag, peer = 1 - rank;
    for (int i = 0; i < N; i++) {
        MPI_Irecv(buffer[0], sizeof buffer[0], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
        expect("Irecv", "receive", 0, peer, i, sizeof buffer[0], 1, 0);
    }
    for (int i = 0; i < N; i++) {
        int bytes = i % 3 ? 8 : 60000;
        int to = i % 4 ? peer : MPI_PROC_NULL;
        MPI_Isend(buffer[1], bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[N + i]);
        expect("Isend", "send", 0, i % 4 ? peer : -1, i, bytes, 1, 0);
    }
    for (int i = 0; i < N; i += 4) {
        MPI_Send(buffer[1], 4, MPI_BYTE, peer, i, MPI_COMM_WORLD);
        expect("Send", "send", 0, peer, i, 4, 1, BLOCKING);
    }
    MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[N + 7], &statuses[0]);
    MPI_Waitany(2 * N, requests, &index, MPI_STATUS_IGNORE);
    REQUIRE(index != MPI_UNDEFINED && requests[index] == MPI_REQUEST_NULL);
    MPI_Waitsome(2 * N, requests, &n, indices, MPI_STATUSES_IGNORE);
    do
        MPI_Test(&requests[2 * N - 1], &flag, MPI_STATUS_IGNORE);
    while (!flag);
    do
        MPI_Testany(2 * N, requests, &index, &flag, statuses);
    while (!flag);
    while (done < 5 && n != MPI_UNDEFINED) {
        MPI_Testsome(2 * N, requests, &n, indices, statuses);
        done += n > 0 ? n : 0;
    }
    do
        MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    MPI_Waitall(2 * N, requests, statuses);
    for (int i = 0; i < 2 * N; i++)
        REQUIRE(requests[i] == MPI_REQUEST_NULL);
}

void case_wildcards(int rank)
{
    int peer = 1 - rank, flag, index, n, indices[2];
    MPI_Request requests[4];
    MPI_Status status;
    for (int i = 0; i < 8; i++) {
        MPI_Irecv(buffer[0], 100, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : peer, i < 4 ? MPI_ANY_TAG : i, MPI_COMM_WORLD,
                  &requests[0]);
        expect("Irecv", "receive", 0, peer, i, 100, 1, (i % 2 ? WILD_SOURCE : 0) | (i < 4 ? WILD_TAG : 0));
        MPI_Isend(buffer[1], 10 + i, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[1]);
        expect("Isend", "send", 0, peer, i, 10 + i, 1, 0);
        switch (i) {
        case 0:
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[1], &status);
            break;
        case 2:
            MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
            MPI_Waitany(2, requests, &index, &status);
            break;
        case 3:
            for (int left = 2; left > 0; left -= n)
                MPI_Waitsome(2, requests, &n, indices, MPI_STATUSES_IGNORE);
            break;
        case 4:
            do
                MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
            while (!flag);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            break;
        case 5:
            do
                MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
            while (!flag);
            break;
        default:
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
    }
    MPI_Sendrecv(buffer[1], 5, MPI_INT, peer, 50, buffer[0], 9, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("Sendrecv", "send", 0, peer, 50, 20, 1, BLOCKING);
    expect("Sendrecv", "receive", 0, peer, 50, 36, 1, BLOCKING | WILD_SOURCE | WILD_TAG | SECOND);
    MPI_Sendrecv_replace(buffer[0], 3, MPI_SHORT, peer, 51, peer, 51, MPI_COMM_WORLD, &status);
    expect("Sendrecv_replace", "send", 0, peer, 51, 6, 1, BLOCKING);
    expect("Sendrecv_replace", "receive", 0, peer, 51, 6, 1, BLOCKING | SECOND);
    REQUIRE(status.MPI_SOURCE == peer && status.MPI_TAG == 51);
    if (rank == 0) {
        MPI_Ssend(buffer[1], 1, MPI_DOUBLE, peer, 60, MPI_COMM_WORLD);
        expect("Ssend", "send", 0, peer, 60, 8, 1, BLOCKING);
    } else {
        MPI_Recv(buffer[0], 4, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("Recv", "receive", 0, peer, 60, 32, 1, BLOCKING | WILD_SOURCE | WILD_TAG);
    }
    MPI_Recv(buffer[0], 1, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    expect("Recv", "receive", 0, -1, -2, 1, 1, BLOCKING | WILD_TAG);
    REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL);
}

/* Puts null, inactive, persistent and freed requests between recorded ones. */
void case_null(int rank)
{
    int peer = 1 - rank, index, n, indices[4], flag;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request persistent[2];
    MPI_Status status;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Waitany(4, requests, &index, &status);
    REQUIRE(index == MPI_UNDEFINED);
    MPI_Testany(4, requests, &index, &flag, &status);
    REQUIRE(index == MPI_UNDEFINED && flag);
    MPI_Waitsome(4, requests, &n, indices, MPI_STATUSES_IGNORE);
    REQUIRE(n == MPI_UNDEFINED);
    MPI_Testsome(4, requests, &n, indices, MPI_STATUSES_IGNORE);
    REQUIRE(n == MPI_UNDEFINED);
    MPI_Recv_init(buffer[0], 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &persistent[0]);
    MPI_Send_init(buffer[1], 10, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &persistent[1]);
    MPI_Wait(&persistent[0], &status);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, persistent);
        expect("Startall", "receive", 0, peer, 1, 100, 1, STARTED);
        expect("Startall", "send", 0, peer, 1, 10, 1, STARTED);
        requests[1] = persistent[0];
        requests[3] = persistent[1];
        MPI_Irecv(buffer[0], 7, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[0]);
        expect("Irecv", "receive", 0, peer, 2, 7, 1, 0);
        MPI_Isend(buffer[1], 7, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[2]);
        expect("Isend", "send", 0, peer, 2, 7, 1, 0);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
    /* A send that is freed has no reported end, and takes none from those after it. */
    for (int i = 0; i < 3; i++) {
        int bytes = i == 1 ? 50000 : 16;
        MPI_Isend(buffer[1], bytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[0]);
        expect("Isend", "send", 0, peer, 3, bytes, 0, FREED);
        MPI_Request_free(&requests[0]);
        MPI_Isend(buffer[1], 16, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[0]);
        expect("Isend", "send", 0, peer, 3, 16, 1, 0);
        for (int k = 0; k < 2; k++) {
            MPI_Recv(buffer[0], sizeof buffer[0], MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect("Recv", "receive", 0, peer, 3, sizeof buffer[0], 1, BLOCKING);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

void case_many(int rank)
{
    enum { MANY = 5000 };
    MPI_Request *requests = malloc(2 * MANY * sizeof *requests);
    char *room = malloc(2 * MANY);
    REQUIRE(requests && room);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            MPI_Irecv(room + i, 1, MPI_BYTE, round ? MPI_ANY_SOURCE : 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
            expect("Irecv", "receive", 0, 1 - rank, i, 1, 1, round ? WILD_SOURCE : 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < MANY; i++) {
            MPI_Isend(room + MANY + i, 1, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[MANY + i]);
            expect("Isend", "send", 0, 1 - rank, i, 1, 1, 0);
        }
        MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    }
    free(requests);
    free(room);
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Posts receives that are too short, with errors returned: by Recv, by Wait, by Waitall as MPI_ERR_IN_STATUS. */
void case_errors(int rank)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 5; i++) {
            MPI_Send(buffer[1], i == 3 ? 4 : 100, MPI_BYTE, 1, i, MPI_COMM_WORLD);
            expect("Send", "send", 0, 1, i, i == 3 ? 4 : 100, 1, BLOCKING);
        }
        MPI_Recv(buffer[0], 1, MPI_BYTE, 77, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* no such rank */
        expect("Recv", "receive", 0, 77, 0, 1, 1, BLOCKING | FAILED);
        REQUIRE(MPI_Isend(buffer[1], 1, MPI_BYTE, 77, 0, MPI_COMM_WORLD, &requests[0]) != MPI_SUCCESS);
        expect("Isend", "send", 0, 77, 0, 1, 1, FAILED);
        return;
    }
    for (int i = 2; i < 5; i++)
        MPI_Irecv(buffer[0] + 100 * i, 10, MPI_BYTE, i == 2 ? MPI_ANY_SOURCE : 0, i, MPI_COMM_WORLD, &requests[i - 2]);
    expect("Irecv", "receive", 0, 0, 2, 10, 1, WILD_SOURCE | FAILED | TOOK);
    expect("Irecv", "receive", 0, 0, 3, 10, 1, 0);
    expect("Irecv", "receive", 0, 0, 4, 10, 1, FAILED | TOOK);
    MPI_Barrier(MPI_COMM_WORLD);
    REQUIRE(class_of(MPI_Recv(buffer[0], 10, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
            MPI_ERR_TRUNCATE);
    expect("Recv", "receive", 0, 0, 0, 10, 1, BLOCKING | WILD_SOURCE | FAILED | TOOK);
    MPI_Request one;
    MPI_Irecv(buffer[0], 10, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &one);
    expect("Irecv", "receive", 0, 0, 1, 10, 1, FAILED | TOOK);
    REQUIRE(class_of(MPI_Wait(&one, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    int result = MPI_Waitall(3, requests, statuses);
    REQUIRE(class_of(result) == MPI_ERR_IN_STATUS);
    for (int i = 0; i < 3; i++)
        while (requests[i] != MPI_REQUEST_NULL) /* pending ones go on */
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

void case_datatypes(int rank)
{
    MPI_Datatype row, huge;
    MPI_Request requests[2];
    MPI_Type_contiguous(25, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    MPI_Irecv(buffer[0], 3, row, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
    expect("Irecv", "receive", 0, 1 - rank, 0, 600, 1, 0);
    MPI_Isend(buffer[1], 2, row, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    expect("Isend", "send", 0, 1 - rank, 0, 400, 1, 0);
    MPI_Type_free(&row);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_contiguous(1 << 29, MPI_INT, &huge);
    MPI_Type_commit(&huge);
    MPI_Send(buffer[1], 1 << 20, huge, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    expect("Send", "send", 0, -1, 1, 1LL << 51, 1, BLOCKING);
    MPI_Send(buffer[1], 1 << 30, MPI_DOUBLE, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
    expect("Send", "send", 0, -1, 2, 8LL << 30, 1, BLOCKING);
    MPI_Send(buffer[1], 1 << 29, huge, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
    expect("Send", "send", 0, -1, 5, 1LL << 60, 1, BLOCKING);
    MPI_Send(buffer[1], INT_MAX, huge, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
    expect("Send", "send", 0, -1, 6, (long long)INT_MAX << 31, 1, BLOCKING);
    MPI_Type_free(&huge);
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    expect("Send", "send", 0, -1, 3, 0, 1, BLOCKING);
#ifdef HAS_MPI_Send_c
    MPI_Send_c(buffer[1], (MPI_Count)3 << 31, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    expect("Send_c", "send", 0, -1, 4, 12LL << 31, 1, BLOCKING);
#endif
}

/* Reports a cancelled request in one of the ways of MPI, and lets go of it. Returns the flags of its record. */
enum { REPORTS = 8 };
static int report_cancelled(int way, MPI_Request *request)
{
    int flag = 0, index, n_done, cancelled = 1;
    MPI_Status status;
    switch (way) {
    case 0:
        MPI_Wait(request, MPI_STATUS_IGNORE);
        return CANCELLED;
    case 1:
        while (!flag)
            MPI_Test(request, &flag, &status);
        break;
    case 2:
        MPI_Waitany(1, request, &index, &status);
        break;
    case 3:
        while (!flag)
            MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
        return CANCELLED;
    case 4:
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
        return CANCELLED;
    case 5:
        MPI_Waitsome(1, request, &n_done, &index, MPI_STATUSES_IGNORE);
        return CANCELLED;
    default:
        while (!flag)
            MPI_Request_get_status(*request, &flag, way == 6 ? &status : MPI_STATUS_IGNORE);
        MPI_Request_free(request);
    }
    if (way < 7)
        MPI_Test_cancelled(&status, &cancelled);
    REQUIRE(cancelled);
    return way < 6 ? CANCELLED : CANCELLED | FREED | HELD;
}

/* Cancelled sends and receives take no message, whoever says that they are cancelled. Open MPI cancels no send,
 * MPICH those to itself in any case. */
void case_cancel(int rank)
{
    MPI_Request request;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(version, &length);
    int cancels_sends = strstr(version, "MPICH") != NULL;
    for (int way = 0; way < REPORTS; way++) {
        MPI_Irecv(buffer[0], 10, MPI_BYTE, 1 - rank, 99, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        expect("Irecv", "receive", 0, 1 - rank, 99, 10, 1, report_cancelled(way, &request));
        if (!cancels_sends)
            continue;
        MPI_Issend(buffer[1], 10, MPI_BYTE, 0, 98, MPI_COMM_SELF, &request);
        MPI_Cancel(&request);
        expect("Issend", "send", 1, 0, 98, 10, 1, report_cancelled(way, &request));
    }
    MPI_Irecv(buffer[0], 10, MPI_BYTE, 1 - rank, 99, MPI_COMM_WORLD, &request);
    expect("Irecv", "receive", 0, 1 - rank, 99, 10, 1, CANCELLED);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(buffer[1], 1, MPI_BYTE, 1 - rank, 1, buffer[0], 1, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("Sendrecv", "send", 0, 1 - rank, 1, 1, 1, BLOCKING);
    expect("Sendrecv", "receive", 0, 1 - rank, 1, 1, 1, BLOCKING | SECOND);
}
