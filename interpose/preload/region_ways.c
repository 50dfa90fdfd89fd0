/* What programs mark regions with already leads to our regions here: each of these ways has a tool that its programs
 * look for, by a variable that `mpistair run` sets or by its name, and this library is one.
 *
 *     NVTX      NVTX_INJECTION64_PATH: the header in the program loads that library, calls InitializeInjectionNvtx2,
 *               and gives tables of pointers to functions, which we set (the "export tables" of NVTX 2 and 3)
 *     ITT       INTEL_LIBITTNOTIFY64: libittnotify in the program loads it and calls __itt_api_init with its table
 *     Kokkos    KOKKOS_TOOLS_LIBS: Kokkos loads it and looks for the functions kokkosp_...
 *     Caliper   a program or library calls cali_begin_region, which comes by us on its way
 *
 * Of these interfaces only what is used is declared, in the layout that they promise to keep. Domains, colours,
 * categories and payloads are left out. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/preload/mpi_library.h"
#include "interpose/preload/regions.h"
#include "interpose/spool/event.h"

#define EXPORTED __attribute__((visibility("default")))

enum { NARROW_BYTES = SPOOL_REGION_NAME_BYTES + 8 };

/* Writes a wide text as UTF-8, as much as a name keeps. Returns text, or NULL for NULL. */
static const char *narrow(char text[NARROW_BYTES], const wchar_t *wide)
{
    size_t n = 0;
    if (wide == NULL)
        return NULL;
    for (; *wide != 0 && n < SPOOL_REGION_NAME_BYTES; wide++) {
        uint32_t c = (uint32_t)*wide;
        if (c < 0x80) {
            text[n++] = (char)c;
        } else if (c < 0x800) {
            text[n++] = (char)(0xc0 | c >> 6);
            text[n++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            text[n++] = (char)(0xe0 | c >> 12);
            text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            text[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            text[n++] = '?';
        }
    }
    text[n] = '\0';
    return text;
}

/* NVTX. Handles of domains and numbers of categories are not ours; registered strings are copies. */

typedef void nvtx_function(void);

struct nvtx_event {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

enum { NVTX_TEXT = 1, NVTX_WIDE = 2, NVTX_REGISTERED = 3 };
enum { NVTX_CALLBACKS = 1, NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

struct nvtx_callbacks {
    size_t bytes;
    int (*module_functions)(int module, nvtx_function ****table, unsigned *n);
};

static const char *nvtx_name(const struct nvtx_event *event, char text[NARROW_BYTES])
{
    if (event == NULL || event->size < sizeof *event)
        return NULL;
    switch (event->message_type) {
    case NVTX_TEXT:
    case NVTX_REGISTERED:
        return event->message;
    case NVTX_WIDE:
        return narrow(text, event->message);
    default:
        return NULL;
    }
}

static void nvtx_mark(const char *name)
{
    regions_now()->mark(name, SPOOL_WAY_NVTX);
}

static void nvtx_mark_wide(const wchar_t *name)
{
    char text[NARROW_BYTES];
    nvtx_mark(narrow(text, name));
}

static void nvtx_mark_event(const struct nvtx_event *event)
{
    char text[NARROW_BYTES];
    nvtx_mark(nvtx_name(event, text));
}

static uint64_t nvtx_start(const char *name)
{
    return regions_start(name, SPOOL_WAY_NVTX);
}

static uint64_t nvtx_start_wide(const wchar_t *name)
{
    char text[NARROW_BYTES];
    return nvtx_start(narrow(text, name));
}

static uint64_t nvtx_start_event(const struct nvtx_event *event)
{
    char text[NARROW_BYTES];
    return nvtx_start(nvtx_name(event, text));
}

static void nvtx_stop(uint64_t id)
{
    regions_stop(id);
}

/* Returns how deep the range is, which is not known here; it must not be negative. */
static int nvtx_push(const char *name)
{
    regions_now()->begin(name, SPOOL_WAY_NVTX);
    return 0;
}

static int nvtx_push_wide(const wchar_t *name)
{
    char text[NARROW_BYTES];
    return nvtx_push(narrow(text, name));
}

static int nvtx_push_event(const struct nvtx_event *event)
{
    char text[NARROW_BYTES];
    return nvtx_push(nvtx_name(event, text));
}

static int nvtx_pop(void)
{
    regions_now()->end(NULL);
    return 0;
}

static void nvtx_domain_mark(const void *domain, const struct nvtx_event *event)
{
    (void)domain;
    nvtx_mark_event(event);
}

static uint64_t nvtx_domain_start(const void *domain, const struct nvtx_event *event)
{
    (void)domain;
    return nvtx_start_event(event);
}

static void nvtx_domain_stop(const void *domain, uint64_t id)
{
    (void)domain;
    nvtx_stop(id);
}

static int nvtx_domain_push(const void *domain, const struct nvtx_event *event)
{
    (void)domain;
    return nvtx_push_event(event);
}

static int nvtx_domain_pop(const void *domain)
{
    (void)domain;
    return nvtx_pop();
}

/* Programs register a string once. Without memory its ranges have no name. */
static const char *nvtx_register(const void *domain, const char *name)
{
    (void)domain;
    int error = errno;
    char *copy = name != NULL ? strdup(name) : NULL;
    errno = error;
    return copy;
}

static const char *nvtx_register_wide(const void *domain, const wchar_t *name)
{
    char text[NARROW_BYTES];
    return nvtx_register(domain, narrow(text, name));
}

/* Sets the pointers of a module to functions[n], by the number of the callback. */
static void nvtx_set(const struct nvtx_callbacks *callbacks, int module, nvtx_function *const *functions, unsigned n)
{
    nvtx_function ***table = NULL;
    unsigned n_there = 0;
    if (!callbacks->module_functions(module, &table, &n_there) || table == NULL)
        return;
    for (unsigned i = 0; i < n && i < n_there; i++)
        if (functions[i] != NULL && table[i] != NULL)
            *table[i] = functions[i];
}

#define FUNCTION(name) (nvtx_function *)(name)

extern EXPORTED int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    static nvtx_function *const core[] = {
        [1] = FUNCTION(nvtx_mark_event),  [2] = FUNCTION(nvtx_mark),       [3] = FUNCTION(nvtx_mark_wide),
        [4] = FUNCTION(nvtx_start_event), [5] = FUNCTION(nvtx_start),      [6] = FUNCTION(nvtx_start_wide),
        [7] = FUNCTION(nvtx_stop),        [8] = FUNCTION(nvtx_push_event), [9] = FUNCTION(nvtx_push),
        [10] = FUNCTION(nvtx_push_wide),  [11] = FUNCTION(nvtx_pop),
    };
    static nvtx_function *const core2[] = {
        [1] = FUNCTION(nvtx_domain_mark),    [2] = FUNCTION(nvtx_domain_start), [3] = FUNCTION(nvtx_domain_stop),
        [4] = FUNCTION(nvtx_domain_push),    [5] = FUNCTION(nvtx_domain_pop),   [10] = FUNCTION(nvtx_register),
        [11] = FUNCTION(nvtx_register_wide),
    };
    const struct nvtx_callbacks *callbacks = export_table != NULL ? export_table(NVTX_CALLBACKS) : NULL;
    if (callbacks == NULL || callbacks->bytes < sizeof *callbacks)
        return 0;
    nvtx_set(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
    nvtx_set(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return 1;
}

/* ITT. Tasks are regions, frames of a domain are regions of its name. */

struct itt_id {
    unsigned long long words[3];
};

struct itt_domain {
    volatile int flags;
    const char *name;
};

struct itt_string {
    const char *text;
};

struct itt_api {
    const char *name;
    void **function;
    void *init;
    void *nothing;
    int group;
};

/* The head of what libittnotify keeps; with 8 bytes of alignment, as it is packed. */
struct itt_global {
    unsigned char magic[8];
    unsigned long version[3];
    long initialised[3];
    pthread_mutex_t mutex;
    void *library;
    void *error_handler;
    const char **path;
    struct itt_api *apis; /* ends with one without a name */
};

static void itt_task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                           const struct itt_string *name)
{
    (void)domain, (void)id, (void)parent;
    regions_now()->begin(name != NULL ? name->text : NULL, SPOOL_WAY_ITT);
}

static void itt_task_end(const struct itt_domain *domain)
{
    (void)domain;
    regions_now()->end(NULL);
}

static void itt_frame_begin(const struct itt_domain *domain, const struct itt_id *id)
{
    (void)id;
    regions_now()->begin(domain != NULL ? domain->name : NULL, SPOOL_WAY_ITT);
}

static void itt_frame_end(const struct itt_domain *domain, const struct itt_id *id)
{
    (void)id;
    regions_now()->end(domain != NULL ? domain->name : NULL);
}

extern EXPORTED void __itt_api_init(struct itt_global *global, int groups);

/* Sets the pointers to the functions of which we are told, and all others to those that do nothing. */
void __itt_api_init(struct itt_global *global, int groups)
{
    static const struct {
        const char *name;
        nvtx_function *function;
    } own[] = {
        {"__itt_task_begin", FUNCTION(itt_task_begin)},
        {"__itt_task_end", FUNCTION(itt_task_end)},
        {"__itt_frame_begin_v3", FUNCTION(itt_frame_begin)},
        {"__itt_frame_end_v3", FUNCTION(itt_frame_end)},
    };
    (void)groups;
    for (struct itt_api *api = global != NULL ? global->apis : NULL; api != NULL && api->name != NULL; api++) {
        if (api->function == NULL)
            continue;
        *api->function = api->nothing;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (strcmp(api->name, own[i].name) == 0)
                memcpy(api->function, &own[i].function, sizeof own[i].function);
    }
}

/* Kokkos. Kernels are regions of their name within those that the program pushes. */

struct kokkos_settings {
    bool waits_for_all; /* Kokkos waits for the device at each border, unless a tool says that it need not */
    bool reserved[255];
};

extern EXPORTED void kokkosp_init_library(int number, uint64_t version, uint32_t n_devices, void *devices);
extern EXPORTED void kokkosp_request_tool_settings(uint32_t n, struct kokkos_settings *settings);
extern EXPORTED void kokkosp_push_profile_region(const char *name);
extern EXPORTED void kokkosp_pop_profile_region(void);

void kokkosp_init_library(int number, uint64_t version, uint32_t n_devices, void *devices)
{
    (void)number, (void)version, (void)n_devices, (void)devices;
}

void kokkosp_request_tool_settings(uint32_t n, struct kokkos_settings *settings)
{
    if (n > 0 && settings != NULL)
        settings->waits_for_all = false;
}

void kokkosp_push_profile_region(const char *name)
{
    regions_now()->begin(name, SPOOL_WAY_KOKKOS);
}

void kokkosp_pop_profile_region(void)
{
    regions_now()->end(NULL);
}

#define KOKKOS_KERNEL(kind)                                                                                            \
    extern EXPORTED void kokkosp_begin_parallel_##kind(const char *name, uint32_t device, uint64_t *kernel);           \
    extern EXPORTED void kokkosp_end_parallel_##kind(uint64_t kernel);                                                 \
    void kokkosp_begin_parallel_##kind(const char *name, uint32_t device, uint64_t *kernel)                            \
    {                                                                                                                  \
        (void)device;                                                                                                  \
        *kernel = regions_start(name, SPOOL_WAY_KOKKOS);                                                               \
    }                                                                                                                  \
    void kokkosp_end_parallel_##kind(uint64_t kernel)                                                                  \
    {                                                                                                                  \
        regions_stop(kernel);                                                                                          \
    }

KOKKOS_KERNEL(for)
KOKKOS_KERNEL(reduce)
KOKKOS_KERNEL(scan)

/* Caliper. Its functions in C are called by name, and go on to it, which may be a library that only its caller sees. */

static void hand_on(_Atomic(void *) *next, const char *function, const char *name)
{
    void (*found)(const char *name);
    void *known = atomic_load_explicit(next, memory_order_relaxed);
    if (known == NULL) {
        int error = errno;
        known = dlsym(RTLD_NEXT, function);
        mpistair_code *anywhere = known == NULL ? mpi_library_find_anywhere(function) : NULL;
        if (anywhere != NULL)
            memcpy(&known, &anywhere, sizeof known);
        atomic_store_explicit(next, known, memory_order_relaxed);
        errno = error;
    }
    if (known == NULL)
        return;
    memcpy(&found, &known, sizeof found);
    found(name);
}

#define CALIPER_PAIR(what)                                                                                             \
    extern EXPORTED void cali_begin_##what(const char *name);                                                          \
    extern EXPORTED void cali_end_##what(const char *name);                                                            \
    void cali_begin_##what(const char *name)                                                                           \
    {                                                                                                                  \
        static _Atomic(void *) next;                                                                                   \
        regions_now()->begin(name, SPOOL_WAY_CALIPER);                                                                 \
        hand_on(&next, "cali_begin_" #what, name);                                                                     \
    }                                                                                                                  \
    void cali_end_##what(const char *name)                                                                             \
    {                                                                                                                  \
        static _Atomic(void *) next;                                                                                   \
        hand_on(&next, "cali_end_" #what, name);                                                                       \
        regions_now()->end(name);                                                                                      \
    }

CALIPER_PAIR(region)
CALIPER_PAIR(phase)
CALIPER_PAIR(comm_region)
