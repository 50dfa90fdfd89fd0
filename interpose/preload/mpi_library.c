/* An MPI is usually in the global scope, behind us (RTLD_NEXT), perhaps with other tools between. An interpreter loads
 * it with an extension module and RTLD_LOCAL instead: then it is the object of the link map that defines
 * PMPI_Get_library_version. Names are collected first and opened later, since dlopen must not be called while
 * dl_iterate_phdr holds the loader's lock.
 */
#include "interpose/preload/mpi_library.h"
#include "share/base/one_of.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The loader reports objects in the order of its link map: the program, what is preloaded, their dependencies, then
 * what was opened later. dladdr would search an object's symbols, too, which takes long for some hundred functions. */
struct search {
    uintptr_t address;
    bool passed_us;
    struct loaded_object *found;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char ours = 0;
    (void)size;
    struct search *search = context;
    struct loaded_object object = {UINTPTR_MAX, 0, info->dlpi_name != NULL ? info->dlpi_name : "", !search->passed_us};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        if (begin < object.begin)
            object.begin = begin;
        if (begin + segment->p_memsz > object.end)
            object.end = begin + segment->p_memsz;
    }
    if (object_holds(&object, search->address)) {
        *search->found = object;
        return 1;
    }
    search->passed_us = search->passed_us || object_holds(&object, (uintptr_t)&ours);
    return 0;
}

bool object_find(uintptr_t address, struct loaded_object *found)
{
    struct search search = {.address = address, .found = found};
    return dl_iterate_phdr(look_at, &search) != 0;
}

/* Loading a backend that needs a libmpi which is not in the process would bring a second MPI in. So the file is read
 * before to find what it needs: program headers, the dynamic segment, the string table that it points to. A program
 * that holds its MPI shows it only in its symbol table, which is not loaded. Every offset is checked against the file's
 * size. */
#define NATIVE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

struct image {
    const unsigned char *bytes;
    size_t size;
};

static bool fits(const struct image *image, uint64_t offset, uint64_t length)
{
    return offset <= image->size && length <= image->size - offset;
}

static const ElfW(Phdr) * program_headers(const struct image *image, size_t *n)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    if (!fits(image, 0, sizeof *header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != NATIVE_CLASS || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_phoff % _Alignof(ElfW(Phdr)) != 0 ||
        !fits(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(ElfW(Phdr))))
        return NULL;
    *n = header->e_phnum;
    return (const void *)(image->bytes + header->e_phoff);
}

/* Returns where in the file the loaded address lies; image->size if nowhere. */
static uint64_t file_offset(const struct image *image, const ElfW(Phdr) * headers, size_t n, uint64_t address)
{
    for (size_t i = 0; i < n; i++)
        if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
            address - headers[i].p_vaddr < headers[i].p_filesz) {
            uint64_t offset = headers[i].p_offset + (address - headers[i].p_vaddr);
            return offset < image->size ? offset : image->size;
        }
    return image->size;
}

static int find_needed(const struct image *image, const char *prefix, char *name, size_t size)
{
    size_t n = 0;
    const ElfW(Phdr) *headers = program_headers(image, &n);
    const ElfW(Phdr) *dynamic = NULL;
    for (size_t i = 0; headers != NULL && i < n; i++)
        if (headers[i].p_type == PT_DYNAMIC)
            dynamic = &headers[i];
    if (dynamic == NULL || dynamic->p_offset % _Alignof(ElfW(Dyn)) != 0 ||
        !fits(image, dynamic->p_offset, dynamic->p_filesz))
        return -1;
    const ElfW(Dyn) *entries = (const void *)(image->bytes + dynamic->p_offset);
    size_t n_entries = dynamic->p_filesz / sizeof *entries;
    uint64_t strings = image->size;
    for (size_t i = 0; i < n_entries && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_STRTAB)
            strings = file_offset(image, headers, n, entries[i].d_un.d_ptr);
    for (size_t i = 0; i < n_entries && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag != DT_NEEDED || !fits(image, strings, entries[i].d_un.d_val) ||
            strings + entries[i].d_un.d_val >= image->size)
            continue;
        const char *text = (const char *)image->bytes + strings + entries[i].d_un.d_val;
        size_t length = strnlen(text, image->size - (size_t)(strings + entries[i].d_un.d_val));
        if (length < size && length >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0) {
            memcpy(name, text, length);
            name[length] = '\0';
            return 1;
        }
    }
    return strings < image->size ? 0 : -1;
}

