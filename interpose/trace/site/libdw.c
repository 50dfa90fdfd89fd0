/* The library is loaded only when a trace has call sites, so that mpistair itself does not depend on elfutils. */
#include "interpose/trace/site/libdw.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIBDW_NAME "libdw.so.1"

/* Looks all functions up. Returns false with the name of the first that is missing. */
static bool find_functions(void *library, struct libdw *libdw, const char **missing)
{
    const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define FUNCTION(name) {#name, offsetof(struct libdw, name)},
        LIBDW_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(library, functions[i].name);
        *missing = functions[i].name;
        if (found == NULL)
            return false;
        memcpy((char *)libdw + functions[i].offset, &found, sizeof found);
    }
    return true;
}

const struct libdw *libdw_load(const char **reason)
{
    static struct libdw libdw;
    static char why[512];
    static bool is_tried, is_there;
    if (!is_tried) {
        const char *missing;
        void *library = dlopen(LIBDW_NAME, RTLD_NOW | RTLD_LOCAL);
        is_tried = true;
        if (library == NULL)
            snprintf(why, sizeof why, "%s", dlerror());
        else if (!find_functions(library, &libdw, &missing))
            snprintf(why, sizeof why, LIBDW_NAME " lacks %s", missing);
        else
            is_there = true;
    }
    *reason = why;
    return is_there ? &libdw : NULL;
}
