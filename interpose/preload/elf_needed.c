/* Loading a backend that needs a libmpi which is not in the process would bring a second MPI in. So the file is read
 * before to find what it needs: program headers, the dynamic segment, the string table that it points to. A program
 * that holds its MPI shows it only in its symbol table, which is not loaded. Every offset is checked against the file's
 * size. */
#include "interpose/preload/elf_needed.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool elf_defines(const char *path, const char *name)
{
    struct image image;
    if (!open_image(path, &image))
        return false;
    bool found = find_symbol(&image, name);
    munmap((void *)image.bytes, image.size);
    return found;
}
