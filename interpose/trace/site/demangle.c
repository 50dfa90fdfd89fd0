/* Uses the C++ library, which every machine has that runs programs in C++; it is loaded for the first mangled name. */
#include "interpose/trace/site/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY      "libstdc++.so.6"
#define LONGEST_NAME 65536 /* no compiler makes longer ones; the demangler recurses */

/* The Itanium C++ ABI defines this function; its result comes from malloc(). */
typedef char *demangle_function(const char *symbol, char *buffer, size_t *length, int *status);

static demangle_function *load(void)
{
    static demangle_function *function;
    static bool is_tried;
    if (!is_tried) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        void *found = library == NULL ? NULL : dlsym(library, "__cxa_demangle");
        memcpy(&function, &found, sizeof found);
        is_tried = true;
    }
    return function;
}

char *demangle(const char *symbol)
{
    int status = -1;
    demangle_function *function = NULL;
    char *name = NULL;
    if (strncmp(symbol, "_Z", 2) == 0 && strnlen(symbol, LONGEST_NAME) < LONGEST_NAME)
        function = load();
    if (function != NULL)
        name = function(symbol, NULL, NULL, &status);
    return name != NULL && status == 0 ? name : strdup(symbol);
}
