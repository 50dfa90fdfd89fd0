/* Does a collective between GPUs on their memory (cuda-aware), or with copies to the host: by one process of each GPU
 * (3-step), by one that shares the data out to the others of its GPU (extra-message), or by all of them
 * (duplicate-pointer). */
#include "tests/apps/gpu_ways.h"

#include "tests/apps/app.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_OUT = 1, TAG_BACK, TAG_MESSAGE };

int gpu_way_holders(enum gpu_way way, int per_gpu)
{
    return way == GPU_CUDA_AWARE || way == GPU_3_STEP ? 1 : per_gpu;
}

static int takes_part(const struct gpu_job *job)
{
    return job->groups->member < job->n_holders;
}

/* Returns whether this process shares data out, and gathers it. */
static int shares_out(const struct gpu_job *job)
{
    return job->way == GPU_EXTRA_MESSAGE && job->groups->member == 0;
}

void gpu_job_init(struct gpu_job *job, enum gpu_way way, const struct gpu_groups *groups, const struct gpu_data *data)
{
    int n_holders = gpu_way_holders(way, groups->per_gpu);
    *job = (struct gpu_job){.groups = groups, .data = data, .way = way, .n_holders = n_holders};
    job->requests = app_allocate(2 * (size_t)(data->n_gpus + n_holders), sizeof(*job->requests));
    for (enum gpu_side side = GPU_SENDS; side <= GPU_RECEIVES && takes_part(job); side++) {
        job->part[side] = gpu_part_of(data, side, groups->gpu, groups->member, n_holders);
        size_t bytes = gpu_data_bytes(data, side, groups->gpu);
        job->host[side] = app_allocate(shares_out(job) ? bytes : job->part[side].bytes, 1);
        if (!shares_out(job))
            continue;
        job->staged[side] = app_allocate(bytes, 1);
        job->parts[side] = app_allocate((size_t)n_holders, sizeof(*job->parts[side]));
        for (int holder = 0; holder < n_holders; holder++)
            job->parts[side][holder] = gpu_part_of(data, side, groups->gpu, holder, n_holders);
    }
}

void gpu_job_release(struct gpu_job *job)
{
    for (enum gpu_side side = GPU_SENDS; side <= GPU_RECEIVES; side++) {
        for (int holder = 0; job->parts[side] && holder < job->n_holders; holder++)
            gpu_part_release(&job->parts[side][holder]);
        free(job->parts[side]);
        free(job->staged[side]);
        free(job->host[side]);
        gpu_part_release(&job->part[side]);
    }
    free(job->requests);
}

/* Sends each piece to the process that has it to receive: of GPU d the one that holds the segments of this GPU, as H
 * VI.B has each process hold all of the data of some GPUs. What a GPU has for itself is copied, by MPI where it has the
 * GPU's memory. */
