/* The kernel's list of mappings (/proc/self/maps) has the code of every namespace and of loaders of a program's own. It
 * is not read in one moment, so it counts only if the loader's generation is the same before and after.
 *
 * The callback of dl_iterate_phdr runs under a lock of the loader and so must not allocate: it fills what room there
 * is, and is asked again with more. */
#include "interpose/backend/site/module_look.h"

#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"

enum { ATTEMPTS = 5 };
#define TEXT_LIMIT_BYTES ((size_t)16 << 20) /* some 65,530 mappings are the kernel's limit */

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(struct module_generation *)context = (struct module_generation){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

struct module_generation module_generation(void)
{
    struct module_generation generation = {0, 0};
    dl_iterate_phdr(first_object, &generation);
    return generation;
}

int module_make_room(void *array, size_t *room, size_t n, size_t element_bytes)
{
    void *memory;
    memcpy(&memory, array, sizeof memory);
    if (n <= *room)
        return 0;
    memory = realloc(memory, (n + n / 2 + 64) * element_bytes);
    if (!memory)
        return -1;
    memcpy(array, &memory, sizeof memory);
    *room = n + n / 2 + 64;
    return 0;
}

static void add_segment(struct module_object *object, const struct dl_phdr_info *info, const ElfW(Phdr) * segment)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
    object->begin = begin < object->begin ? begin : object->begin;
    object->end = end > object->end ? end : object->end;
    if (segment->p_offset == 0)
        object->code.head = begin;
    if (!(segment->p_flags & PF_X))
        return;
    object->n_codes++;
    object->code.begin = begin / page * page;
    object->code.end = (begin + segment->p_filesz + page - 1) / page * page;
    object->code.offset = segment->p_offset / page * page;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct module_look *look = context;
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    size_t bytes = strlen(name) + 1;
    (void)size;
    if (look->n_objects == 0) {
        look->generation = (struct module_generation){info->dlpi_adds, info->dlpi_subs};
        look->ticks = clock_ticks(recorder.clock_source);
    }
    struct module_object object = {.begin = UINTPTR_MAX, .headers = info->dlpi_phdr, .name_at = look->names_bytes};
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            add_segment(&object, info, &info->dlpi_phdr[i]);
    if (look->n_objects < look->objects_room)
        look->objects[look->n_objects] = object;
    if (look->names_bytes + bytes <= look->names_room)
        memcpy(look->names + look->names_bytes, name, bytes);
    look->n_objects++;
    look->names_bytes += bytes;
    return 0;
}

int module_look_objects(struct module_look *look)
{
    do {
        if (module_make_room(&look->objects, &look->objects_room, look->n_objects, sizeof *look->objects) != 0 ||
            module_make_room(&look->names, &look->names_room, look->names_bytes, 1) != 0)
            return -1;
        look->n_objects = 0;
        look->names_bytes = 0;
        dl_iterate_phdr(add_object, look);
    } while (look->n_objects > look->objects_room || look->names_bytes > look->names_room);
    return 0;
}

/* Reads the list of mappings into look->text, ended by 0. */
static int read_text(struct module_look *look)
{
    int in = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = -1;
    while (in >= 0 && length < TEXT_LIMIT_BYTES &&
           module_make_room(&look->text, &look->text_room, length + 16384, sizeof *look->text) == 0 &&
           (got = read(in, look->text + length, look->text_room - length - 1)) > 0) {
        length += (size_t)got;
        got = -1;
    }
    if (in >= 0)
        close(in);
    if (got != 0 || length == 0)
        return -1;
    look->text[length] = '\0';
    return 0;
}

int module_look_add(struct module_look *look, struct module_range range)
{
    if (module_make_room(&look->ranges, &look->ranges_room, look->n_ranges + 1, sizeof *look->ranges) != 0)
        return -1;
    look->ranges[look->n_ranges++] = range;
    return 0;
}

static int parse_text(struct module_look *look)
{
    struct module_range head = {.path = ""};
    char *rest = look->text;
    look->n_ranges = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct module_range range = {0};
        char permissions[5];
        unsigned major, minor;
        int path_at = 0;
        if (!strchr(line, '/') ||
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &range.begin, &range.end,
                   permissions, &range.offset, &major, &minor, &range.inode, &path_at) != 7 ||
            path_at == 0 || line[path_at] != '/')
            continue;
        range.device = (uint64_t)major << 32 | minor;
        range.path = line + path_at;
        if (range.offset == 0)
            head = range;
        if (head.inode == range.inode && head.device == range.device && strcmp(head.path, range.path) == 0)
            range.head = head.begin;
        if (strchr(permissions, 'x') && module_look_add(look, range) != 0)
            return -1;
    }
    return 0;
}

int module_look(struct module_look *look)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (module_look_objects(look) != 0 || read_text(look) != 0)
            return -1;
        if (generation_equal(module_generation(), look->generation))
            return parse_text(look);
    }
    return -1;
}

void module_look_release(struct module_look *look)
{
    free(look->objects);
    free(look->names);
    free(look->ranges);
    free(look->text);
    *look = (struct module_look){0};
}
