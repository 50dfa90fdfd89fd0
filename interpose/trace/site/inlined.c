/* A function that was inlined has no symbol: the symbol is that of the function into which it went, the line its own.
 * In the debug information (DWARF 5, 3.3.8) an entry DW_TAG_inlined_subroutine stands for the copy, inside of its
 * caller's entry, and says at which line of the caller the call was. So from the innermost entry out:
 *
 *     inlined inner, called at line 10   ->  the call of MPI is in inner, at the line of the address
 *     inlined outer, called at line 17   ->  inner is called in outer, at line 10
 *     function main                     ->  outer is called in main, at line 17
 */
#include "interpose/trace/site/inlined.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/trace/site/demangle.h"
#include "share/base/array.h"
#include "share/base/memory.h"

enum { MOST_CALLERS = 64 };

/* Returns the name of a function's entry, NULL without one; the caller frees. */
static char *name_of(const struct libdw *libdw, Dwarf_Die *entry, const char *file)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
    Dwarf_Attribute memory;
    const char *name = NULL;
    for (size_t i = 0; name == NULL && i < sizeof names / sizeof *names; i++) {
        Dwarf_Attribute *attribute = libdw->dwarf_attr_integrate(entry, names[i], &memory);
        name = attribute == NULL ? NULL : libdw->dwarf_formstring(attribute);
    }
    if (name != NULL)
        return demangle(name, file);
    name = libdw->dwarf_diename(entry);
    return name == NULL ? NULL : xstrdup(name);
}

static int number_of(const struct libdw *libdw, Dwarf_Die *entry, unsigned name)
{
    Dwarf_Attribute memory, *attribute = libdw->dwarf_attr_integrate(entry, name, &memory);
    Dwarf_Word value;
    return attribute != NULL && libdw->dwarf_formudata(attribute, &value) == 0 && value <= INT32_MAX ? (int)value : 0;
}

/* Returns the name of the file in which an inlined function is called, NULL without one; the caller frees. */
static char *call_file(const struct libdw *libdw, Dwarf_Die *entry)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t n_files;
    if (libdw->dwarf_diecu(entry, &unit, NULL, NULL) == NULL || libdw->dwarf_getsrcfiles(&unit, &files, &n_files) != 0)
        return NULL;
    const char *file = libdw->dwarf_filesrc(files, (size_t)number_of(libdw, entry, DW_AT_call_file), NULL, NULL);
    return file == NULL ? NULL : xstrdup(file);
}

/* Adds the caller of the function that an entry stands for, and gives that function its own name. */
static void add_caller(const struct libdw *libdw, struct trace_callsite *callsite, Dwarf_Die *entry)
{
    size_t n = callsite->n_callers;
    array_grow(&callsite->callers, n, sizeof *callsite->callers);
    struct trace_frame *callers = callsite->callers;
    char **function = n == 0 ? &callsite->function : &callers[n - 1].function;
    *function = name_of(libdw, entry, n == 0 ? callsite->file : callers[n - 1].file);
    callers[n] =
        (struct trace_frame){.file = call_file(libdw, entry), .line = number_of(libdw, entry, DW_AT_call_line)};
    callsite->n_callers = n + 1;
}

/* Takes the entries, the innermost first. What the call site was called is the name of the last caller. */
static void take_entries(const struct libdw *libdw, struct trace_callsite *callsite, Dwarf_Die *entries, int n_entries)
{
    char *symbol = callsite->function;
    for (int i = 0; i < n_entries && callsite->n_callers < MOST_CALLERS; i++) {
        int tag = libdw->dwarf_tag(&entries[i]);
        if (tag == DW_TAG_subprogram)
            break;
        if (tag == DW_TAG_inlined_subroutine)
            add_caller(libdw, callsite, &entries[i]);
    }
    if (callsite->n_callers > 0)
        callsite->callers[callsite->n_callers - 1].function = symbol;
}

void inlined_resolve(const struct libdw *libdw, struct trace_callsite *callsite, Dwfl_Module *module, GElf_Addr address)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = libdw->dwfl_module_addrdie(module, address, &bias), *innermost = NULL, *entries = NULL;
    /* The first gives the innermost entry, and behind it what contains its source; the second what contains itself. */
    if (unit != NULL && libdw->dwarf_getscopes(unit, address - bias, &innermost) > 0) {
        int n_entries = libdw->dwarf_getscopes_die(innermost, &entries);
        if (n_entries > 0)
            take_entries(libdw, callsite, entries, n_entries);
    }
    free(entries);
    free(innermost);
}
