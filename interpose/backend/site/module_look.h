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

/* A range of executable code that a file is mapped to. */
struct module_range {
    uint64_t begin, end, offset;
    uint64_t device, inode; /* inode 0: not looked at */
    uint64_t head;          /* where the file's begin is mapped; 0: not known */
    const char *path;       /* in the look's text, as the kernel writes it; NULL: an earlier look had it */
};

/* An object that the loader knows in our namespace. */
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

void module_look_release(struct module_look *look);

/* Marks the objects of a look that another one has not, and counts them. */
void module_find_new(struct module_look *look, const struct module_look *other);

/* Returns the index from which on objects may have been loaded since the last look although it had them, n_objects if
 * none may. The new ones of the look are marked. */
size_t module_first_uncertain(const struct module_look *look, const struct module_look *last);

/* Gives a look that has only its objects the ranges of the last one, but for what the loader changed. A process of
 * a hundred libraries takes a millisecond for a whole look, little for this. Returns 0, or -1 where the loader does
 * not say enough: a whole look is needed. */
int module_apply_changes(struct module_look *look, struct module_look *last);

/* Writes what identifies the file of a range: "id=HEX", its build id, read from memory; else
 * "file=BYTES,MTIME_NS,DEVICE,INODE", which are those of the file `path` now; "deleted" where that is another one; "-"
 * where nothing can be known. `path` is that of the range without what the kernel adds to names of deleted files. */
void module_identity(char *text, size_t size, const struct module_range *range, const char *path, int memory);

/* Opens this process's memory to be read without risk: what is unmapped meanwhile is an error and no fault. Returns a
 * descriptor that the caller closes, or -1. */
int module_memory_open(void);

#endif
