/* The kernel's list of mappings (/proc/self/maps) has the code of every namespace and of loaders of a program's own. It
 * is not read in one moment, so it counts only if the loader's generation is the same before and after.
 *
 * The callback of dl_iterate_phdr runs under a lock of the loader and so must not allocate: it fills what room there
 * is, and is asked again with more. */
#include "interpose/backend/site/module_look.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"

/* The build id is read where the module is mapped, as the file of its name may be another one by now. */
enum { MOST_HEADERS = 64, MOST_NOTE_BYTES = 4096, MOST_ID_BYTES = 64 };

int module_memory_open(void)
{
    return open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

static int read_memory(int memory, void *to, size_t bytes, uint64_t address)
{
    return address <= INT64_MAX && pread(memory, to, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -1;
}

/* Finds the build id among the notes and writes it. Returns 0, or -1. */
static int find_id(const unsigned char *notes, size_t bytes, size_t align, char *text, size_t size)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        if (note.n_namesz > bytes || note.n_descsz > bytes)
            return -1;
        size_t name = at + sizeof note, value = at + (sizeof note + note.n_namesz + align - 1) / align * align;
        if (value + note.n_descsz > bytes)
            return -1;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= MOST_ID_BYTES && size > 2 * (size_t)note.n_descsz + 3) {
            text += snprintf(text, size, "id=");
            for (size_t i = 0; i < note.n_descsz; i++)
                text += snprintf(text, 3, "%02x", notes[value + i]);
            return 0;
        }
        at = value + (note.n_descsz + align - 1) / align * align;
    }
    return -1;
}

