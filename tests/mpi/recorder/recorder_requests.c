/* Has cases of requests: persistent ones in every mode, MPI_Isendrecv, MPI_Request_get_status, MPI_Request_free, and
 * what MPI_Pcontrol switches off. */
#include <stdlib.h>

#include "tests/mpi/recorder/recorder_expect.h"

static char requests_in[8][256], requests_out[8][256];

enum { MODES = 4, ROUNDS = 6 };

static void expect_starts(const char *function, int peer, int wild, int n)
{
    for (int mode = 0; mode < n; mode++) {
        expect(function, "receive", 0, peer, mode, 100, 1, STARTED | (wild ? WILD_SOURCE | WILD_TAG : 0));
        expect(function, "send", 0, peer, mode, 10 + mode, 1, STARTED);
    }
}

static void wait_in_turns(int how, int n, MPI_Request *requests)
{
    int index, flag = 0, n_done, indices[2 * MODES];
    switch (how) {
    case 0:
        for (int i = 0; i < n; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        break;
    case 2:
        for (int i = 0; i < n; i++) {
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
            REQUIRE(index >= 0 && index < n);
        }
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        REQUIRE(index == MPI_UNDEFINED);
        break;
    case 3:
        for (int done = 0; done < n; done += n_done) {
            MPI_Waitsome(n, requests, &n_done, indices, MPI_STATUSES_IGNORE);
            REQUIRE(n_done != MPI_UNDEFINED);
        }
        break;
    case 4:
        for (int i = n; i-- > 0; flag = 0)
            while (!flag)
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        break;
    default:
        while (!flag)
            MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < n; i++)
        REQUIRE(requests[i] != MPI_REQUEST_NULL);
}

static void start_and_wait(int peer, int wild, MPI_Request *requests)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 2) {
            MPI_Startall(2 * MODES, requests);
            expect_starts("Startall", peer, wild, MODES);
        } else {
            for (int i = 0; i < 2 * MODES; i++)
                MPI_Start(&requests[i]);
            expect_starts("Start", peer, wild, MODES);
        }
        wait_in_turns(round, 2 * MODES, requests);
    }
}

/* Receives and sends in all four modes, started by Start and Startall, completed in every way; then uses inactive, null
 * and freed ones. All talk to their own rank, so that the receive of a ready send is posted before it. */
void case_persistent(int rank)
{
    MPI_Request requests[2 * MODES], mixed[4];
    MPI_Status status;
    static char room[1 << 14];
    int flag, peer = 1 - rank, bytes = sizeof room;
    void *detached;
    MPI_Buffer_attach(room, bytes);
    for (int wild = 0; wild < 2; wild++) {
        for (int mode = 0; mode < MODES; mode++) {
            int source = wild ? MPI_ANY_SOURCE : rank;
            MPI_Recv_init(requests_in[mode], 100, MPI_BYTE, source, wild ? MPI_ANY_TAG : mode, MPI_COMM_WORLD,
                          &requests[2 * mode]);
            __typeof__(&MPI_Send_init) init = mode == 0   ? MPI_Send_init
                                              : mode == 1 ? MPI_Ssend_init
                                              : mode == 2 ? MPI_Bsend_init
                                                          : MPI_Rsend_init;
            init(requests_out[mode], 10 + mode, MPI_BYTE, rank, mode, MPI_COMM_WORLD, &requests[2 * mode + 1]);
        }
        start_and_wait(rank, wild, requests);
        for (int i = 0; i < 2 * MODES; i++)
            MPI_Request_free(&requests[i]);
    }
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Barrier(MPI_COMM_WORLD); /* no more wildcards on either rank */
    /* Active, inactive and null ones meet in one call; a start is freed before its end is reported. */
    MPI_Recv_init(requests_in[0], 100, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &mixed[0]);
    MPI_Send_init(requests_out[0], 10, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &mixed[1]);
    MPI_Send_init(requests_out[0], 10, MPI_BYTE, MPI_PROC_NULL, 8, MPI_COMM_WORLD, &mixed[2]);
    mixed[3] = MPI_REQUEST_NULL;
    MPI_Waitall(4, mixed, MPI_STATUSES_IGNORE);
    MPI_Test(&mixed[0], &flag, &status);
    REQUIRE(flag);
    MPI_Startall(0, mixed);
    MPI_Startall(2, mixed);
    expect("Startall", "receive", 0, peer, 7, 100, 1, STARTED);
    expect("Startall", "send", 0, peer, 7, 10, 1, STARTED);
    MPI_Waitall(4, mixed, MPI_STATUSES_IGNORE);
    MPI_Start(&mixed[2]);
    expect("Start", "send", 0, -1, 8, 10, 1, STARTED);
    MPI_Wait(&mixed[2], &status);
    MPI_Start(&mixed[1]);
    expect("Start", "send", 0, peer, 7, 10, 0, STARTED | FREED);
    MPI_Request_free(&mixed[1]);
    MPI_Start(&mixed[0]);
    expect("Start", "receive", 0, peer, 7, 100, 1, STARTED);
    MPI_Wait(&mixed[0], &status);
    MPI_Request_free(&mixed[0]);
    MPI_Request_free(&mixed[2]);
    /* They are more than fit into anything of a fixed size. */
    enum { MANY = 3000 };
    MPI_Request *many = malloc(2 * MANY * sizeof *many);
    REQUIRE(many != NULL);
    for (int i = 0; i < MANY; i++) {
        MPI_Recv_init(requests_in[0], 4, MPI_BYTE, MPI_PROC_NULL, i, MPI_COMM_WORLD, &many[i]);
        MPI_Send_init(requests_out[0], 3, MPI_BYTE, MPI_PROC_NULL, i, MPI_COMM_WORLD, &many[MANY + i]);
    }
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2 * MANY, many);
        for (int i = 0; i < 2 * MANY; i++)
            expect("Startall", i < MANY ? "receive" : "send", 0, -1, i % MANY, i < MANY ? 4 : 3, 1, STARTED);
        MPI_Waitall(2 * MANY, many, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2 * MANY; i++)
        MPI_Request_free(&many[i]);
    free(many);
}

