/* rough is a job that is rough with what is not its own, while it goes on sending.
 *
 *     rough WAY FILE
 *
 * Sends to MPI_PROC_NULL are operations that wait for nobody. WAY is
 *     close   a thread closes all descriptors of files that have a name, opens FILE.RANK, puts it at every number
 *             that it closed, and writes 4 MiB there; before and after MPI_Finalize FILE.RANK must hold those and
 *             no more
 *     space   4 MiB of operations; with no descriptor left to open, and an address space of 40 MiB more than there
 *             is, 48 MiB of operations, then 30 MiB of memory; then with 4 MiB more, 8 MiB of operations
 *     size    4 MiB of operations; then with files of 64 KiB at most, until the end, 8 MiB of operations
 *     forbid  4 MiB of operations; then a filter of seccomp refuses fallocate and ftruncate with the error number FILE;
 *             24 MiB more
 *     refuse  the same, and the filter refuses pwrite, too
 *     cling   the same, and of each 1024 operations a request is open until the end
 *     links   after MPI_Init rank 0 puts links to FILE where the names of the files in MPISTAIR_SPOOL are, but for
 *             spools
 *     held    some requests of each 1 MiB of operations are completed only at the end, some are asked for by
 *             MPI_Request_get_status first, and some never; 64 MiB of operations
 * A line "sent N" of each rank tells how many sends to nobody there were. */
#include "tests/apps/app.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    A_MIB = MIB / 64, /* operations */
    OWN_BYTES = 4 * MIB,
    HELD = 12,          /* MiB of operations of the way held */
    CLINGING = 28 * 16, /* requests of the way cling */
};

static uint64_t n_sent;

static void send_to_nobody(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        MPI_Send(&n, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    n_sent += (uint64_t)n;
}

static uint32_t own_rank;

/* Returns what FILE.RANK holds at a place. */
static uint32_t own_word(size_t at)
{
    return (uint32_t)(at * 2654435761U) ^ own_rank;
}

static char own_path[PATH_MAX];
static atomic_int is_written;

static void *write_own(void *nothing)
{
    int closed[64], n_closed = 0;
    uint32_t *words = app_allocate(OWN_BYTES, 1);
    for (int fd = 3; fd < 65536; fd++) {
        struct stat status;
        if (n_closed < 64 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 0) {
            close(fd);
            closed[n_closed++] = fd;
        }
    }
    int own = open(own_path, O_CREAT | O_EXCL | O_RDWR, 0600);
    for (int i = 0; i < n_closed; i++)
        if (closed[i] != own)
            dup2(own, closed[i]);
    for (size_t i = 0; i < OWN_BYTES / sizeof *words; i++)
        words[i] = own_word(i);
    for (size_t at = 0; at < OWN_BYTES; at += MIB)
        if (write(own, (char *)words + at, MIB) != MIB)
            app_fail("%s cannot be written", own_path);
    free(words);
    is_written = 1;
    return nothing;
}

static int own_is_whole(void)
{
    uint32_t *words = malloc(OWN_BYTES);
    struct stat status;
    int fd = open(own_path, O_RDONLY);
    int whole =
        words && fstat(fd, &status) == 0 && status.st_size == OWN_BYTES && read(fd, words, OWN_BYTES) == OWN_BYTES;
    for (size_t i = 0; whole && i < OWN_BYTES / sizeof *words; i++)
        whole = words[i] == own_word(i);
    if (!whole)
        fprintf(stderr, "rough: %s has %lld bytes, not the %d written, or others\n", own_path,
                (long long)status.st_size, OWN_BYTES);
    close(fd);
    free(words);
    return whole;
}

static void close_others(const char *path)
{
    pthread_t thread;
    own_rank = (uint32_t)app_rank();
    snprintf(own_path, sizeof own_path, "%s.%d", path, app_rank());
    send_to_nobody(3 * A_MIB);
    pthread_create(&thread, NULL, write_own, NULL);
    while (!is_written)
        send_to_nobody(100);
    pthread_join(thread, NULL);
    send_to_nobody(24 * A_MIB);
    if (!own_is_whole())
        app_fail("its file is damaged");
}

static uint64_t address_space_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        app_fail("/proc/self/statm cannot be read");
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct rlimit set_limit(__rlimit_resource_t resource, uint64_t bytes)
{
    struct rlimit before, limit;
    getrlimit(resource, &before);
    limit = before;
    limit.rlim_cur = bytes;
    if (setrlimit(resource, &limit) != 0)
        app_fail("a limit cannot be set");
    return before;
}

static void lower_space(void)
{
    send_to_nobody(4 * A_MIB);
    uint64_t space = address_space_bytes();
    struct rlimit files = set_limit(RLIMIT_NOFILE, 0);
    struct rlimit before = set_limit(RLIMIT_AS, space + 40 * MIB);
    send_to_nobody(48 * A_MIB);
    char *memory = malloc(30 * MIB);
    if (!memory)
        app_fail("no memory of its own is left");
    memset(memory, 1, 30 * MIB);
    free(memory);
    setrlimit(RLIMIT_NOFILE, &files);
    puts("whole");
    set_limit(RLIMIT_AS, address_space_bytes() + 4 * MIB);
    send_to_nobody(8 * A_MIB);
    setrlimit(RLIMIT_AS, &before);
}

static void lower_size(void)
{
    send_to_nobody(4 * A_MIB);
    set_limit(RLIMIT_FSIZE, 65536);
    send_to_nobody(8 * A_MIB);
}

/* Lets the kernel answer calls by an error, in all threads of the process, as a sandbox does. */
static void refuse(int error, const int *calls, size_t n)
{
    struct sock_filter code[16] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    size_t used = 1;
    for (size_t i = 0; i < n; i++) {
        code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error);
    }
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)used, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        app_fail("the kernel takes no filter");
}

