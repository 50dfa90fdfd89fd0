/* Names what is used of elfutils, which is loaded when it is needed: a machine without it makes traces, too. */
#ifndef MPISTAIR_TRACE_LIBDW_H
#define MPISTAIR_TRACE_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

/* The functions of libelf come along with libdw. */
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

struct libdw {
#define MEMBER(name) __typeof__(&(name)) name;
    LIBDW_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Returns the functions, or NULL with the reason where the library cannot be loaded. */
const struct libdw *libdw_load(const char **reason);

#endif
