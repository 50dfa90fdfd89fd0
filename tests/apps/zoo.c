/* A zoo of faults: jobs that make a textbook mistake, each with the same job mended beside it.
 *
 * usage: zoo KIND [mended] [STEPS [BYTES]]; BYTES: of messages of the healthy kinds, of which nothing is to be said
 *
 * Work is sleep, so that ranks may outnumber processors. The line that waits ends in `fault: KIND`. 4 ranks or more, an
 * even number. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, MANY = 2000 };

struct job {
    int rank, size, left, right;
    int mended;
    int step, steps, bytes;
    char *mine, *other; /* 16 MiB each */
    MPI_Win window;
    MPI_File file;
};

static void work_ms(double ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1e3)};
    time.tv_nsec = (long)((ms - 1e3 * (double)time.tv_sec) * 1e6);
    nanosleep(&time, NULL);
}

static int is_last(const struct job *job)
{
    return job->rank == job->size - 1;
}

static void exchange(const struct job *job, int bytes)
{
    MPI_Sendrecv(job->mine, bytes, MPI_BYTE, job->right, 0, job->other, bytes, MPI_BYTE, job->left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Passes a token around, on which each rank works before it passes it on; mended: all work at once, then pass it. */
static void chain(const struct job *job)
{
    if (job->mended || job->rank == 0)
        work_ms(3);
    if (job->rank == 0)
        MPI_Send(job->mine, 8, MPI_BYTE, job->right, 0, MPI_COMM_WORLD);
    MPI_Recv(job->other, 8, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* fault: chain */
    if (!job->mended && job->rank > 0)
        work_ms(3);
    if (job->rank > 0)
        MPI_Send(job->mine, 8, MPI_BYTE, job->right, 0, MPI_COMM_WORLD);
}

/* Shifts 8 MiB to the right by blocking sends, of which each waits for the next rank's; mended: MPI_Sendrecv. */
static void ordered_sends(const struct job *job)
{
    int to = is_last(job) ? MPI_PROC_NULL : job->right, from = job->rank == 0 ? MPI_PROC_NULL : job->left;
    work_ms(1);
    if (job->mended) {
        MPI_Sendrecv(job->mine, 8 * MIB, MPI_BYTE, to, 0, job->other, 8 * MIB, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        return;
    }
    MPI_Send(job->mine, 8 * MIB, MPI_BYTE, to, 0, MPI_COMM_WORLD); /* fault: ordered_sends */
    MPI_Recv(job->other, 8 * MIB, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Odd ranks come late to messages of 4 MiB, and even ones send them by MPI_Send before work; mended: MPI_Isend. */
static void late_receiver(const struct job *job)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (job->rank % 2 == 0 && job->mended)
        MPI_Isend(job->mine, 4 * MIB, MPI_BYTE, job->right, 0, MPI_COMM_WORLD, &request);
    else if (job->rank % 2 == 0)
        MPI_Send(job->mine, 4 * MIB, MPI_BYTE, job->right, 0, MPI_COMM_WORLD); /* fault: late_receiver */
    work_ms(10);
    if (job->rank % 2 == 1)
        MPI_Recv(job->other, 4 * MIB, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(job->mine, job->other, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
}

/* The last rank comes late to a ring of messages. */
static void late_sender(const struct job *job)
{
    MPI_Request request;
    MPI_Irecv(job->other, 1000, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, &request);
    work_ms(is_last(job) && !job->mended ? 10 : 3);
    MPI_Send(job->mine, 1000, MPI_BYTE, job->right, 0, MPI_COMM_WORLD); /* fault: late_sender */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* All send 2 MiB to rank 0, which handles one after the other; mended: the ranks handle each other's. */
static void hot_receiver(const struct job *job)
{
    if (job->mended) {
        exchange(job, 2 * MIB);
        work_ms(2);
    } else if (job->rank == 0) {
        for (int i = 1; i < job->size; i++) {
            MPI_Recv(job->other, 2 * MIB, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work_ms(2);
        }
    } else {
        MPI_Send(job->mine, 2 * MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD); /* fault: hot_receiver */
    }
}

/* Posts receives in the order opposite to that in which the messages come. */
static void receive_order(const struct job *job)
{
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    int receives = job->rank % 2;
    for (int i = 0; i < MANY && receives; i++)
        MPI_Irecv(job->other + 8 * i, 8, MPI_BYTE, job->left, job->mended ? i : MANY - i, MPI_COMM_WORLD,
                  &requests[i]); /* fault: receive_order */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY && !receives; i++)
        MPI_Send(job->mine, 8, MPI_BYTE, job->right, job->mended ? i : i + 1, MPI_COMM_WORLD);
    if (receives)
        MPI_Waitall(MANY, requests, statuses);
}

/* Sends 2,000 times 8 bytes; mended: once 16,000. */
static void small_messages(const struct job *job)
{
    work_ms(1);
    for (int i = 0; i < (job->mended ? 1 : MANY); i++) {
        int bytes = job->mended ? 8 * MANY : 8;
        if (job->rank % 2 == 0)
            MPI_Send(job->mine, bytes, MPI_BYTE, job->right, 0, MPI_COMM_WORLD); /* fault: small_messages */
        else
            MPI_Recv(job->other, bytes, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Waits in MPI_Ssend for a receiver whose work differs from step to step; mended: MPI_Send. */
static void synchronous(const struct job *job)
{
    if (job->rank % 2 == 0) {
        work_ms(5);
        if (job->mended)
            MPI_Send(job->mine, 100, MPI_BYTE, job->right, 0, MPI_COMM_WORLD);
        else
            MPI_Ssend(job->mine, 100, MPI_BYTE, job->right, 0, MPI_COMM_WORLD); /* fault: synchronous */
    } else {
        work_ms(job->step % 2 ? 1 : 9);
        MPI_Recv(job->other, 100, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Sends changing sizes, of which those above the eager limit of 4 KiB wait for a receiver whose work differs from step
 * to step; mended: MPI_Isend. */
static void missed_eager(const struct job *job)
{
    static MPI_Request request = MPI_REQUEST_NULL;
    int bytes = job->step % 3 ? 6000 + 4 * job->step : 100 + job->step;
    work_ms(job->rank % 2 == 0 ? 5 : job->step % 2 ? 1 : 9);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (job->rank % 2 == 1)
        MPI_Recv(job->other, bytes, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!job->mended)
        MPI_Send(job->mine, bytes, MPI_BYTE, job->right, 0, MPI_COMM_WORLD); /* fault: missed_eager */
    else if (job->step < job->steps - 1)
        MPI_Isend(job->mine, bytes, MPI_BYTE, job->right, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Send(job->mine, bytes, MPI_BYTE, job->right, 0, MPI_COMM_WORLD);
}

/* Works while 16 MiB should move, which they do only inside MPI; mended: calls MPI meanwhile. */
static void no_progress(const struct job *job)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int done = 0;
    MPI_Irecv(job->other, 16 * MIB, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(job->mine, 16 * MIB, MPI_BYTE, job->right, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 20; i++) {
        work_ms(0.2);
        if (job->mended && !done)
            MPI_Testall(2, requests, &done, statuses);
    }
    if (!done)
        MPI_Waitall(2, requests, statuses); /* fault: no_progress */
}

/* Waits right behind the posts for what is needed only after the work. */
static void early_wait(const struct job *job)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(job->other, 1000, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, &requests[0]);
    work_ms((job->rank + job->step) % 2 ? 6 : 1);
    MPI_Isend(job->mine, 1000, MPI_BYTE, job->right, 0, MPI_COMM_WORLD, &requests[1]);
    if (!job->mended)
        MPI_Waitall(2, requests, statuses); /* fault: early_wait */
    work_ms((job->rank + job->step) % 2 ? 1 : 6);
    if (job->mended)
        MPI_Waitall(2, requests, statuses);
}

/* The last rank comes late to a collective. */
static void late_collective(const struct job *job)
{
    double mine = 1, sum;
    work_ms(is_last(job) && !job->mended ? 10 : 3);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* fault: late_collective */
}

/* Higher ranks have more work before a collective. */
static void uneven(const struct job *job)
{
    double mine = 1, sum;
    work_ms(job->mended ? 2 * (job->size - 1) / 2.0 : 2 * job->rank);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* fault: uneven */
}

/* Adds up numbers one by one; mended: all at once. */
static void small_collectives(const struct job *job)
{
    int n = job->mended ? MANY / 10 : 1;
    work_ms(0.5);
    for (int i = 0; i < MANY / 10; i += n)
        MPI_Allreduce(job->mine, job->other, n, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD); /* fault: small_collectives */
}

/* Has a barrier in each step, in which ranks wait in turn for each other; mended: none, as nothing needs it. */
static void barriers(const struct job *job)
{
    work_ms((job->rank + job->step) % 2 ? 6 : 1);
    if (!job->mended || job->step == job->steps - 1)
        MPI_Barrier(MPI_COMM_WORLD); /* fault: barriers */
}

/* The root works alone between MPI_Gather and MPI_Bcast; mended: all do their part of that. */
static void root_part(const struct job *job)
{
    work_ms(3);
    MPI_Gather(job->mine, 100, MPI_BYTE, job->other, 100, MPI_BYTE, 0, MPI_COMM_WORLD);
    work_ms(job->mended ? 8.0 / job->size : job->rank == 0 ? 8 : 0);
    MPI_Bcast(job->mine, 100, MPI_BYTE, 0, MPI_COMM_WORLD); /* fault: root_part */
}

/* One rank has nearly all of what MPI_Allgatherv gathers. */
static void uneven_counts(const struct job *job)
{
    int *counts = malloc(2 * (size_t)job->size * sizeof *counts), *at = counts + job->size, total = 0;
    for (int i = 0; i < job->size; i++) {
        counts[i] = job->mended ? 8 * MIB / job->size : i == 1 ? 8 * MIB - 64 * (job->size - 1) : 64;
        at[i] = total;
        total += counts[i];
    }
    work_ms(0.5);
    MPI_Allgatherv(job->mine, counts[job->rank], MPI_BYTE, job->other, counts, at, MPI_BYTE,
                   MPI_COMM_WORLD); /* fault: uneven_counts */
    free(counts);
}

/* Broadcasts by an algorithm that zoo.py forces on Open MPI, with segments of 1 KiB; mended: by its own choice. */
static void bad_algorithm(const struct job *job)
{
    work_ms(0.2);
    MPI_Bcast(job->mine, MIB, MPI_BYTE, 0, MPI_COMM_WORLD); /* fault: bad_algorithm */
}

/* Calls MPI_Alltoallv to reach one neighbour; mended: sends to it. */
static void sparse_all(const struct job *job)
{
    int *counts = calloc(3 * (size_t)job->size, sizeof *counts);
    int *from = counts + job->size, *at = from + job->size;
    counts[job->right] = from[job->left] = 64;
    for (int i = 0; i < MANY / 10; i++) {
        if (job->mended && i == 0)
            exchange(job, 64 * MANY / 10);
        else if (!job->mended)
            MPI_Alltoallv(job->mine, counts, at, MPI_BYTE, job->other, from, at, MPI_BYTE,
                          MPI_COMM_WORLD); /* fault: sparse_all */
    }
    free(counts);
}

/* Locks rank 0's window exclusively for as long as it works; mended: only for the transfer. */
static void serial_locks(const struct job *job)
{
    if (job->mended)
        work_ms(4);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, job->window); /* fault: serial_locks */
    MPI_Put(job->mine, 64, MPI_BYTE, 0, 64 * job->rank, 64, MPI_BYTE, job->window);
    if (!job->mended)
        work_ms(4);
    MPI_Win_unlock(0, job->window);
}

/* Flushes after each MPI_Put; mended: once. */
static void many_flushes(const struct job *job)
{
    MPI_Win_lock_all(0, job->window);
    for (int i = 0; i < MANY; i++) {
        MPI_Put(job->mine, 8, MPI_BYTE, job->right, 8 * i, 8, MPI_BYTE, job->window);
        if (!job->mended)
            MPI_Win_flush(job->right, job->window); /* fault: many_flushes */
    }
    MPI_Win_unlock_all(job->window);
}

/* All meet in fences where two communicate; mended: only these two do. */
static void wide_fence(const struct job *job)
{
    int is_last_step = job->step == job->steps - 1;
    work_ms((job->rank + job->step) % 3 == 0 ? 6 : 1);
    if (!job->mended || job->step == 0 || is_last_step)
        MPI_Win_fence(0, job->window); /* fault: wide_fence */
    if (job->rank == 0 && !job->mended)
        MPI_Put(job->mine, 64, MPI_BYTE, 1, 0, 64, MPI_BYTE, job->window);
    if (job->rank == 0 && job->mended)
        MPI_Send(job->mine, 64, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (job->rank == 1 && job->mended)
        MPI_Recv(job->other, 64, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is_last_step)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, job->window);
}

/* Rank 0 writes what all have, while they wait; mended: all write at once. */
static void one_writer(const struct job *job)
{
    int bytes = 4 * MIB;
    work_ms(1);
    if (job->mended) {
        MPI_File_write_at(job->file, (MPI_Offset)bytes * job->rank, job->mine, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        return;
    }
    if (job->rank == 0)
        for (int i = 0; i < job->size; i++)
            MPI_File_write_at(job->file, (MPI_Offset)bytes * i, job->mine, bytes, MPI_BYTE,
                              MPI_STATUS_IGNORE); /* fault: one_writer */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Writes 64 bytes at a time; mended: all at once. */
static void small_writes(const struct job *job)
{
    int times = job->mended ? 1 : MANY, bytes = 64 * MANY / times;
    MPI_Offset begin = (MPI_Offset)64 * MANY * job->rank;
    work_ms(1);
    for (int i = 0; i < times; i++)
        MPI_File_write_at(job->file, begin + (MPI_Offset)i * bytes, job->mine, bytes, MPI_BYTE,
                          MPI_STATUS_IGNORE); /* fault: small_writes */
}

/* Each rank writes every n-th piece by itself; mended: its pieces lie together, and it writes them at once. */
static void apart_writes(const struct job *job)
{
    int piece = 4096, times = 64;
    work_ms(1);
    for (int i = 0; i < times && !job->mended; i++)
        MPI_File_write_at(job->file, (MPI_Offset)piece * (i * job->size + job->rank), job->mine, piece, MPI_BYTE,
                          MPI_STATUS_IGNORE); /* fault: apart_writes */
    if (job->mended)
        MPI_File_write_at(job->file, (MPI_Offset)piece * times * job->rank, job->mine, piece * times, MPI_BYTE,
                          MPI_STATUS_IGNORE);
}

struct thread {
    const struct job *job;
    int tag, times;
};

static void *send_some(void *data)
{
    const struct thread *thread = data;
    char bytes[8] = {0};
    int partner = thread->job->rank ^ 1;
    for (int i = 0; i < thread->times; i++)
        MPI_Sendrecv_replace(bytes, 8, MPI_BYTE, partner, thread->tag, partner, thread->tag, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE); /* fault: threads_in_turn */
    return NULL;
}

/* Four threads send small messages at once, for which the MPI lets one after the other; mended: one thread does. */
static void threads_in_turn(const struct job *job)
{
    pthread_t threads[4];
    struct thread of[4];
    int n = job->mended ? 1 : 4;
    for (int i = n - 1; i >= 0; i--) {
        of[i] = (struct thread){job, i, MANY / 10 / n};
        if (i == 0)
            send_some(&of[0]);
        else
            pthread_create(&threads[i], NULL, send_some, &of[i]);
    }
    for (int i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* Rank 0 prepares for a third of the run, while all wait; mended: all do their part. */
static void start_up(const struct job *job)
{
    if (job->step == 0) {
        double ms = 2.0 * job->steps;
        work_ms(job->mended ? ms / job->size : job->rank == 0 ? ms : 0);
        MPI_Bcast(job->mine, 1000, MPI_BYTE, 0, MPI_COMM_WORLD); /* fault: start_up */
    }
    work_ms(4);
    exchange(job, 1000);
}

/* Rank 0 writes up results at the end, while all wait; mended: all do their part. */
static void shut_down(const struct job *job)
{
    work_ms(4);
    exchange(job, 1000);
    if (job->step == job->steps - 1) {
        work_ms(job->mended ? 2.0 * job->steps / job->size : job->rank == 0 ? 2.0 * job->steps : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* fault: shut_down */
    }
}

/* Rank 1 is slow in the middle third of the run. */
static void stretch(const struct job *job)
{
    int is_slow = job->rank == 1 && !job->mended && job->step >= job->steps / 3 && job->step < 2 * job->steps / 3;
    work_ms(is_slow ? 12 : 3);
    exchange(job, 1000); /* fault: stretch */
}

/* Rank 2 gets slower from step to step. */
static void trend(const struct job *job)
{
    work_ms(job->rank == 2 && !job->mended ? 3 + 12.0 * job->step / job->steps : 3);
    exchange(job, 1000); /* fault: trend */
}

/* In one of twelve steps rank 2 does something else for a long time. */
static void outliers(const struct job *job)
{
    work_ms(job->rank == 2 && !job->mended && job->step % 12 == 7 ? 40 : 3);
    exchange(job, 1000); /* fault: outliers */
}

/* From the middle on all work half as long again. */
static void slower(const struct job *job)
{
    work_ms(!job->mended && job->step >= job->steps / 2 ? 6 : 4);
    exchange(job, 1000); /* fault: slower */
}

/* In one step rank 2 does something else for a long time. */
static void one_step(const struct job *job)
{
    work_ms(job->rank == 2 && !job->mended && job->step == 3 * job->steps / 5 ? 150 : 4);
    exchange(job, 1000); /* fault: one_step */
}

/* All are bound to the same processor, and work on it; mended: each to its own. Needs as many processors as ranks. */
static void same_core(const struct job *job)
{
    cpu_set_t all, first;
    size_t cpu = 0;
    clock_t end = clock() + CLOCKS_PER_SEC / 200;
    if (job->step == 0 && sched_getaffinity(0, sizeof all, &all) == 0) {
        for (int i = job->mended ? job->rank % CPU_COUNT(&all) : 0; i > 0 || !CPU_ISSET(cpu, &all); cpu++)
            i -= CPU_ISSET(cpu, &all) != 0;
        CPU_ZERO(&first);
        CPU_SET(cpu, &first);
        sched_setaffinity(0, sizeof first, &first);
    }
    while (clock() < end)
        ;
    exchange(job, 1000);
}

/* Computes for so long on a processor, however fast that one is: of two of a virtual machine, one may take 1.7 times as
 * long as the other for a while. */
static void compute_ms(double ms)
{
    struct timespec time;
    double until_ms = 0;
    for (double now_ms = 0; until_ms == 0 || now_ms < until_ms;) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        now_ms = 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
        until_ms = until_ms == 0 ? now_ms + ms : until_ms;
        for (volatile int i = 0; i < 100000; i++)
            ;
    }
}

/* Binds each rank to a processor of its own, as far as there are any, the last rank to the last one: the kernel leaves
 * ranks that compute on the same one for some tenths of a second now and then. */
static void bind_ranks(const struct job *job)
{
    cpu_set_t all, one;
    if (job->step > 0 || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    int left = (job->size - 1 - job->rank) % CPU_COUNT(&all);
    size_t cpu = CPU_SETSIZE - 1;
    while (cpu > 0 && (!CPU_ISSET(cpu, &all) || left-- > 0))
        cpu--;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The last rank has 1.5 times the work of the others; mended: all have the same part of all work. As the two below it
 * computes, since the kernel counts that. */
static void more_work(const struct job *job)
{
    bind_ranks(job);
    compute_ms(job->mended ? 4 + 2.0 / job->size : is_last(job) ? 6 : 4);
    exchange(job, 1000); /* fault: more_work */
}

/* The last rank is on one processor with a process that computes all the time. */
static void taken_processor(const struct job *job)
{
    static pid_t other;
    bind_ranks(job);
    if (job->step == 0 && is_last(job)) {
        pid_t parent = getpid();
        other = job->mended ? -1 : fork();
        for (time_t end = time(NULL) + 60; other == 0; compute_ms(1))
            if (getppid() != parent || time(NULL) > end)
                _exit(0);
    }
    compute_ms(4);
    exchange(job, 1000); /* fault: taken_processor */
    if (job->step == job->steps - 1 && other > 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
}

/* The last rank touches new pages in each step; mended: always the same. */
static void new_pages(const struct job *job)
{
    static char *pages;
    size_t bytes = 32 * (size_t)MIB;
    bind_ranks(job);
    compute_ms(4);
    if (!pages && is_last(job)) {
        pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(pages, bytes, MADV_NOHUGEPAGE);
    }
    for (size_t i = 0; is_last(job) && i < bytes; i += 4096)
        pages[i]++;
    if (is_last(job) && (!job->mended || job->step == job->steps - 1)) {
        munmap(pages, bytes);
        pages = NULL;
    }
    exchange(job, 1000); /* fault: new_pages */
}

/* All work is divided among the ranks, but that before the sum among two at most; mended: that as well. */
static void stops_scaling(const struct job *job)
{
    work_ms(96.0 / job->size);
    exchange(job, 1000);
    work_ms(96.0 / (job->mended || job->size < 2 ? job->size : 2));
    MPI_Allreduce(job->mine, job->other, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD); /* fault: stops_scaling */
}

/* Exchanges halos on a grid of ranks, of whose corners the first computes the inflow before it sends its halos; mended:
 * all compute their part of the inflow. */
static void corner(const struct job *job)
{
    static MPI_Comm grid = MPI_COMM_NULL;
    int shape[2] = {0, 0}, is_cyclic[2] = {0, 0}, at[4];
    MPI_Request requests[8];
    if (grid == MPI_COMM_NULL) {
        MPI_Dims_create(job->size, 2, shape);
        MPI_Cart_create(MPI_COMM_WORLD, 2, shape, is_cyclic, 0, &grid);
    }
    for (int i = 0; i < 2; i++)
        MPI_Cart_shift(grid, i, 1, &at[2 * i], &at[2 * i + 1]);
    for (int i = 0; i < 4; i++)
        MPI_Irecv(job->other + i * MIB, job->bytes, MPI_BYTE, at[i], i ^ 1, grid, &requests[i]);
    work_ms(job->mended ? 8.0 / job->size : job->rank == 0 ? 8 : 0);
    for (int i = 0; i < 4; i++)
        MPI_Isend(job->mine + i * MIB, job->bytes, MPI_BYTE, at[i], i, grid, &requests[4 + i]);
    work_ms(3);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE); /* fault: corner */
    work_ms(1);
    if (job->step == job->steps - 1)
        MPI_Comm_free(&grid);
}

/* Sweeps from the first rank to the last and back, two blocks each way, so that most ranks wait for the one before;
 * mended: twelve blocks of the same work together. */
static void sweep(const struct job *job)
{
    int blocks = job->mended ? 12 : 2;
    double change = 1, largest;
    for (int back = 0; back < 2; back++) {
        int from = back ? job->rank + 1 : job->rank - 1, to = back ? job->rank - 1 : job->rank + 1;
        for (int i = 0; i < blocks; i++) {
            if (from >= 0 && from < job->size)
                MPI_Recv(job->other, 24000 / blocks, MPI_BYTE, from, back, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE); /* fault: sweep */
            work_ms(12.0 / blocks);
            if (to >= 0 && to < job->size)
                MPI_Send(job->mine, 24000 / blocks, MPI_BYTE, to, back, MPI_COMM_WORLD);
        }
    }
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* Rank 0 prepares and hands out one item to whichever rank asks, which waits for it with nothing to do; mended: ranks
 * ask for the next item before they work on the one that they have. */
static void farm(const struct job *job)
{
    int items = 8 * (job->size - 1), item = 0;
    MPI_Status status;
    for (int i = 0; job->rank == 0 && i < items + job->size - 1; i++) {
        MPI_Recv(&item, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        item = i < items ? i : -1;
        work_ms(item < 0 ? 0 : 1);
        MPI_Send(&item, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    if (job->rank > 0)
        MPI_Send(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    while (job->rank > 0 && item >= 0) {
        MPI_Recv(&item, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* fault: farm */
        if (job->mended && item >= 0)
            MPI_Send(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        work_ms(item < 0 ? 0 : 3 + item * 7 % 4);
        if (!job->mended && item >= 0)
            MPI_Send(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

/* Nothing is wrong: all work alike, and exchange halos. */
static void healthy(const struct job *job)
{
    work_ms(4);
    exchange(job, job->bytes);
}

/* Nothing is wrong: halos are exchanged with both neighbours at once. */
static void healthy_halo(const struct job *job)
{
    MPI_Request requests[4];
    work_ms(3);
    MPI_Irecv(job->other, job->bytes, MPI_BYTE, job->left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(job->other + 8 * MIB, job->bytes, MPI_BYTE, job->right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(job->mine, job->bytes, MPI_BYTE, job->right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(job->mine, job->bytes, MPI_BYTE, job->left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Nothing is wrong: sums over all, and a transposition at times. */
static void healthy_sums(const struct job *job)
{
    work_ms(3);
    MPI_Allreduce(job->mine, job->other, job->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (job->step % 5 == 0)
        MPI_Alltoall(job->mine, job->bytes / job->size, MPI_BYTE, job->other, job->bytes / job->size, MPI_BYTE,
                     MPI_COMM_WORLD);
}

/* Nothing is wrong: work takes the processor, as alike as that goes, and every rank sends in turn. */
static void healthy_busy(const struct job *job)
{
    for (volatile int i = 0; i < 1000000; i++)
        ;
    exchange(job, job->bytes);
    MPI_Bcast(job->mine, job->bytes, MPI_BYTE, job->step % job->size, MPI_COMM_WORLD);
}

/* Nothing is wrong: work differs a little at random, as it does. */
static void healthy_noise(const struct job *job)
{
    work_ms(4 + 0.4 * (double)(rand() % 100) / 100);
    exchange(job, job->bytes);
    if (job->step % 10 == 0)
        MPI_Allreduce(job->mine, job->other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct kind {
    const char *name;
    void (*step)(const struct job *job);
    int steps;
} kinds[] = {
    {"chain", chain, 40},
    {"ordered_sends", ordered_sends, 100},
    {"late_receiver", late_receiver, 25},
    {"late_sender", late_sender, 60},
    {"hot_receiver", hot_receiver, 40},
    {"receive_order", receive_order, 12},
    {"small_messages", small_messages, 30},
    {"synchronous", synchronous, 60},
    {"missed_eager", missed_eager, 60},
    {"no_progress", no_progress, 40},
    {"early_wait", early_wait, 60},
    {"late_collective", late_collective, 60},
    {"uneven", uneven, 60},
    {"small_collectives", small_collectives, 100},
    {"barriers", barriers, 80},
    {"root_part", root_part, 50},
    {"uneven_counts", uneven_counts, 60},
    {"bad_algorithm", bad_algorithm, 300},
    {"sparse_all", sparse_all, 40},
    {"serial_locks", serial_locks, 30},
    {"many_flushes", many_flushes, 30},
    {"wide_fence", wide_fence, 60},
    {"one_writer", one_writer, 40},
    {"small_writes", small_writes, 60},
    {"apart_writes", apart_writes, 100},
    {"threads_in_turn", threads_in_turn, 20},
    {"start_up", start_up, 60},
    {"shut_down", shut_down, 60},
    {"stretch", stretch, 90},
    {"trend", trend, 90},
    {"outliers", outliers, 96},
    {"slower", slower, 200},
    {"one_step", one_step, 200},
    {"same_core", same_core, 100},
    {"more_work", more_work, 150},
    {"taken_processor", taken_processor, 60},
    {"new_pages", new_pages, 60},
    {"stops_scaling", stops_scaling, 10},
    {"corner", corner, 60},
    {"sweep", sweep, 15},
    {"farm", farm, 15},
    {"healthy", healthy, 80},
    {"healthy_noise", healthy_noise, 80},
    {"healthy_halo", healthy_halo, 100},
    {"healthy_sums", healthy_sums, 100},
    {"healthy_busy", healthy_busy, 100},
};

static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct kind *kind = argc > 1 ? kind_of(argv[1]) : NULL;
    int is_threaded = kind && kind->step == threads_in_turn, got;
    if (!kind) {
        fprintf(stderr, "usage: zoo KIND [mended] [STEPS]; KIND:");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            fprintf(stderr, " %s", kinds[i].name);
        fputc('\n', stderr);
        return 2;
    }
    MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &got);
    struct job job = {.mended = argc > 2 && strcmp(argv[2], "mended") == 0, .steps = kind->steps};
    int number = job.mended ? 3 : 2;
    if (argc > number && atoi(argv[number]) > 0)
        job.steps = atoi(argv[number]);
    job.bytes = argc > number + 1 && atoi(argv[number + 1]) > 0 ? atoi(argv[number + 1]) : 10000;
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.right = (job.rank + 1) % job.size;
    job.left = (job.rank + job.size - 1) % job.size;
    job.mine = calloc(2, 16 * MIB);
    job.other = job.mine + 16 * MIB;
    srand((unsigned)job.rank + 1);
    int has_window = strstr("serial_locks many_flushes wide_fence", kind->name) != NULL;
    int has_file = strstr(kind->name, "write") != NULL;
    char name[4096];
    snprintf(name, sizeof name, "%s/zoo.%ld.out", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (has_window)
        MPI_Win_create(job.other, 16 * MIB, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &job.window);
    if (has_file && MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                  MPI_INFO_NULL, &job.file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (job.step = 0; job.step < job.steps; job.step++)
        kind->step(&job);
    if (has_file)
        MPI_File_close(&job.file);
    if (has_window)
        MPI_Win_free(&job.window);
    MPI_Finalize();
    free(job.mine);
    return 0;
}
