/* The loader reports objects in the order of its link map: the program, what is preloaded, their dependencies, then
 * what was opened later. dladdr would search an object's symbols, too, which takes long for some hundred functions. */
#include "interpose/preload/objects.h"

#include <link.h>
#include <stddef.h>

struct search {
    uintptr_t address;
    bool passed_us;
    struct loaded_object *found;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char ours = 0;
    (void)size;
    struct search *search = context;
    struct loaded_object object = {UINTPTR_MAX, 0, info->dlpi_name != NULL ? info->dlpi_name : "", !search->passed_us};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        if (begin < object.begin)
            object.begin = begin;
        if (begin + segment->p_memsz > object.end)
            object.end = begin + segment->p_memsz;
    }
    if (object_holds(&object, search->address)) {
        *search->found = object;
        return 1;
    }
    search->passed_us = search->passed_us || object_holds(&object, (uintptr_t)&ours);
    return 0;
}

bool object_find(uintptr_t address, struct loaded_object *found)
{
    struct search search = {.address = address, .found = found};
    return dl_iterate_phdr(look_at, &search) != 0;
}