/* Both operations have one request; wildcards are the receive's. Open MPI 4 has no MPI_Isendrecv; MPICH 4.0 leaves its
 * status empty (then the source is unknown), and crashes where a peer is MPI_PROC_NULL. */
void case_isendrecv(int rank)
{
    int peer = 1 - rank;
#ifdef HAS_MPI_Isendrecv
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int wild = 0; wild < 2; wild++) {
        MPI_Isendrecv(requests_out[0], 3, MPI_INT, peer, 4, requests_in[0], 20, MPI_INT, wild ? MPI_ANY_SOURCE : peer,
                      wild ? MPI_ANY_TAG : 4, MPI_COMM_WORLD, &requests[0]);
        MPI_Isendrecv_replace(requests_in[1], 5, MPI_BYTE, peer, 5, peer, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        int told = !wild || (statuses[0].MPI_SOURCE == peer && statuses[0].MPI_TAG == 4);
        expect("Isendrecv", "send", 0, peer, 4, 12, 1, 0);
        expect("Isendrecv", "receive", 0, told ? peer : -3, told ? 4 : -2, 80, 1,
               SECOND | (wild ? WILD_SOURCE | WILD_TAG : 0));
        expect("Isendrecv_replace", "send", 0, peer, 5, 5, 1, 0);
        expect("Isendrecv_replace", "receive", 0, peer, 5, 5, 1, SECOND);
    }
#endif
    MPI_Sendrecv(requests_out[0], 1, MPI_BYTE, peer, 1, requests_in[0], 1, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("Sendrecv", "send", 0, peer, 1, 1, 1, BLOCKING);
    expect("Sendrecv", "receive", 0, peer, 1, 1, 1, BLOCKING | SECOND);
}

/* MPI_Request_get_status reports them: complete then, although the request is freed later, or never waited for. */
void case_reported(int rank)
{
    int peer = 1 - rank, flag;
    MPI_Request requests[2], persistent;
    MPI_Status status;
    for (int wait = 0; wait < 2; wait++) {
        MPI_Irecv(requests_in[0], 100, MPI_BYTE, MPI_ANY_SOURCE, wait, MPI_COMM_WORLD, &requests[0]);
        expect("Irecv", "receive", 0, peer, wait, 100, 1, WILD_SOURCE);
        MPI_Isend(requests_out[0], 10, MPI_BYTE, peer, wait, MPI_COMM_WORLD, &requests[1]);
        expect("Isend", "send", 0, peer, wait, 10, 1, 0);
        do
            MPI_Request_get_status(requests[0], &flag, wait ? MPI_STATUS_IGNORE : &status);
        while (!flag);
        REQUIRE(wait || status.MPI_SOURCE == peer);
        MPI_Barrier(MPI_COMM_WORLD); /* what follows is after the completion */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
    REQUIRE(flag);
    MPI_Recv_init(requests_in[0], 100, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &persistent);
    MPI_Request_get_status(persistent, &flag, &status);
    REQUIRE(flag);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&persistent);
        expect("Start", "receive", 0, peer, 5, 100, 1, STARTED);
        MPI_Send(requests_out[0], 1, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
        expect("Send", "send", 0, peer, 5, 1, 1, BLOCKING);
        do
            MPI_Request_get_status(persistent, &flag, &status);
        while (!flag);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&persistent);
}

/* Recording is off on one rank alone for a while: its operations and collectives keep a record, marked; calls
 * have none. */
void case_control(int rank)
{
    MPI_Request requests[2];
    int peer = 1 - rank, word = 5;
    MPI_Pcontrol(7, "named", &word);
    for (int i = 0; i < 6; i++) {
        if (i == 2 && rank == 1)
            MPI_Pcontrol(0);
        if (i == 4 && rank == 1)
            MPI_Pcontrol(1);
        int flag = rank == 1 && (i == 2 || i == 3) ? OFF : 0;
        MPI_Irecv(requests_in[0], 100, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[0]);
        expect("Irecv", "receive", 0, peer, 3, 100, 1, flag);
        MPI_Isend(requests_out[0], 10 + i, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[1]);
        expect("Isend", "send", 0, peer, 3, 10 + i, 1, flag);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Pcontrol(2);
    MPI_Pcontrol(-3);
}
