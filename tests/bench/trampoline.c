/* Measures what a call costs that passes through the preload library, beside the same call made directly.
 *
 * It runs under LD_PRELOAD with an MPI of a few functions (tests/mpi/preload/fake_mpi.c) that do nothing, so that the
 * difference is the trampoline's alone. It prints nanoseconds a call, the smallest of several batches, for the four
 * ways: not recorded and passed on, recorded (here outside of a run, so passed on), PMPI_X of it, and PMPI_X of a
 * function without communication. */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

enum { BATCHES = 20, CALLS = 1000000 };

typedef int two(int number, void *pointer);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Makes calls through a volatile pointer: every call is one indirect call, as through a PLT. */
static double call_ns(two *function)
{
    two *volatile called = function;
    double best_ns = 1e9;
    int rank = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin_ns = now_ns();
        for (int i = 0; i < CALLS; i++)
            called(0, &rank);
        double each_ns = (now_ns() - begin_ns) / CALLS;
        best_ns = each_ns < best_ns ? each_ns : best_ns;
    }
    return best_ns;
}

static two *find(void *library, const char *name)
{
    union {
        void *symbol;
        two *function;
    } found = {.symbol = dlsym(library, name)};
    return found.function;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *way;
    } cases[] = {{"MPI_Comm_rank", "passed on"},
                 {"MPI_Win_fence", "recorded, outside of a run"},
                 {"PMPI_Win_fence", "PMPI_X of it"},
                 {"PMPI_Comm_rank", "PMPI_X without communication"}};
    void *mpi = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (mpi == NULL) {
        fprintf(stderr, "usage: LD_PRELOAD=libmpistair.so trampoline LIBFAKE\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        two *direct = find(mpi, cases[i].name), *preloaded = find(RTLD_DEFAULT, cases[i].name);
        if (direct == NULL || preloaded == NULL || direct == preloaded) {
            fprintf(stderr, "%s: the preload library is not in front of the MPI\n", cases[i].name);
            return 1;
        }
        double direct_ns = call_ns(direct), preloaded_ns = call_ns(preloaded);
        printf("%-16s direct %5.2f ns, preloaded %5.2f ns, difference %5.2f ns  (%s)\n", cases[i].name, direct_ns,
               preloaded_ns, preloaded_ns - direct_ns, cases[i].way);
    }
    return 0;
}
