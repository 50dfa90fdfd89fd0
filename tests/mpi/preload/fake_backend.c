/* A backend for tests of the preload library alone counts what reaches its wrappers and, when the process ends MPI,
 * writes the counts into a file of FAKE_LOG, named after the process id.
 *
 * It knows no MPI type: integers and pointers are handed on in registers as they came. It is built once a family; the
 * file that a process loads tells in the log which it took for its MPI. */
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/preload/bind.h"
#include "interpose/spool/event.h"
#include "interpose/functions.h"

typedef long six(long a, long b, long c, long d, long e, long f);

static const struct mpistair_host *host;
static atomic_uint n_calls[FN_COUNT];

static long call(uint32_t function, long a, long b, long c, long d, long e, long f)
{
    atomic_fetch_add(&n_calls[function], 1);
    six *next = (six *)(void (*)(void))host->next[function];
    return next(a, b, c, d, e, f);
}

/* X(NAME) is called for each function that is recorded here. */
#define RECORDED(X) X(Init) X(Init_thread) X(Send) X(Recv) X(Isend) X(Irecv) X(Wait) X(Test)

#define X(name)                                                                                                        \
    static long wrap_##name(long a, long b, long c, long d, long e, long f)                                            \
    {                                                                                                                  \
        return call(FN_##name, a, b, c, d, e, f);                                                                      \
    }
RECORDED(X)
#undef X

static void write_log(void)
{
    const char *folder = getenv("FAKE_LOG");
    char path[PATH_MAX];
    if (folder == NULL || snprintf(path, sizeof path, "%s/%ld.log", folder, (long)getpid()) >= (int)sizeof path)
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    dprintf(file, "family %s\n", FAKE_FAMILY == SPOOL_FAMILY_MPICH ? "mpich" : "openmpi");
#define X(name, family) #name,
    static const char *const functions[] = {MPISTAIR_FUNCTIONS(X)};
#undef X
    for (unsigned i = 0; i < FN_COUNT; i++) {
        if (atomic_load(&n_calls[i]) != 0)
            dprintf(file, "%s %u\n", functions[i], atomic_load(&n_calls[i]));
        if ((*host->calls)[i] != 0)
            dprintf(file, "passed %s %lu\n", functions[i], (unsigned long)(*host->calls)[i]);
    }
    close(file);
}

/* The log is written before: afterwards a launcher may kill this process because another failed. */
static long wrap_Finalize(long a, long b, long c, long d, long e, long f)
{
    atomic_fetch_add(&n_calls[FN_Finalize], 1);
    write_log();
    six *next = (six *)(void (*)(void))host->next[FN_Finalize];
    return next(a, b, c, d, e, f);
}

#ifdef FAKE_CALLS_MPI
int MPI_Initialized(int *flag);
#endif

static int start(const struct mpistair_host *given)
{
#ifdef FAKE_CALLS_MPI
    int flag;
    MPI_Initialized(&flag);
#endif
    host = given;
    return getenv("FAKE_REFUSES") != NULL ? -1 : 0;
}

#define X(name) [FN_##name] = (mpistair_code *)(void (*)(void))wrap_##name,
static mpistair_code *const wrappers[FN_COUNT] = {
    RECORDED(X)[FN_Finalize] = (mpistair_code *)(void (*)(void))wrap_Finalize,
};
#undef X

__attribute__((visibility("default"))) extern const struct mpistair_backend mpistair_backend_v1;
const struct mpistair_backend mpistair_backend_v1 = {
    .table_hash = MPISTAIR_TABLE_HASH + FAKE_HASH_OFFSET,
    .n_functions = FN_COUNT,
    .wrappers = wrappers,
    .start = start,
};
