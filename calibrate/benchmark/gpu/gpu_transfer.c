/* All ways are copies and messages of parts of the same bytes; a way says who copies, and which memory MPI gets. */
#include "calibrate/benchmark/gpu/gpu_transfer.h"

#include <stdio.h>
#include <string.h>

#include "calibrate/measure/mpi_job.h"
#include "calibrate/gpu/gpu_copy.h"

enum { TRANSFER_DATA_TAG = 1, OUT_TAG = 2, TRANSFER_BACK_TAG = 3 };

/* Holds the bytes of a member. */
struct part {
    size_t offset; /* from the place of the data */
    size_t bytes;
};

static struct part part_of(const struct gpu_transfer *transfer, int member)
{
    size_t n = (size_t)transfer->n_members, begin = transfer->bytes * (size_t)member / n;
    return (struct part){begin, transfer->bytes * ((size_t)member + 1) / n - begin};
}

static void copy(struct gpu_transfer *transfer, enum gpu_way way, struct part part)
{
    struct gpu_end *end = transfer->end;
    struct error error;
    size_t place = transfer->place + part.offset;
    double seconds = 0;
    if (gpu_copy(&end->gpu, way, transfer->by_events, end->host + place, place, part.bytes, 1, &seconds, &error) != 0)
        abort_all("%s", error.text);
    transfer->copies_s += seconds;
}

/* Sends a part to the other end in its messages, or receives it. */
static void exchange_part(const struct gpu_transfer *transfer, struct part part, bool sends)
{
    const struct gpu_end *end = transfer->end;
    MPI_Request requests[GPU_MESSAGES_MAX];
    MPI_Status statuses[GPU_MESSAGES_MAX];
    char *data = transfer->path == GPU_DIRECT ? (char *)(uintptr_t)end->gpu.side[0].data : end->host;
    data += transfer->place + part.offset;
    for (int i = 0; i < transfer->count; i++) {
        size_t begin = part.bytes * (size_t)i / (size_t)transfer->count;
        int bytes = (int)(part.bytes * ((size_t)i + 1) / (size_t)transfer->count - begin);
        if (sends)
            MPI_Isend(data + begin, bytes, MPI_BYTE, transfer->partner, TRANSFER_DATA_TAG, transfer->comm,
                      &requests[i]);
        else
            MPI_Irecv(data + begin, bytes, MPI_BYTE, transfer->partner, TRANSFER_DATA_TAG, transfer->comm,
                      &requests[i]);
    }
    MPI_Waitall(transfer->count, requests, statuses);
}

/* Hands their parts to the other members, or collects these, as the first one. */
static void share_parts(const struct gpu_transfer *transfer, bool out)
{
    const struct gpu_end *end = transfer->end;
    MPI_Request requests[GPU_MEMBERS_MAX];
    MPI_Status statuses[GPU_MEMBERS_MAX];
    for (int i = 1; i < transfer->n_members; i++) {
        struct part part = part_of(transfer, i);
        char *data = end->host + transfer->place + part.offset;
        if (out)
            MPI_Isend(data, (int)part.bytes, MPI_BYTE, end->members[i], OUT_TAG, transfer->comm, &requests[i - 1]);
        else
            MPI_Irecv(data, (int)part.bytes, MPI_BYTE, end->members[i], TRANSFER_BACK_TAG, transfer->comm,
                      &requests[i - 1]);
    }
    MPI_Waitall(transfer->n_members - 1, requests, statuses);
}

void gpu_transfer_send(struct gpu_transfer *transfer)
{
    const struct gpu_end *end = transfer->end;
    struct part part = part_of(transfer, end->own), all = {0, transfer->bytes};
    bool shares = transfer->path == GPU_EXTRA_MESSAGE;
    if (transfer->path == GPU_3_STEP || transfer->path == GPU_DUPLICATE_POINTER)
        copy(transfer, GPU_FROM, part);
    if (shares && end->own == 0) {
        copy(transfer, GPU_FROM, all);
        share_parts(transfer, true);
    } else if (shares) {
        MPI_Recv(end->host + transfer->place + part.offset, (int)part.bytes, MPI_BYTE, end->members[0], OUT_TAG,
                 transfer->comm, MPI_STATUS_IGNORE);
    }
    exchange_part(transfer, part, true);
}

void gpu_transfer_receive(struct gpu_transfer *transfer)
{
    const struct gpu_end *end = transfer->end;
    struct part part = part_of(transfer, end->own), all = {0, transfer->bytes};
    bool shares = transfer->path == GPU_EXTRA_MESSAGE;
    exchange_part(transfer, part, false);
    if (transfer->path == GPU_3_STEP || transfer->path == GPU_DUPLICATE_POINTER)
        copy(transfer, GPU_TO, part);
    if (shares && end->own == 0) {
        share_parts(transfer, false);
        copy(transfer, GPU_TO, all);
    } else if (shares) {
        MPI_Send(end->host + transfer->place + part.offset, (int)part.bytes, MPI_BYTE, end->members[0],
                 TRANSFER_BACK_TAG, transfer->comm);
    }
}

void gpu_transfer_copy(struct gpu_transfer *transfer)
{
    copy(transfer, transfer->path == GPU_PULL ? GPU_FROM : GPU_TO, part_of(transfer, transfer->end->own));
}

static unsigned char value_at(const struct gpu_transfer *transfer, size_t i)
{
    return (unsigned char)(1 + (i + 17 * (size_t)transfer->path + 5 * (size_t)transfer->n_members) % 251);
}

/* Fills the data of the first sender and clears what the others have: on the host, and on the GPU as well. */
static void fill(struct gpu_transfer *transfer, bool sends)
{
    struct part all = {0, transfer->bytes};
    unsigned char *host = (unsigned char *)transfer->end->host + transfer->place;
    bool on_gpu = transfer->end->own == 0 && transfer->path != GPU_HOST;
    for (size_t i = 0; i < transfer->bytes; i++)
        host[i] = sends && transfer->end->own == 0 ? value_at(transfer, i) : 0;
    if (!on_gpu)
        return;
    copy(transfer, GPU_TO, all);
    memset(host, 0, transfer->bytes);
}

/* Looks at what arrived, as the first member. */
static void transfer_look(struct gpu_transfer *transfer)
{
    struct part all = {0, transfer->bytes};
    const unsigned char *host = (unsigned char *)transfer->end->host + transfer->place;
    if (transfer->path != GPU_HOST)
        copy(transfer, GPU_FROM, all);
    for (size_t i = 0; i < transfer->bytes; i++) {
        if (host[i] == value_at(transfer, i))
            continue;
        abort_all("byte %zu of %zu on the way %s with %d processes is %d, expected %d", i, transfer->bytes,
                  transfer->path == GPU_HOST ? GPU_HOST_NAME : gpu_path_name[transfer->path], transfer->n_members,
                  host[i], value_at(transfer, i));
    }
}

void gpu_transfer_check(struct gpu_transfer *transfer, bool sends, MPI_Comm comm)
{
    if (transfer != NULL)
        fill(transfer, sends);
    MPI_Barrier(comm);
    if (transfer != NULL && sends)
        gpu_transfer_send(transfer);
    else if (transfer != NULL)
        gpu_transfer_receive(transfer);
    MPI_Barrier(comm);
    if (transfer != NULL && !sends && transfer->end->own == 0)
        transfer_look(transfer);
}