/* Returns the section headers, or NULL. */
static const ElfW(Shdr) * section_headers(const struct image *image, size_t *n)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    if (program_headers(image, n) == NULL || header->e_shentsize != sizeof(ElfW(Shdr)) ||
        header->e_shoff % _Alignof(ElfW(Shdr)) != 0 ||
        !fits(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr))))
        return NULL;
    *n = header->e_shnum;
    return (const void *)(image->bytes + header->e_shoff);
}

static bool table_defines(const struct image *image, const ElfW(Shdr) * symbols, const ElfW(Shdr) * strings,
                          const char *name)
{
    if (!fits(image, symbols->sh_offset, symbols->sh_size) || !fits(image, strings->sh_offset, strings->sh_size) ||
        symbols->sh_offset % _Alignof(ElfW(Sym)) != 0)
        return false;
    const ElfW(Sym) *entries = (const void *)(image->bytes + symbols->sh_offset);
    const char *text = (const char *)image->bytes + strings->sh_offset;
    size_t bytes = strlen(name) + 1;
    for (size_t i = 0; i < symbols->sh_size / sizeof *entries; i++)
        if (entries[i].st_shndx != SHN_UNDEF && entries[i].st_name < strings->sh_size &&
            strings->sh_size - entries[i].st_name >= bytes && memcmp(text + entries[i].st_name, name, bytes) == 0)
            return true;
    return false;
}

static bool find_symbol(const struct image *image, const char *name)
{
    size_t n = 0;
    const ElfW(Shdr) *sections = section_headers(image, &n);
    for (size_t i = 0; sections != NULL && i < n; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < n &&
            table_defines(image, &sections[i], &sections[sections[i].sh_link], name))
            return true;
    return false;
}

/* Maps the file. Returns false where it cannot. */
static bool open_image(const char *path, struct image *image)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (descriptor < 0)
        return false;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        image->size = (size_t)status.st_size;
        bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        image->bytes = bytes;
    }
    close(descriptor);
    return bytes != MAP_FAILED;
}

int elf_needed(const char *path, const char *prefix, char *name, size_t size)
{
    struct image image;
    if (!open_image(path, &image))
        return -1;
    int result = find_needed(&image, prefix, name, size);
    munmap((void *)image.bytes, image.size);
    return result;
}

/* Returns whether the file's own symbol table, which a stripped one lacks, defines a symbol of that name. */
static bool elf_defines(const char *path, const char *name)
{
    struct image image;
    if (!open_image(path, &image))
        return false;
    bool found = find_symbol(&image, name);
    munmap((void *)image.bytes, image.size);
    return found;
}

#define PROBE "PMPI_Get_library_version"

struct object_names {
    char **names;
    size_t n;
};

struct mpi_scan {
    void *handle;   /* handle of the first MPI found; the caller closes it by dlclose */
    unsigned n;     /* how many distinct MPIs there are */
    unsigned n_abi; /* how many of them are libraries of the standard ABI */
    void *bases[8];
};

/* Returns the object that holds `address`; {0} where there is none. */
static Dl_info object_of(const void *address)
{
    Dl_info info = {0};
    if (dladdr(address, &info) == 0)
        info = (Dl_info){0};
    return info;
}

static bool is_ours(const void *address)
{
    static const char ours = 0;
    return object_of(address).dli_fbase == object_of(&ours).dli_fbase;
}

/* Returns whether a file is a copy of this library. */
static bool is_copy(const char *path)
{
    return strncmp(file_name(path), "libmpistair.so", strlen("libmpistair.so")) == 0;
}

static int add_name(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct object_names *list = context;
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0' || is_copy(info->dlpi_name))
        return 0;
    char **names = realloc(list->names, (list->n + 1) * sizeof *names);
    if (names == NULL)
        return 1;
    list->names = names;
    names[list->n] = strdup(info->dlpi_name);
    if (names[list->n] == NULL)
        return 1;
    list->n++;
    return 0;
}

