/* A program in regions that it marks by one of the ways of other tools, as their headers and libraries do.
 *
 * usage: region_ways nvtx|itt|kokkos|caliper|pcontrol|ipm
 *
 * Each way does the same: three times a region OUTER in which MPI_Barrier is called, and within it one, or a kernel,
 * called inner. Of NVTX and ITT the program's side is written here from their published headers. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "tests/apps/caliper_stand_in.h"

enum { REPEATS = 3 };

typedef void function(void);

/* Returns a function of the library that a variable names; the job fails without. */
static function *of_tool(const char *variable, const char *name)
{
    const char *path = getenv(variable);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *symbol = library ? dlsym(library, name) : NULL;
    function *found;
    if (!symbol) {
        fprintf(stderr, "%s=%s has no %s\n", variable, path ? path : "", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memcpy(&found, &symbol, sizeof found);
    return found;
}

/* NVTX: a pointer to a function for each callback, in two modules. */
enum { CORE_SIZE = 16, CORE2_SIZE = 16 };
static function *core[CORE_SIZE], *core2[CORE2_SIZE];
static function **core_table[CORE_SIZE], **core2_table[CORE2_SIZE];

static int module_functions(int module, function ****table, unsigned *n)
{
    for (int i = 0; i < CORE_SIZE; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    *table = module == 1 ? core_table : core2_table;
    *n = CORE_SIZE;
    return module == 1 || module == 5;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t bytes;
        int (*module_functions)(int, function ****, unsigned *);
    } callbacks = {sizeof callbacks, module_functions};
    return id == 1 ? &callbacks : NULL;
}

struct event {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static void nvtx(void)
{
    int (*init)(const void *(*)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))of_tool("NVTX_INJECTION64_PATH", "InitializeInjectionNvtx2");
    if (!init(export_table))
        MPI_Abort(MPI_COMM_WORLD, 2);
    int (*push)(const char *) = (int (*)(const char *))core[9];
    int (*pop)(void) = (int (*)(void))core[11];
    uint64_t (*start_wide)(const wchar_t *) = (uint64_t(*)(const wchar_t *))core[6];
    void (*stop)(uint64_t) = (void (*)(uint64_t))core[7];
    int (*domain_push)(void *, const struct event *) = (int (*)(void *, const struct event *))core2[4];
    int (*domain_pop)(void *) = (int (*)(void *))core2[5];
    const void *(*registered)(void *, const char *) = (const void *(*)(void *, const char *))core2[10];
    const struct event inner = {
        .version = 3, .size = sizeof inner, .message_type = 3, .message = registered(NULL, "inner")};
    for (int i = 0; i < REPEATS; i++) {
        push("OUTER");
        domain_push(NULL, &inner);
        domain_pop(NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        pop();
    }
    uint64_t first = start_wide(L"first \x00e4"), second = start_wide(L"second"); /* they overlap */
    stop(first);
    MPI_Barrier(MPI_COMM_WORLD);
    stop(second);
}

/* ITT: a table of names and pointers. */
struct api {
    const char *name;
    void **function;
    void *init, *nothing;
    int group;
};

struct global {
    unsigned char magic[8];
    unsigned long version[3];
    long initialised[3];
    char mutex[40];
    void *library, *error_handler;
    const char **path;
    struct api *apis;
};

struct id {
    unsigned long long words[3];
};

static void itt(void)
{
    void *begin = NULL, *end = NULL, *other = &begin, *frame_begin = NULL, *frame_end = NULL;
    struct api apis[] = {
        {"__itt_task_begin", &begin, NULL, NULL, 1},       {"__itt_unknown", &other, NULL, NULL, 1},
        {"__itt_task_end", &end, NULL, NULL, 1},           {"__itt_frame_begin_v3", &frame_begin, NULL, NULL, 1},
        {"__itt_frame_end_v3", &frame_end, NULL, NULL, 1}, {NULL, NULL, NULL, NULL, 0}};
    struct global global = {.apis = apis};
    void (*init)(struct global *, int) =
        (void (*)(struct global *, int))of_tool("INTEL_LIBITTNOTIFY64", "__itt_api_init");
    init(&global, 1);
    void (*task_begin)(void *, struct id, struct id, const void *);
    void (*task_end)(void *), (*frame)(const void *, void *);
    memcpy(&task_begin, &begin, sizeof begin);
    memcpy(&task_end, &end, sizeof end);
    const struct id none = {{0}};
    const char *outer[] = {"OUTER"}, *inner[] = {"inner"};
    const struct {
        int flags;
        const char *name;
    } domain = {1, "inner"};
    if (other != NULL)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < REPEATS; i++) {
        task_begin(NULL, none, none, outer);
        if (i == 0) {
            memcpy(&frame, &frame_begin, sizeof frame);
            frame(&domain, NULL);
            memcpy(&frame, &frame_end, sizeof frame);
            frame(&domain, NULL);
        } else {
            task_begin(NULL, none, none, inner);
            task_end(NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        task_end(NULL);
    }
}

static void kokkos(void)
{
    void (*push)(const char *) = (void (*)(const char *))of_tool("KOKKOS_TOOLS_LIBS", "kokkosp_push_profile_region");
    void (*pop)(void) = of_tool("KOKKOS_TOOLS_LIBS", "kokkosp_pop_profile_region");
    void (*begin)(const char *, uint32_t, uint64_t *) =
        (void (*)(const char *, uint32_t, uint64_t *))of_tool("KOKKOS_TOOLS_LIBS", "kokkosp_begin_parallel_reduce");
    void (*end)(uint64_t) = (void (*)(uint64_t))of_tool("KOKKOS_TOOLS_LIBS", "kokkosp_end_parallel_reduce");
    void (*settings)(uint32_t, char *) =
        (void (*)(uint32_t, char *))of_tool("KOKKOS_TOOLS_LIBS", "kokkosp_request_tool_settings");
    char wishes[256] = {1};
    settings(1, wishes);
    if (wishes[0] != 0) /* it must not ask Kokkos to wait at each border */
        MPI_Abort(MPI_COMM_WORLD, 4);
    for (int i = 0; i < REPEATS; i++) {
        uint64_t kernel;
        char name[] = "OUTER", inner[] = "inner"; /* names that do not last */
        push(name);
        begin(inner, 0, &kernel);
        memset(inner, 'x', 3);
        end(kernel);
        MPI_Barrier(MPI_COMM_WORLD);
        pop();
    }
}

static void caliper(void)
{
    for (int i = 0; i < REPEATS; i++) {
        cali_begin_region("OUTER");
        cali_begin_region("inner");
        cali_end_region("inner");
        MPI_Barrier(MPI_COMM_WORLD);
        cali_end_region("OUTER");
    }
    if (cali_stand_in_calls() != 4 * REPEATS) /* Caliper itself is called as before */
        MPI_Abort(MPI_COMM_WORLD, 5);
}

static void pcontrol(void)
{
    for (int i = 0; i < REPEATS; i++) {
        MPI_Pcontrol(7);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Pcontrol(-7);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ipm(void)
{
    for (int i = 0; i < REPEATS; i++) {
        MPI_Pcontrol(1, "OUTER");
        MPI_Pcontrol(1, "inner");
        MPI_Pcontrol(-1, "inner");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(-1, "OUTER");
    }
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"nvtx", nvtx},       {"itt", itt},           {"kokkos", kokkos},
                {"caliper", caliper}, {"pcontrol", pcontrol}, {"ipm", ipm}};
    MPI_Init(&argc, &argv);
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
