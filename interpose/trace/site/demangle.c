/* Uses the C++ library, which every machine has that runs programs in C++; it is loaded for the first mangled name.
 *
 * Fortran compilers mangle simply. A procedure `exchange` of a module `halo` is __halo_MOD_exchange by gfortran and
 * halo_mp_exchange_ by ifort and ifx. Outside of modules it is exchange_, with -fsecond-underscore also exchange__, and
 * inside another procedure exchange.3. */
#include "interpose/trace/site/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/memory.h"

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

/* Says whether a source is Fortran's, by the last part of its name; one that is not known may be. */
static bool may_be_fortran(const char *file)
{
    static const char *const ends[] = {"f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08", "f18"};
    const char *dot = file == NULL ? NULL : strrchr(file, '.');
    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot + 1, ends[i]) == 0)
            return true;
    return file == NULL;
}

/* Returns "module::name" of two parts of a symbol, the second up to length. */
static char *join(const char *module, size_t module_length, const char *name, size_t length)
{
    return xasprintf("%.*s::%.*s", (int)module_length, module, (int)length, name);
}

/* Returns the length of a name without what gfortran adds to an internal procedure's: ".3". */
static size_t length_without_number(const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t digits = dot == NULL ? 0 : strspn(dot + 1, "0123456789");
    return digits > 0 && dot > name && dot[1 + digits] == '\0' ? (size_t)(dot - name) : strlen(name);
}

static char *demangle_fortran(const char *symbol, const char *file)
{
    size_t length = length_without_number(symbol);
    const char *part = strstr(symbol, "_MOD_");
    if (strncmp(symbol, "__", 2) == 0 && part != NULL && part > symbol + 2 && part + 5 < symbol + length)
        return join(symbol + 2, (size_t)(part - symbol - 2), part + 5, (size_t)(symbol + length - part - 5));
    if (!may_be_fortran(file))
        return xstrdup(symbol);
    size_t kept = length;
    while (kept > 0 && length - kept < 2 && symbol[kept - 1] == '_')
        kept--;
    part = strstr(symbol, "_mp_");
    if (length - kept == 1 && part != NULL && part > symbol && part + 4 < symbol + kept)
        return join(symbol, (size_t)(part - symbol), part + 4, (size_t)(symbol + kept - part - 4));
    return xstrndup(symbol, kept > 0 ? kept : length);
}

char *demangle(const char *symbol, const char *file)
{
    int status = -1;
    demangle_function *function = NULL;
    char *name = NULL;
    if (strncmp(symbol, "_Z", 2) == 0 && strnlen(symbol, LONGEST_NAME) < LONGEST_NAME)
        function = load();
    if (function != NULL)
        name = function(symbol, NULL, NULL, &status);
    return name != NULL && status == 0 ? name : demangle_fortran(symbol, file);
}