static int read_id(int memory, uint64_t head, char *text, size_t size)
{
    ElfW(Ehdr) elf;
    ElfW(Phdr) segments[MOST_HEADERS];
    unsigned char notes[MOST_NOTE_BYTES];
    if (head == 0 || read_memory(memory, &elf, sizeof elf, head) != 0 || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_phentsize != sizeof *segments || elf.e_phnum > MOST_HEADERS ||
        read_memory(memory, segments, elf.e_phnum * sizeof *segments, head + elf.e_phoff) != 0)
        return -1;
    uint64_t bias = head;
    for (size_t i = 0; i < elf.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
            bias = head - segments[i].p_vaddr;
    for (size_t i = 0; i < elf.e_phnum; i++) {
        const ElfW(Phdr) *segment = &segments[i];
        size_t bytes = segment->p_filesz < sizeof notes ? segment->p_filesz : sizeof notes;
        if (segment->p_type == PT_NOTE && read_memory(memory, notes, bytes, bias + segment->p_vaddr) == 0 &&
            find_id(notes, bytes, segment->p_align == 8 ? 8 : 4, text, size) == 0)
            return 0;
    }
    return -1;
}

static int module_has_id(const struct module_range *range, int memory)
{
    char text[256];
    return memory >= 0 && read_id(memory, range->head, text, sizeof text) == 0;
}

void module_identity(char *text, size_t size, const struct module_range *range, const char *path, int memory)
{
    struct stat status;
    if (memory >= 0 && read_id(memory, range->head, text, size) == 0)
        return;
    if (strcmp(path, range->path) != 0)
        snprintf(text, size, "deleted");
    else if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        snprintf(text, size, "file=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, (uint64_t)status.st_size,
                 (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status.st_mtim.tv_nsec,
                 (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    else
        snprintf(text, size, "-");
}

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

/* Makes room for n elements in the array at *(T **)array, which has *room. Returns 0, or -1 without memory. */
static int module_make_room(void *array, size_t *room, size_t n, size_t element_bytes)
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
        look->ticks = now_ticks();
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
static int read_maps(struct module_look *look)
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

static int module_look_add(struct module_look *look, struct module_range range)
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
        if (module_look_objects(look) != 0 || read_maps(look) != 0)
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

/* The loader's list has what it loaded in our namespace, oldest first. It counts all that it ever loaded and unloaded,
 * in all namespaces: where the list accounts for what was counted, nothing happened but what it shows. */
static int is_same_object(const struct module_object *a, const struct module_object *b)
{
    return a->begin == b->begin && a->end == b->end && a->headers == b->headers;
}

void module_find_new(struct module_look *look, const struct module_look *other)
{
    look->n_new = 0;
    for (size_t i = 0, from = 0; i < look->n_objects; i++) { /* most stand in the same order in both */
        size_t j = from, seen = 0;
        while (seen < other->n_objects && !is_same_object(&look->objects[i], &other->objects[j % other->n_objects])) {
            seen++;
            j++;
        }
        look->objects[i].is_new = seen == other->n_objects;
        look->n_new += seen == other->n_objects;
        from = seen == other->n_objects ? from : j + 1;
    }
}

/* Where more was loaded than is new, something was unloaded in between. What is loaded stands at the list's end. */
size_t module_first_uncertain(const struct module_look *look, const struct module_look *last)
{
    uint64_t loads = look->generation.adds - last->generation.adds;
    int only_loads = look->generation.subs == last->generation.subs || last->n_objects == 0;
    if (only_loads || loads <= look->n_new)
        return look->n_objects;
    return loads < look->n_objects ? look->n_objects - loads : 1;
}

/* Returns whether the list has all that the loader counts: it has not where there are further namespaces. */
static int is_whole(const struct module_look *look)
{
    return look->generation.adds - look->generation.subs == look->n_objects;
}

/* Returns whether the range belongs to an object that went since the last look. */
static int is_gone(const struct module_look *last, const struct module_range *range)
{
    for (size_t i = 0; i < last->n_objects && last->n_new > 0; i++)
        if (last->objects[i].is_new && range->begin >= last->objects[i].begin && range->begin < last->objects[i].end)
            return 1;
    return 0;
}

static int keep_ranges(struct module_look *look, struct module_look *last)
{
    module_find_new(last, look); /* those that the look has not any more */
    for (size_t i = 0; i < last->n_ranges; i++) {
        struct module_range range = last->ranges[i];
        range.path = NULL;
        if (!is_gone(last, &range) && module_look_add(look, range) != 0)
            return -1;
    }
    return 0;
}

/* Adds the range of a new object. Its name may be relative to a folder that the program has left since, and a file
 * without build id may be another one by now: then only the kernel knows the file. */
static int add_code(struct module_look *look, const struct module_object *object, char *path, int memory)
{
    const char *name = look->names + object->name_at;
    struct module_range range = object->code;
    if (object->n_codes == 0)
        return 0;
    if (object->n_codes > 1 || name[0] != '/' || !realpath(name, path) || !module_has_id(&range, memory))
        return -1;
    range.path = path;
    return module_look_add(look, range);
}

static int add_codes(struct module_look *look)
{
    size_t n = 0;
    int memory = module_memory_open(), result = 0;
    if (module_make_room(&look->text, &look->text_room, look->n_new * PATH_MAX, 1) != 0)
        result = -1;
    for (size_t i = 0; i < look->n_objects && result == 0; i++)
        if (look->objects[i].is_new)
            result = add_code(look, &look->objects[i], look->text + n++ * PATH_MAX, memory);
    if (memory >= 0)
        close(memory);
    return result;
}

static int by_begin(const void *left, const void *right)
{
    const struct module_range *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

int module_apply_changes(struct module_look *look, struct module_look *last)
{
    module_find_new(look, last);
    if (last->n_objects == 0 || !is_whole(last) || !is_whole(look) ||
        module_first_uncertain(look, last) < look->n_objects || keep_ranges(look, last) != 0 || add_codes(look) != 0)
        return -1;
    if (look->n_ranges > 1)
        qsort(look->ranges, look->n_ranges, sizeof *look->ranges, by_begin);
    return 0;
}
