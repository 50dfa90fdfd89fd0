/* Looks at what code is mapped into this process: once, in a moment in which nothing was loaded or unloaded. */
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

/* Describes an object that the loader knows in our namespace. */
struct module_object {
    uintptr_t begin, end;
    const void *headers; /* its program headers, which tell it from another one */
};

/* Describes a range of executable code that a file is mapped to. */
struct module_range {
    uint64_t begin, end, offset;
    uint64_t device, inode;
    uint64_t head;     /* where the file's begin is mapped; 0: not known */
    uint64_t identity; /* hash of what tells its file from others; modules.c sets it */
    const char *path;  /* in the look's text; as the kernel writes it */
};

struct module_look {
    struct module_generation generation;
    uint64_t ticks; /* a time at which all of it held */
    struct module_object *objects;
    size_t n_objects; /* oldest first: what is loaded goes to the end */
    size_t objects_room;
    struct module_range *ranges;
    size_t n_ranges; /* ascending */
    size_t ranges_room;
    char *text;
    size_t text_room;
};

/* Makes room for n elements in the array at *(T **)array, which has *room. Returns 0, or -1 without memory. */
int module_make_room(void *array, size_t *room, size_t n, size_t element_bytes);

/* Returns the present generation. Cheap: takes a lock of the loader and looks at no object. */
struct module_generation module_generation(void);

/* Fills a look, which begins zeroed. Returns 0, or -1 where other threads kept loading, /proc cannot be read, or there
 * is no memory. */
int module_look(struct module_look *look);
void module_look_release(struct module_look *look);

#endif
