/* Names call sites by elfutils: each module is opened once, offline, and asked for all of its call sites. The
 * instruction of the call lies before the return address, hence - 1. What a module does not have (stripped) stays
 * unknown, and so does all of one whose file is not the one that ran any more. */
#include "interpose/trace/site/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/trace/site/demangle.h"
#include "interpose/trace/site/inlined.h"
#include "interpose/trace/site/libdw.h"
#include "interpose/trace/site/module_file.h"
#include "share/base/memory.h"

static const struct libdw *libdw;

/* Turns an offset in the file into the address that the file itself gives it. */
static bool file_address(Elf *elf, uint64_t offset, GElf_Addr *address)
{
    size_t n;
    if (elf == NULL || libdw->elf_getphdrnum(elf, &n) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr header;
        if (libdw->gelf_getphdr(elf, (int)i, &header) != NULL && header.p_type == PT_LOAD &&
            offset >= header.p_offset && offset - header.p_offset < header.p_filesz) {
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
    int bytes = libdw->dwfl_module_build_id(module, &bits, &address);
    char *text = bytes > 0 ? xmalloc(2 * (size_t)bytes + 1) : NULL;
    for (int i = 0; i < bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bits[i]);
    return text;
}

static void resolve_callsite(struct trace_callsite *callsite, Dwfl_Module *module, GElf_Addr address)
{
    Dwfl_Line *line = libdw->dwfl_module_getsrc(module, address);
    const char *file = line == NULL ? NULL : libdw->dwfl_lineinfo(line, NULL, &callsite->line, NULL, NULL, NULL);
    if (file != NULL)
        callsite->file = xstrdup(file);
    const char *function = libdw->dwfl_module_addrname(module, address);
    if (function != NULL)
        callsite->function = demangle(function, file);
    inlined_resolve(libdw, callsite, module, address);
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

/* Says whether the file is the one that ran, and so has the names of its call sites. */
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
        .find_elf = libdw->dwfl_build_id_find_elf,
        .find_debuginfo = libdw->dwfl_standard_find_debuginfo,
        .section_address = libdw->dwfl_offline_section_address,
    };
    struct trace_module *path = &trace->modules[number];
    struct stat status;
    int file = open_module(path, &status);
    Dwfl *session = file < 0 ? NULL : libdw->dwfl_begin(&callbacks);
    if (session == NULL) {
        if (file >= 0)
            close(file);
        return;
    }
    libdw->dwfl_report_begin(session);
    Dwfl_Module *module =
        libdw->dwfl_report_offline(session, path->path, path->path, file); /* closes it unless it fails */
    if (module == NULL)
        close(file);
    libdw->dwfl_report_end(session, NULL, NULL);
    GElf_Addr bias = 0;
    Elf *elf = module == NULL ? NULL : libdw->dwfl_module_getelf(module, &bias);
    bool is_it = elf != NULL && is_what_ran(path, &status, module);
    if (elf == NULL)
        module_file_is(path, &status, NULL);
    for (size_t i = 0; is_it && i < trace->n_callsites; i++) {
        GElf_Addr address;
        if (trace->callsites[i].module == number && file_address(elf, trace->callsites[i].offset - 1, &address))
            resolve_callsite(&trace->callsites[i], module, address + bias);
    }
    libdw->dwfl_end(session);
}

/* Finds the library; returns false without it, which is reported once. */
static bool find_library(void)
{
    static bool is_said;
    const char *reason;
    libdw = libdw_load(&reason);
    if (libdw == NULL && !is_said)
        fprintf(stderr, "mpistair: no source lines: %s\n", reason);
    is_said = is_said || libdw == NULL;
    return libdw != NULL;
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
