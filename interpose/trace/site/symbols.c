/* Names call sites by elfutils: each module is opened once, offline, and asked for all of its call sites. The
 * instruction of the call lies before the return address, hence - 1. What a module does not have (stripped) stays
 * unknown, and so does all of one whose file is not the one that ran any more. */
#include "interpose/trace/site/symbols.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/trace/site/source_name.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "interpose/trace/state/trace.h"

/* libdw is loaded only when a trace has call sites, so that mpistair itself does not depend on elfutils. */
#define LIBDW_NAME "libdw.so.1"

/* The functions of libelf come along with it. */
#define LIBDW_FUNCTIONS(EACH)                                                                                          \
    EACH(dwarf_attr_integrate)                                                                                         \
    EACH(dwarf_diecu)                                                                                                  \
    EACH(dwarf_diename)                                                                                                \
    EACH(dwarf_filesrc)                                                                                                \
    EACH(dwarf_formstring)                                                                                             \
    EACH(dwarf_formudata)                                                                                              \
    EACH(dwarf_getscopes)                                                                                              \
    EACH(dwarf_getscopes_die)                                                                                          \
    EACH(dwarf_getsrcfiles)                                                                                            \
    EACH(dwarf_tag)                                                                                                    \
    EACH(dwfl_begin)                                                                                                   \
    EACH(dwfl_build_id_find_elf)                                                                                       \
    EACH(dwfl_end)                                                                                                     \
    EACH(dwfl_lineinfo)                                                                                                \
    EACH(dwfl_module_addrdie)                                                                                          \
    EACH(dwfl_module_addrname)                                                                                         \
    EACH(dwfl_module_build_id)                                                                                         \
    EACH(dwfl_module_getelf)                                                                                           \
    EACH(dwfl_module_getsrc)                                                                                           \
    EACH(dwfl_offline_section_address)                                                                                 \
    EACH(dwfl_report_begin)                                                                                            \
    EACH(dwfl_report_end)                                                                                              \
    EACH(dwfl_report_offline)                                                                                          \
    EACH(dwfl_standard_find_debuginfo)                                                                                 \
    EACH(elf_getphdrnum)                                                                                               \
    EACH(gelf_getphdr)

static struct {
#define MEMBER(name) __typeof__(&(name)) name;
    LIBDW_FUNCTIONS(MEMBER)
#undef MEMBER
} libdw;