static void exchange_messages(struct gpu_job *job)
{
    const struct gpu_groups *groups = job->groups;
    const struct gpu_part *sends = &job->part[GPU_SENDS], *receives = &job->part[GPU_RECEIVES];
    int n = 0, own = groups->gpu;
    for (int gpu = 0; gpu < groups->n_gpus; gpu++) {
        int peer = gpu * groups->per_gpu + own % job->n_holders;
        if (gpu != own && receives->counts[gpu] > 0)
            MPI_Irecv(job->host[GPU_RECEIVES] + receives->offsets[gpu], receives->counts[gpu], MPI_INT64_T, peer,
                      TAG_MESSAGE, groups->all, &job->requests[n++]);
    }
    for (int gpu = 0; gpu < groups->n_gpus; gpu++) {
        int peer = gpu * groups->per_gpu + own % job->n_holders;
        if (gpu != own && sends->counts[gpu] > 0)
            MPI_Isend(job->host[GPU_SENDS] + sends->offsets[gpu], sends->counts[gpu], MPI_INT64_T, peer, TAG_MESSAGE,
                      groups->all, &job->requests[n++]);
    }
    if (job->way == GPU_CUDA_AWARE)
        MPI_Sendrecv(job->host[GPU_SENDS] + sends->offsets[own], sends->counts[own], MPI_INT64_T, 0, TAG_MESSAGE,
                     job->host[GPU_RECEIVES] + receives->offsets[own], receives->counts[own], MPI_INT64_T, 0,
                     TAG_MESSAGE, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    else
        memcpy(job->host[GPU_RECEIVES] + receives->offsets[own], job->host[GPU_SENDS] + sends->offsets[own],
               sends->pieces[own].bytes);
    MPI_Waitall(n, job->requests, MPI_STATUSES_IGNORE);
}

/* Does the collective on what this process holds, between the processes of its number. */
static void call(struct gpu_job *job)
{
    const struct gpu_part *sends = &job->part[GPU_SENDS], *receives = &job->part[GPU_RECEIVES];
    const gpu_value *from = job->host[GPU_SENDS];
    gpu_value *to = job->host[GPU_RECEIVES];
    MPI_Comm peers = job->groups->peers;
    switch (job->data->collective) {
    case GPU_ALLTOALL:
        MPI_Alltoall(from, sends->counts[0], MPI_INT64_T, to, receives->counts[0], MPI_INT64_T, peers);
        break;
    case GPU_ALLTOALLV:
        MPI_Alltoallv(from, sends->counts, sends->offsets, MPI_INT64_T, to, receives->counts, receives->offsets,
                      MPI_INT64_T, peers);
        break;
    case GPU_MESSAGES:
        exchange_messages(job);
        break;
    case GPU_ALLREDUCE:
        MPI_Allreduce(from, to, sends->counts[0], MPI_INT64_T, MPI_SUM, peers);
        break;
    }
}

/* Copies between the whole buffer and a part of it, on the host. */
static void pack(const gpu_value *whole, const struct gpu_part *part, gpu_value *packed)
{
    for (size_t i = 0; i < part->n; i++)
        memcpy(packed + part->offsets[i], (const char *)whole + part->pieces[i].offset, part->pieces[i].bytes);
}

static void unpack(const gpu_value *packed, const struct gpu_part *part, gpu_value *whole)
{
    for (size_t i = 0; i < part->n; i++)
        memcpy((char *)whole + part->pieces[i].offset, packed + part->offsets[i], part->pieces[i].bytes);
}

static int values(const struct gpu_part *part)
{
    return (int)(part->bytes / sizeof(gpu_value));
}

/* Copies from the device and sends the others of the GPU their parts; a part of nothing is not sent. */
static void share_out(struct gpu_job *job)
{
    struct device_piece whole = {0, gpu_data_bytes(job->data, GPU_SENDS, job->groups->gpu)};
    device_pull(&job->device[GPU_SENDS], &whole, 1, job->staged[GPU_SENDS]);
    gpu_value *at = job->host[GPU_SENDS];
    int n = 0;
    for (int holder = 0; holder < job->n_holders; holder++) {
        const struct gpu_part *part = &job->parts[GPU_SENDS][holder];
        pack(job->staged[GPU_SENDS], part, at);
        if (holder > 0 && part->bytes > 0)
            MPI_Isend(at, values(part), MPI_INT64_T, holder, TAG_OUT, job->groups->group, &job->requests[n++]);
        at += values(part);
    }
    MPI_Waitall(n, job->requests, MPI_STATUSES_IGNORE);
}

/* Receives what the others of the GPU got and copies all of it to the device. */
static void gather(struct gpu_job *job)
{
    gpu_value *at = job->host[GPU_RECEIVES];
    int n = 0;
    for (int holder = 0; holder < job->n_holders; holder++) {
        const struct gpu_part *part = &job->parts[GPU_RECEIVES][holder];
        if (holder > 0 && part->bytes > 0)
            MPI_Irecv(at, values(part), MPI_INT64_T, holder, TAG_BACK, job->groups->group, &job->requests[n++]);
        at += values(part);
    }
    MPI_Waitall(n, job->requests, MPI_STATUSES_IGNORE);
    at = job->host[GPU_RECEIVES];
    for (int holder = 0; holder < job->n_holders; holder++) {
        unpack(at, &job->parts[GPU_RECEIVES][holder], job->staged[GPU_RECEIVES]);
        at += values(&job->parts[GPU_RECEIVES][holder]);
    }
    struct device_piece whole = {0, gpu_data_bytes(job->data, GPU_RECEIVES, job->groups->gpu)};
    device_push(&job->device[GPU_RECEIVES], &whole, 1, job->staged[GPU_RECEIVES]);
}

static void run_extra_message(struct gpu_job *job)
{
    const struct gpu_part *sends = &job->part[GPU_SENDS], *receives = &job->part[GPU_RECEIVES];
    MPI_Comm group = job->groups->group;
    if (shares_out(job)) {
        share_out(job);
        call(job);
        gather(job);
        return;
    }
    if (sends->bytes > 0) {
        MPI_Irecv(job->host[GPU_SENDS], values(sends), MPI_INT64_T, 0, TAG_OUT, group, job->requests);
        MPI_Wait(job->requests, MPI_STATUS_IGNORE);
    }
    call(job);
    if (receives->bytes > 0) {
        MPI_Isend(job->host[GPU_RECEIVES], values(receives), MPI_INT64_T, 0, TAG_BACK, group, job->requests);
        MPI_Wait(job->requests, MPI_STATUS_IGNORE);
    }
}

/* Gives MPI the GPU's memory, which holds the whole buffers as one part. */
static void run_cuda_aware(struct gpu_job *job)
{
    gpu_value *host[] = {job->host[GPU_SENDS], job->host[GPU_RECEIVES]};
    for (enum gpu_side side = GPU_SENDS; side <= GPU_RECEIVES; side++)
        job->host[side] = device_address(&job->device[side]);
    call(job);
    for (enum gpu_side side = GPU_SENDS; side <= GPU_RECEIVES; side++)
        job->host[side] = host[side];
}

void gpu_job_run(struct gpu_job *job)
{
    if (!takes_part(job))
        return;
    if (job->way == GPU_CUDA_AWARE) {
        run_cuda_aware(job);
        return;
    }
    if (job->way == GPU_EXTRA_MESSAGE) {
        run_extra_message(job);
        return;
    }
    const struct gpu_part *sends = &job->part[GPU_SENDS], *receives = &job->part[GPU_RECEIVES];
    device_pull(&job->device[GPU_SENDS], sends->pieces, sends->n, job->host[GPU_SENDS]);
    call(job);
    device_push(&job->device[GPU_RECEIVES], receives->pieces, receives->n, job->host[GPU_RECEIVES]);
}
