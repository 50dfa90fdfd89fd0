/* Finds the program and the shared objects of this process, in the order in which names are searched. */
#ifndef MPISTAIR_PRELOAD_OBJECTS_H
#define MPISTAIR_PRELOAD_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_object {
    uintptr_t begin; /* where its addresses begin */
    uintptr_t end;
    const char *path; /* "" for the program; valid as long as the object is loaded */
    bool is_front;    /* it stands before us: what it defines hides ours */
};

/* Finds the object that holds an address. Returns false where there is none. */
bool object_find(uintptr_t address, struct loaded_object *found);

static inline bool object_holds(const struct loaded_object *object, uintptr_t address)
{
    return address >= object->begin && address < object->end;
}

#endif
