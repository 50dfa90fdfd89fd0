/* Works, and prints what the kernel counts of it, for the test of counters.
 *
 * usage: counted WAY
 *     plain   nothing else
 *     forbid  before MPI_Init a filter of seccomp refuses perf_event_open
 *     bare    the same, and close_range
 *     few     behind MPI_Init no descriptor can be opened any more
 *     closes  behind MPI_Init all files that are open are closed, and pipes are in their place, whose data must stay
 *     killed  the last rank ends by SIGKILL when its work is done
 *
 * A rank works for 400 ms of processor time and touches 3000 new pages. It prints
 * "rank R cpu_s S faults N open N threads N": between MPI_Init and MPI_Finalize, and the descriptors that are open. */
#include "tests/apps/app.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 3000, PAGE_BYTES = 4096 };

static void refuse_call(int number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1U),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        fputs("the kernel takes no filter\n", stderr);
        exit(1);
    }
}

enum { PIPES = 100 };

/* Fills pipes, or returns how many have not what they were filled with. */
static int replace_files(int is_end)
{
    static int pipes[PIPES][2];
    static const char data[] = "own data";
    char found[sizeof data] = "";
    struct stat status;
    int wrong = 0;
    for (int fd = 3; !is_end && fd < 65536; fd++)
        if (fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode)))
            close(fd);
    for (int i = 0; i < PIPES; i++)
        if (!is_end)
            wrong += pipe(pipes[i]) != 0 || write(pipes[i][1], data, sizeof data) != (ssize_t)sizeof data;
        else
            wrong += read(pipes[i][0], found, sizeof found) != (ssize_t)sizeof found || strcmp(found, data) != 0;
    return wrong;
}

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

static double cpu_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void work(double until_s)
{
    size_t bytes = (size_t)PAGES * PAGE_BYTES;
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; pages != MAP_FAILED && i < bytes; i += PAGE_BYTES)
        pages[i] = 1;
    while (cpu_s() < until_s)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "plain";
    int rank, size;
    if (strcmp(way, "forbid") == 0 || strcmp(way, "bare") == 0)
        refuse_call(SYS_perf_event_open);
    if (strcmp(way, "bare") == 0)
        refuse_call(436); /* close_range */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin_s = cpu_s();
    long before = faults();
    if (strcmp(way, "few") == 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    int closes = strcmp(way, "closes") == 0, wrong = closes ? replace_files(0) : 0;
    work(begin_s + 0.4);
    double worked_s = cpu_s() - begin_s;
    long made = faults() - before;
    int n_open = count_entries("/proc/self/fd");
    printf("rank %d cpu_s %.6f faults %ld open %d\n", rank, worked_s, made, n_open);
    fflush(stdout);
    wrong += closes ? replace_files(1) : 0;
    if (wrong > 0)
        app_fail("%d pipes have lost their data", wrong);
    if (strcmp(way, "killed") == 0 && rank == size - 1)
        raise(SIGKILL);
    MPI_Finalize();
    return 0;
}
