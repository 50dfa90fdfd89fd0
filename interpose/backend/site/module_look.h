/* Looks at what code is mapped into this process, in a moment in which nothing was loaded or unloaded. */
#ifndef MPISTAIR_BACKEND_MODULE_LOOK_H
#define MPISTAIR_BACKEND_MODULE_LOOK_H

#include <stddef.h>
#include <stdint.h>

/* Counts loads and unloads of the process so far. It stays the same exactly while nothing is loaded or unloaded by the
 * loader. */
struct module_generation {
    uint64_t adds;
    uint64_t subs; /* with namespaces of dlmopen glibc counts wrong here, but never twice the same after a change */
};

static inline int generation_equal(struct module_generation a, struct module_generation b)
{
    return a.adds == b.adds && a.subs == b.subs;
}

/* Describes a range of executable code that a file is mapped to. */
struct module_range {
    uint64_t begin, end, offset;
    uint64_t device, inode; /* inode 0: not looked at */
    uint64_t head;          /* where the file's begin is mapped; 0: not known */
    const char *path;       /* in the look's text, as the kernel writes it; NULL: an earlier look had it */
};

/* Describes an object that the loader knows in our namespace. */
struct module_object {
    uintptr_t begin, end;
    const void *headers;      /* its program headers, which tell it from another one */
    struct module_range code; /* its executable range */
    unsigned n_codes;         /* how many it has */
    size_t name_at;           /* its name, as the loader has it, in the look's names */
    int is_new;               /* the look before had it not */
};

struct module_look {
    struct module_generation generation;
    uint64_t ticks;                /* a time at which all of it held */
    struct module_object *objects; /* [n_objects] oldest first: what is loaded goes to the end */
    size_t n_objects, objects_room, n_new;
    char *names;
    size_t names_bytes, names_room;
    struct module_range *ranges; /* [n_ranges] ascending */
    size_t n_ranges, ranges_room;
    char *text;
    size_t text_room;
};

/* Returns the present generation. Cheap: takes a lock of the loader and looks at no object. */
struct module_generation module_generation(void);

/* Fills a look, which begins zeroed or has only its objects. Returns 0, or -1 where other threads kept loading, /proc
 * cannot be read, or there is no memory. */
int module_look(struct module_look *look);

/* Fills what the loader knows: all but the ranges. Returns 0, or -1 without memory. */
int module_look_objects(struct module_look *look);

/* Adds a range. Returns 0, or -1 without memory. */
int module_look_add(struct module_look *look, struct module_range range);

void module_look_release(struct module_look *look);

/* Makes room for n elements in the array at *(T **)array, which has *room. Returns 0, or -1 without memory. */
int module_make_room(void *array, size_t *room, size_t n, size_t element_bytes);

#endif