bool callsites_can_be_resolved(const char **reason)
{
    static char why[512];
    static bool is_tried, is_there;
    *reason = why;
    if (is_tried)
        return is_there;
    is_tried = is_there = true;
    void *library = dlopen(LIBDW_NAME, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        snprintf(why, sizeof why, "%s", dlerror());
    is_there = library != NULL;
#define FIND(name)                                                                                                     \
    if (is_there) {                                                                                                    \
        void *found = dlsym(library, #name);                                                                           \
        memcpy(&libdw.name, &found, sizeof found);                                                                     \
        is_there = found != NULL || (snprintf(why, sizeof why, LIBDW_NAME " lacks " #name), false);                    \
    }
    LIBDW_FUNCTIONS(FIND)
#undef FIND
    return is_there;
}

/* A program may be built anew between its run and ingest, and the same offsets then are other lines. The build id tells
 * that; it survives what leaves the code as it is, such as strip. A file without one must be unchanged: its length, its
 * time of change and, where both were seen on one file system, its inode. */

__attribute__((format(printf, 2, 3))) static bool refuse(struct trace_module *module, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (module->reason == NULL && vasprintf(&module->reason, format, arguments) < 0)
        no_memory(0);
    va_end(arguments);
    return false;
}

static bool has_status(const struct module_identity *ran, const struct stat *status)
{
    uint64_t mtime_ns = (uint64_t)status->st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status->st_mtim.tv_nsec;
    return ran->size == (uint64_t)status->st_size && ran->mtime_ns == mtime_ns &&
           (ran->device != (uint64_t)status->st_dev || ran->inode == (uint64_t)status->st_ino);
}

/* True if the file is the one that ran: status and build id (NULL: it has none) are those of the file now. If it is
 * not, or it is unknown, the module gets the reason. A module whose file the spool does not identify takes over the
 * build id. */
static bool module_file_is(struct trace_module *module, const struct stat *status, const char *build_id)
{
    switch (module->identity.evidence) {
    case MODULE_TRUSTED:
        if (module->build_id == NULL && build_id != NULL)
            module->build_id = xstrdup(build_id);
        return true;
    case MODULE_BUILD_ID:
        if (build_id == NULL)
            return refuse(module, "its file was replaced since: it has no build id now, what ran had %s",
                          module->build_id);
        return strcmp(build_id, module->build_id) == 0 ||
               refuse(module, "its file was replaced since: it has build id %s now, what ran had %s", build_id,
                      module->build_id);
    case MODULE_STATUS:
        return has_status(&module->identity, status) ||
               refuse(module, "its file was changed since, and it had no build id by which to know the lines again");
    case MODULE_DELETED:
        return refuse(module, "its file was replaced or deleted while it ran, and it had no build id");
    default:
        return refuse(module, "the job could not see its file, and it had no build id");
    }
}

static void module_file_is_missing(struct trace_module *module, int error)
{
    refuse(module, "its file cannot be read here: %s", strerror(error));
}

/* A function that was inlined has no symbol: the symbol is that of the function into which it went, the line its own.
 * In the debug information (DWARF 5, 3.3.8) an entry DW_TAG_inlined_subroutine stands for the copy, inside of its
 * caller's entry, and says at which line of the caller the call was. So from the innermost entry out:
 *
 *     inlined inner, called at line 10   ->  the call of MPI is in inner, at the line of the address
 *     inlined outer, called at line 17   ->  inner is called in outer, at line 10
 *     function main                     ->  outer is called in main, at line 17
 */

enum { MOST_CALLERS = 64 };

/* Returns the name of a function's entry, NULL without one; the caller frees. */
static char *name_of(Dwarf_Die *entry, const char *file)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
    Dwarf_Attribute memory;
    const char *name = NULL;
    for (size_t i = 0; name == NULL && i < sizeof names / sizeof *names; i++) {
        Dwarf_Attribute *attribute = libdw.dwarf_attr_integrate(entry, names[i], &memory);
        name = attribute == NULL ? NULL : libdw.dwarf_formstring(attribute);
    }
    if (name != NULL)
        return demangle(name, file);
    name = libdw.dwarf_diename(entry);
    return name == NULL ? NULL : xstrdup(name);
}

static int number_of(Dwarf_Die *entry, unsigned name)
{
    Dwarf_Attribute memory, *attribute = libdw.dwarf_attr_integrate(entry, name, &memory);
    Dwarf_Word value;
    return attribute != NULL && libdw.dwarf_formudata(attribute, &value) == 0 && value <= INT32_MAX ? (int)value : 0;
}

/* Returns the name of the file in which an inlined function is called, NULL without one; the caller frees. */
static char *call_file(Dwarf_Die *entry)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t n_files;
    if (libdw.dwarf_diecu(entry, &unit, NULL, NULL) == NULL || libdw.dwarf_getsrcfiles(&unit, &files, &n_files) != 0)
        return NULL;
    const char *file = libdw.dwarf_filesrc(files, (size_t)number_of(entry, DW_AT_call_file), NULL, NULL);
    return file == NULL ? NULL : xstrdup(file);
}

/* Adds the caller of the function that an entry stands for, and gives that function its own name. */
static void add_symbol_caller(struct trace_callsite *callsite, Dwarf_Die *entry)
{
    size_t n = callsite->n_callers;
    array_grow(&callsite->callers, n, sizeof *callsite->callers);
    struct trace_frame *callers = callsite->callers;
    char **function = n == 0 ? &callsite->function : &callers[n - 1].function;
    *function = name_of(entry, n == 0 ? callsite->file : callers[n - 1].file);
    callers[n] = (struct trace_frame){.file = call_file(entry), .line = number_of(entry, DW_AT_call_line)};
    callsite->n_callers = n + 1;
}

/* Takes the entries, the innermost first. What the call site was called is the name of the last caller. */
static void take_entries(struct trace_callsite *callsite, Dwarf_Die *entries, int n_entries)
{
    char *symbol = callsite->function;
    for (int i = 0; i < n_entries && callsite->n_callers < MOST_CALLERS; i++) {
        int tag = libdw.dwarf_tag(&entries[i]);
        if (tag == DW_TAG_subprogram)
            break;
        if (tag == DW_TAG_inlined_subroutine)
            add_symbol_caller(callsite, &entries[i]);
    }
    if (callsite->n_callers > 0)
        callsite->callers[callsite->n_callers - 1].function = symbol;
}

/* Names the function of the source that has the call at an address of the module, and its callers up to the function of
 * the program, which is the symbol of the call site. Leaves the call site as it is where nothing was inlined there, and
 * where the module has no debug information. */
static void inlined_resolve(struct trace_callsite *callsite, Dwfl_Module *module, GElf_Addr address)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = libdw.dwfl_module_addrdie(module, address, &bias), *innermost = NULL, *entries = NULL;
    /* The first gives the innermost entry, and behind it what contains its source; the second what contains itself. */
    if (unit != NULL && libdw.dwarf_getscopes(unit, address - bias, &innermost) > 0) {
        int n_entries = libdw.dwarf_getscopes_die(innermost, &entries);
        if (n_entries > 0)
            take_entries(callsite, entries, n_entries);
    }
    free(entries);
    free(innermost);
}

/* Turns an offset in the file into the address that the file itself gives it. */
static bool file_address(Elf *elf, uint64_t offset, GElf_Addr *address)
{
    size_t n;
    if (elf == NULL || libdw.elf_getphdrnum(elf, &n) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr header;
        if (libdw.gelf_getphdr(elf, (int)i, &header) != NULL && header.p_type == PT_LOAD && offset >= header.p_offset &&
            offset - header.p_offset < header.p_filesz) {
            *address = offset - header.p_offset + header.p_vaddr;
            return true;
        }
    }
    return false;
}

static char *read_build_id(Dwfl_Module *module)
{
    const unsigned char *bits;
    GElf_Addr address;
    int bytes = libdw.dwfl_module_build_id(module, &bits, &address);
    char *text = bytes > 0 ? xmalloc(2 * (size_t)bytes + 1) : NULL;
    for (int i = 0; i < bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bits[i]);
    return text;
}

static void resolve_callsite(struct trace_callsite *callsite, Dwfl_Module *module, GElf_Addr address)
{
    Dwfl_Line *line = libdw.dwfl_module_getsrc(module, address);
    const char *file = line == NULL ? NULL : libdw.dwfl_lineinfo(line, NULL, &callsite->line, NULL, NULL, NULL);
    if (file != NULL)
        callsite->file = xstrdup(file);
    const char *function = libdw.dwfl_module_addrname(module, address);
    if (function != NULL)
        callsite->function = demangle(function, file);
    inlined_resolve(callsite, module, address);
}

/* Opens the file of a module. A map may name what is no plain file; that is closed again at once. Returns -1 without
 * one. */
static int open_module(struct trace_module *module, struct stat *status)
{
    int file = open(module->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 && fstat(file, status) == 0 && S_ISREG(status->st_mode))
        return file;
    module_file_is_missing(module, file < 0 ? errno : EINVAL);
    if (file >= 0)
        close(file);
    return -1;
}

/* True if the file is the one that ran, and so has the names of its call sites. */
static bool is_what_ran(struct trace_module *path, const struct stat *status, Dwfl_Module *module)
{
    char *build_id = read_build_id(module);
    bool is_it = module_file_is(path, status, build_id);
    free(build_id);
    return is_it;
}

static void resolve_module(struct trace *trace, uint32_t number)
{
    const Dwfl_Callbacks callbacks = {
        .find_elf = libdw.dwfl_build_id_find_elf,
        .find_debuginfo = libdw.dwfl_standard_find_debuginfo,
        .section_address = libdw.dwfl_offline_section_address,
    };
    struct trace_module *path = &trace->modules[number];
    struct stat status;
    int file = open_module(path, &status);
    Dwfl *session = file < 0 ? NULL : libdw.dwfl_begin(&callbacks);
    if (session == NULL) {
        if (file >= 0)
            close(file);
        return;
    }
    libdw.dwfl_report_begin(session);
    Dwfl_Module *module =
        libdw.dwfl_report_offline(session, path->path, path->path, file); /* closes it unless it fails */
    if (module == NULL)
        close(file);
    libdw.dwfl_report_end(session, NULL, NULL);
    GElf_Addr bias = 0;
    Elf *elf = module == NULL ? NULL : libdw.dwfl_module_getelf(module, &bias);
    bool is_it = elf != NULL && is_what_ran(path, &status, module);
    if (elf == NULL)
        module_file_is(path, &status, NULL);
    for (size_t i = 0; is_it && i < trace->n_callsites; i++) {
        GElf_Addr address;
        if (trace->callsites[i].module == number && file_address(elf, trace->callsites[i].offset - 1, &address))
            resolve_callsite(&trace->callsites[i], module, address + bias);
    }
    libdw.dwfl_end(session);
}

/* Finds the library; returns false without it, which is reported once. */
static bool find_library(void)
{
    static bool is_said;
    const char *reason;
    bool is_there = callsites_can_be_resolved(&reason);
    if (!is_there && !is_said)
        fprintf(stderr, "mpistair: no source lines: %s\n", reason);
    is_said = is_said || !is_there;
    return is_there;
}

void callsites_resolve(struct trace *trace)
{
    /* Debug information must not be fetched from the network without the user's knowledge. */
    unsetenv("DEBUGINFOD_URLS");
    if (trace->n_callsites == 0 || !find_library())
        return;
    bool *needed = xcalloc(trace->n_modules, sizeof *needed);
    for (size_t i = 0; i < trace->n_callsites; i++)
        needed[trace->callsites[i].module] = true;
    for (uint32_t i = 0; i < trace->n_modules; i++)
        if (needed[i] && trace->modules[i].path[0] == '/')
            resolve_module(trace, i);
    free(needed);
}
