/* Loads and unloads plug-ins as it is told:
 *
 *     plugins WORD...
 *
 * a and b are two plug-ins, whose paths PLUG_A and PLUG_B have: "open a" loads one, "close a" unloads it, "unseen a"
 * does so by the C library's own dlclose, "ucx a" as UCX does, with a question to dlinfo before, "namespace a" loads it
 * into a namespace of its own. "call a N" lets it send N messages to itself, or probe -N times in vain; "end a N" lets
 * it send them while it is unloaded. "init" is MPI_Init, "threads N" lets two threads load, call and unload a and b N
 * times, "kill" ends the process. It prints where the code of each plug-in lies as it is loaded, and fails where
 * something does not work. */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/apps/plugins.h"

static void *handles[2];
static struct plug_mpi mpi;
static int n_rounds;
static pthread_barrier_t both;

static void fail(const char *what)
{
    const char *reason = dlerror();
    fprintf(stderr, "%s: %s\n", what, reason != NULL ? reason : "failed");
    exit(1);
}

static void *find(void *handle, const char *name)
{
    void *found = handle == NULL ? NULL : dlsym(handle, name);
    if (found == NULL)
        fail(name);
    return found;
}

static void open_plug(int which, int apart)
{
    const char *path = getenv(which == 0 ? "PLUG_A" : "PLUG_B");
    handles[which] = apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW);
}

static void call_plug(int which, int n)
{
    __typeof__(&plug) function;
    void *found = find(handles[which], "plug");
    memcpy(&function, &found, sizeof function);
    function(&mpi, n);
}

static void end_plug(int which, int n)
{
    __typeof__(&plug_at_end) function;
    void *found = find(handles[which], "plug_at_end");
    memcpy(&function, &found, sizeof function);
    function(n);
}

static void close_plug(int which, char way)
{
    struct link_map *map;
    int (*of_libc)(void *);
    void *found = find(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "dlclose");
    memcpy(&of_libc, &found, sizeof of_libc);
    if (way == 'u' && dlinfo(handles[which], RTLD_DI_LINKMAP, &map) != 0)
        fail("dlinfo");
    if ((way == 'c' ? dlclose(handles[which]) : of_libc(handles[which])) != 0)
        fail("dlclose");
}

static void *run_thread(void *context)
{
    int which = *(const int *)context;
    for (int i = 0; i < n_rounds; i++) {
        pthread_barrier_wait(&both);
        open_plug(which, 0);
        call_plug(which, 5);
        close_plug(which, 'c');
    }
    return NULL;
}

static void run_threads(int n)
{
    static const int numbers[] = {0, 1};
    pthread_t threads[2];
    n_rounds = n;
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)&numbers[i]) != 0)
            fail("pthread_create");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void init(void)
{
    int level;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    mpi = (struct plug_mpi){MPI_Sendrecv, MPI_Iprobe, MPI_INT, MPI_COMM_SELF, MPI_STATUS_IGNORE};
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int which = i + 1 < argc && strcmp(argv[i + 1], "b") == 0;
        if (strcmp(word, "init") == 0) {
            init();
        } else if (strcmp(word, "kill") == 0) {
            raise(SIGKILL);
        } else if (strcmp(word, "threads") == 0) {
            run_threads(atoi(argv[++i]));
        } else if (strcmp(word, "open") == 0 || strcmp(word, "namespace") == 0) {
            open_plug(which, word[0] == 'n');
            printf("%s %p\n", argv[++i], find(handles[which], "plug"));
            fflush(stdout);
        } else if (strcmp(word, "close") == 0 || strcmp(word, "unseen") == 0 || strcmp(word, "ucx") == 0) {
            close_plug(which, strcmp(word, "unseen") == 0 ? 0 : word[0]);
            i++;
        } else if (strcmp(word, "call") == 0 && i + 2 < argc) {
            call_plug(which, atoi(argv[i + 2]));
            i += 2;
        } else if (strcmp(word, "end") == 0 && i + 2 < argc) {
            end_plug(which, atoi(argv[i + 2]));
            i += 2;
        } else {
            fail(word);
        }
    }
    MPI_Finalize();
    return 0;
}
