/* Objects are learned one at a time as they call: the link map may be long, the callers of PMPI_X are few, and a
 * Fortran layer may be loaded at any time. Where the table is full, or another thread is about to add, nothing is
 * remembered and the next call asks again. */
#include "callers.h"

#include <link.h>
#include <string.h>

#include "cells.h"
#include "mpi_library.h"

struct mpistair_caller mpistair_callers[CALLERS_MAX];
_Atomic uint32_t mpistair_n_callers;

static bool is_fortran_layer(const char *path)
{
    /* Open MPI: mpif.h, use mpi, use mpi_f08; MPICH before and after it renamed its own, and its family. */
    static const char *const prefixes[] = {"libmpi_mpifh", "libmpi_usempi", "libmpichfort", "libmpichf", "libmpifort"};
    const char *name = base_name(path);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

struct search {
    uintptr_t address;
    struct mpistair_caller found; /* end 0: in no object */
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct search *search = context;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->address >= begin && search->address - begin < segment->p_memsz) {
            search->found = (struct mpistair_caller){
                .begin = begin,
                .end = begin + segment->p_memsz,
                .is_fortran = info->dlpi_name != NULL && is_fortran_layer(info->dlpi_name),
            };
            return 1;
        }
    }
    return 0;
}

static void remember(const struct mpistair_caller *caller)
{
    static atomic_flag adding = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&adding, memory_order_acquire))
        return;
    uint32_t n = atomic_load_explicit(&mpistair_n_callers, memory_order_relaxed);
    bool known = false;
    for (uint32_t i = 0; i < n; i++)
        known = known || mpistair_callers[i].begin == caller->begin;
    if (!known && n < CALLERS_MAX) {
        mpistair_callers[n] = *caller;
        atomic_store_explicit(&mpistair_n_callers, n + 1, memory_order_release);
    }
    atomic_flag_clear_explicit(&adding, memory_order_release);
}

bool callers_is_fortran(const void *return_address)
{
    struct search search = {.address = (uintptr_t)return_address};
    uint32_t n = atomic_load_explicit(&mpistair_n_callers, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (search.address >= mpistair_callers[i].begin && search.address < mpistair_callers[i].end)
            return mpistair_callers[i].is_fortran != 0;
    dl_iterate_phdr(find_segment, &search);
    if (search.found.end != 0)
        remember(&search.found);
    return search.found.is_fortran != 0;
}