/* Counts `base` and returns true if it is new. */
static bool add_base(struct mpi_scan *scan, void *base)
{
    size_t room = sizeof scan->bases / sizeof scan->bases[0];
    for (unsigned i = 0; i < scan->n && i < room; i++)
        if (scan->bases[i] == base)
            return false;
    if (scan->n < room)
        scan->bases[scan->n] = base;
    scan->n++;
    return true;
}

static struct mpi_scan scan_link_map(void)
{
    struct mpi_scan scan = {0};
    struct object_names list = {0};
    dl_iterate_phdr(add_name, &list);
    for (size_t i = 0; i < list.n; i++) {
        void *handle = dlopen(list.names[i], RTLD_LAZY | RTLD_NOLOAD);
        void *probe = handle != NULL ? dlsym(handle, PROBE) : NULL;
        Dl_info object = probe != NULL ? object_of(probe) : (Dl_info){0};
        bool is_new = probe != NULL && add_base(&scan, object.dli_fbase);
        scan.n_abi += is_new && object.dli_fname != NULL && mpi_library_is_abi_name(object.dli_fname);
        if (is_new && scan.handle == NULL)
            scan.handle = handle;
        else if (handle != NULL)
            dlclose(handle);
        free(list.names[i]);
    }
    free(list.names);
    return scan;
}

/* Returns how many of them cannot be in one process: one of the standard ABI may have its MPI behind it. */
static unsigned n_rivals(const struct mpi_scan *scan)
{
    return scan->n == 2 && scan->n_abi == 1 ? 1 : scan->n;
}

/* Returns the MPI that was loaded RTLD_LOCAL, kept open; NULL if there is none (yet), several, or one in the global
 * scope. */
static void *local_library(void)
{
    static void *_Atomic found;
    static atomic_bool is_global;
    void *handle = atomic_load_explicit(&found, memory_order_acquire);
    if (handle != NULL || atomic_load_explicit(&is_global, memory_order_relaxed))
        return handle;
    if (dlsym(RTLD_NEXT, PROBE) != NULL) {
        atomic_store_explicit(&is_global, true, memory_order_relaxed);
        return NULL;
    }
    struct mpi_scan scan = scan_link_map();
    if (n_rivals(&scan) == 1) {
        atomic_store_explicit(&found, scan.handle, memory_order_release);
        return scan.handle;
    }
    if (scan.handle != NULL)
        dlclose(scan.handle);
    return NULL;
}

static mpistair_code *as_code(void *symbol)
{
    union {
        void *symbol;
        mpistair_code *code;
    } both = {.symbol = symbol};
    return both.code;
}

static const void *as_address(mpistair_code *code)
{
    union {
        mpistair_code *code;
        const void *address;
    } both = {.code = code};
    return both.address;
}

mpistair_code *mpi_library_find(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL) {
        void *library = local_library();
        if (library != NULL)
            symbol = dlsym(library, name);
    }
    return as_code(symbol);
}

mpistair_code *mpi_library_find_for(const char *name, const void *address)
{
    Dl_info object = object_of(address);
    if (object.dli_fname == NULL || is_copy(object.dli_fname)) /* a copy in front of us would only find itself again */
        return NULL;
    void *handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL)
        return NULL;
    void *symbol = dlsym(handle, name);
    dlclose(handle); /* the caller is in it, so it stays */
    return symbol != NULL && is_ours(symbol) ? NULL : as_code(symbol);
}