static void send_refused(int error, size_t n_calls, int n_open)
{
    static const int calls[] = {SYS_fallocate, SYS_ftruncate, SYS_pwrite64};
    static MPI_Request open_ones[CLINGING];
    static int values[CLINGING];
    for (int i = 0; i < CLINGING; i++) {
        if (i == CLINGING / 7)
            refuse(error, calls, n_calls);
        if (i < n_open)
            MPI_Irecv(&values[i], 1, MPI_INT, app_rank(), i, MPI_COMM_WORLD, &open_ones[i]);
        send_to_nobody(28 * A_MIB / CLINGING);
    }
    for (int i = 0; i < n_open; i++) {
        MPI_Cancel(&open_ones[i]);
        MPI_Wait(&open_ones[i], MPI_STATUS_IGNORE);
    }
}

static void plant_links(const char *path)
{
    const char *name = getenv("MPISTAIR_SPOOL");
    DIR *folder = name ? opendir(name) : NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    for (struct dirent *entry; app_rank() == 0 && folder && (entry = readdir(folder));)
        if (strstr(entry->d_name, ".maps")) {
            unlinkat(dirfd(folder), entry->d_name, 0);
            if (symlinkat(path, dirfd(folder), entry->d_name) == 0)
                printf("planted %s\n", entry->d_name);
        }
    if (folder)
        closedir(folder);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The i-th of each MiB: waited for at the end, reported by MPI_Request_get_status and waited for at the end, never. */
static void hold_requests(void)
{
    static MPI_Request requests[HELD][4];
    static int values[HELD][4];
    uint64_t before = address_space_bytes();
    for (int i = 0; i < HELD; i++) {
        for (int k = 0; k < 4; k++)
            MPI_Irecv(&values[i][k], 1, MPI_INT, app_rank(), 4 * i + k, MPI_COMM_WORLD, &requests[i][k]);
        int flag = 0;
        MPI_Send(&i, 1, MPI_INT, app_rank(), 4 * i + 1, MPI_COMM_WORLD);
        while (!flag)
            MPI_Request_get_status(requests[i][1], &flag, MPI_STATUS_IGNORE);
        send_to_nobody(A_MIB);
    }
    for (int i = 0; i < HELD; i++) {
        MPI_Send(&i, 1, MPI_INT, app_rank(), 4 * i, MPI_COMM_WORLD);
        MPI_Waitall(2, requests[i], MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < HELD; i++)
        for (int k = 2; k < 4; k++) {
            MPI_Cancel(&requests[i][k]);
            if (k == 2)
                MPI_Wait(&requests[i][k], MPI_STATUS_IGNORE);
            else
                MPI_Request_free(&requests[i][k]);
        }
    send_to_nobody(8 * A_MIB);
    uint64_t after = address_space_bytes();
    printf("grown by %lld MiB\n", ((long long)after - (long long)before) / MIB);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (argc != 3)
        app_fail("usage: rough WAY FILE");
    if (strcmp(argv[1], "close") == 0)
        close_others(argv[2]);
    else if (strcmp(argv[1], "space") == 0)
        lower_space();
    else if (strcmp(argv[1], "size") == 0)
        lower_size();
    else if (strcmp(argv[1], "forbid") == 0)
        send_refused(atoi(argv[2]), 2, 0);
    else if (strcmp(argv[1], "refuse") == 0)
        send_refused(atoi(argv[2]), 3, 0);
    else if (strcmp(argv[1], "cling") == 0)
        send_refused(atoi(argv[2]), 3, CLINGING);
    else if (strcmp(argv[1], "links") == 0)
        plant_links(argv[2]);
    else if (strcmp(argv[1], "held") == 0)
        hold_requests();
    if (n_sent > 0)
        printf("sent %llu\n", (unsigned long long)n_sent);
    fflush(stdout);
    MPI_Finalize();
    return strcmp(argv[1], "close") == 0 && !own_is_whole();
}
