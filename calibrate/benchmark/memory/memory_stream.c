/* A sender that waits to be asked after each message would leave a gap between messages, and one that does not know
 * how many there are could not stop. So a request is always one ahead. */
#include "calibrate/benchmark/memory/memory_stream.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/array.h"
#include "share/base/monotonic.h"
#include "share/base/memory.h"

enum { TAG_REQUEST = 1, TAG_MESSAGE = 2 };
/* A sender without a request looks for one that long without a pause, then sleeps between looks: the receiver's
 * samples without messages must not be disturbed on the same machine. */
#define BUSY_S   200e-6
#define SLEEP_NS 500000

/* Asks for a message of that size, after a delay; without bytes it is the end. */
struct request {
    int bytes;
    double delay_s;
};

static void stream_ask(MPI_Comm comm, int bytes, double delay_s)
{
    struct request request;
    memset(&request, 0, sizeof request);
    request.bytes = bytes;
    request.delay_s = delay_s;
    MPI_Send(&request, sizeof request, MPI_BYTE, STREAM_SENDER, TAG_REQUEST, comm);
}

static void sleep_s(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static struct request next_request(MPI_Comm comm)
{
    struct request request;
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    double begin_s = clock_now_s();
    for (int found = 0; !found;) {
        MPI_Iprobe(STREAM_RECEIVER, TAG_REQUEST, comm, &found, MPI_STATUS_IGNORE);
        if (!found && clock_now_s() - begin_s > BUSY_S)
            nanosleep(&pause, NULL);
    }
    MPI_Recv(&request, sizeof request, MPI_BYTE, STREAM_RECEIVER, TAG_REQUEST, comm, MPI_STATUS_IGNORE);
    return request;
}

void stream_serve(MPI_Comm comm)
{
    char *message = xmalloc(STREAM_BYTES);
    memset(message, 1, STREAM_BYTES);
    for (struct request request; (request = next_request(comm)).bytes > 0;) {
        if (request.delay_s > 0)
            sleep_s(request.delay_s);
        MPI_Send(message, request.bytes, MPI_BYTE, STREAM_RECEIVER, TAG_MESSAGE, comm);
    }
    free(message);
}

void stream_end(MPI_Comm comm)
{
    stream_ask(comm, 0, 0);
}

void stream_receive(MPI_Comm comm, void *buffer, int bytes, double seconds, size_t least,
                    struct memory_messages *messages)
{
    double end_s = 0;
    stream_ask(comm, bytes, 0);
    for (bool more = true; more;) {
        more = messages->n < least || clock_now_s() < end_s;
        if (more)
            stream_ask(comm, bytes, 0);
        struct memory_window time = {.begin_s = clock_now_s()};
        MPI_Recv(buffer, bytes, MPI_BYTE, STREAM_SENDER, TAG_MESSAGE, comm, MPI_STATUS_IGNORE);
        time.end_s = clock_now_s();
        if (messages->n == 0)
            end_s = time.end_s + seconds;
        array_grow(&messages->times, messages->n, sizeof *messages->times);
        messages->times[messages->n++] = time;
    }
}

void stream_wait(MPI_Comm comm, void *buffer, double seconds)
{
    stream_ask(comm, 1, seconds);
    MPI_Recv(buffer, 1, MPI_BYTE, STREAM_SENDER, TAG_MESSAGE, comm, MPI_STATUS_IGNORE);
}