mpistair_code *mpi_library_find_anywhere(const char *name)
{
    struct object_names list = {0};
    void *symbol = NULL;
    dl_iterate_phdr(add_name, &list);
    for (size_t i = 0; i < list.n; i++) {
        void *handle = symbol == NULL ? dlopen(list.names[i], RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (handle != NULL) {
            symbol = dlsym(handle, name);
            dlclose(handle); /* the caller could not run without it, so it stays */
        }
        if (symbol != NULL && is_ours(symbol))
            symbol = NULL;
        free(list.names[i]);
    }
    free(list.names);
    return as_code(symbol);
}

unsigned mpi_library_count(void)
{
    struct mpi_scan scan = scan_link_map();
    if (scan.handle != NULL)
        dlclose(scan.handle);
    return n_rivals(&scan);
}

bool mpi_library_is_abi_name(const char *path)
{
    const char *name = file_name(path);
    name += strncmp(name, "libp", 4) == 0 ? 4 : strncmp(name, "lib", 3) == 0 ? 3 : 0;
    return strncmp(name, "mpi_abi", strlen("mpi_abi")) == 0;
}

bool mpi_library_is_wrapped_in_front(const char *name)
{
    const void *first = dlsym(RTLD_DEFAULT, name);
    return first != NULL && !is_ours(first);
}

bool mpi_library_is_wrapped_behind(mpistair_code *next, mpistair_code *pnext)
{
    struct loaded_object mpi, first;
    if (!object_find((uintptr_t)pnext, &mpi))
        return true;
    if (object_holds(&mpi, (uintptr_t)next))
        return false;
    bool is_split = mpi_library_is_abi_name(mpi.path) && object_find((uintptr_t)next, &first) &&
                    mpi_library_is_abi_name(first.path);
    return !is_split;
}

bool mpi_library_is_loaded(const char *soname)
{
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL)
        return false;
    bool is_mpi = dlsym(handle, PROBE) != NULL;
    dlclose(handle);
    return is_mpi;
}

bool mpi_library_is_static(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *probe = dlsym(RTLD_DEFAULT, PROBE);
    if (probe != NULL && dladdr1(probe, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map->l_prev == NULL)
        return true;
    /* Most programs do not export what they hold. Only the file of a program that a launcher started, and that has no
     * MPI behind us, is worth reading; a program that is linked statically has what it calls. */
    bool is_rank = getenv("PMI_RANK") != NULL || getenv("PMIX_RANK") != NULL;
    return is_rank && dlsym(RTLD_NEXT, PROBE) == NULL &&
           (elf_defines("/proc/self/exe", "MPI_Init") || elf_defines("/proc/self/exe", "MPI_Init_thread"));
}

/* Returns whether the MPI tells that it has the standard ABI; one that has not says version -1. */
static bool tells_abi(mpistair_code *abi_get_version)
{
    int major = -1, minor = -1;
    union {
        mpistair_code *code;
        int (*abi_get_version)(int *major, int *minor);
    } call = {.code = abi_get_version};
    return abi_get_version != NULL && call.abi_get_version(&major, &minor) == 0 && major >= 1;
}

struct mpi_identity mpi_library_identify(mpistair_code *get_library_version, mpistair_code *abi_get_version)
{
    /* What the libraries say of themselves. The first that occurs decides: derivatives name their ancestor too.
     */
    static const struct {
        const char *phrase;
        enum spool_family family;
    } phrases[] = {
        {"Open MPI", SPOOL_FAMILY_OPENMPI},      {"MPICH", SPOOL_FAMILY_MPICH}, /* also Cray MPICH */
        {"MVAPICH", SPOOL_FAMILY_MPICH},         {"Intel(R) MPI", SPOOL_FAMILY_MPICH},
        {"ParaStation MPI", SPOOL_FAMILY_MPICH},
    };
    static char text[16384]; /* MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, 8192 in MPICH */
    struct mpi_identity identity = {.family = SPOOL_FAMILY_UNKNOWN};
    int length = 0;
    union {
        mpistair_code *code;
        int (*get_library_version)(char *version, int *length);
    } call = {.code = get_library_version};
    text[0] = '\0';
    if (call.get_library_version(text, &length) != 0)
        text[0] = '\0';
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0] && identity.family == SPOOL_FAMILY_UNKNOWN; i++)
        if (strstr(text, phrases[i].phrase) != NULL)
            identity.family = phrases[i].family;
    const char *file = object_of(as_address(get_library_version)).dli_fname;
    identity.is_abi = (file != NULL && mpi_library_is_abi_name(file)) || tells_abi(abi_get_version);
    size_t line = strcspn(text, "\r\n");
    if (line >= sizeof identity.said)
        line = sizeof identity.said - 1;
    memcpy(identity.said, text, line);
    return identity;
}
