/* The build id is read where the module is mapped, as the file of its name may be another one by now. */
#include "interpose/backend/site/module_identity.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_HEADERS = 64, MOST_NOTE_BYTES = 4096, MOST_ID_BYTES = 64 };

int module_memory_open(void)
{
    return open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

static int read_memory(int memory, void *to, size_t bytes, uint64_t address)
{
    return address <= INT64_MAX && pread(memory, to, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -1;
}

/* Finds the build id among the notes and writes it. Returns 0, or -1. */
static int find_id(const unsigned char *notes, size_t bytes, size_t align, char *text, size_t size)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        if (note.n_namesz > bytes || note.n_descsz > bytes)
            return -1;
        size_t name = at + sizeof note, value = at + (sizeof note + note.n_namesz + align - 1) / align * align;
        if (value + note.n_descsz > bytes)
            return -1;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= MOST_ID_BYTES && size > 2 * (size_t)note.n_descsz + 3) {
            text += snprintf(text, size, "id=");
            for (size_t i = 0; i < note.n_descsz; i++)
                text += snprintf(text, 3, "%02x", notes[value + i]);
            return 0;
        }
        at = value + (note.n_descsz + align - 1) / align * align;
    }
    return -1;
}

static int read_id(int memory, uint64_t head, char *text, size_t size)
{
    ElfW(Ehdr) elf;
    ElfW(Phdr) segments[MOST_HEADERS];
    unsigned char notes[MOST_NOTE_BYTES];
    if (head == 0 || read_memory(memory, &elf, sizeof elf, head) != 0 || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_phentsize != sizeof *segments || elf.e_phnum > MOST_HEADERS ||
        read_memory(memory, segments, elf.e_phnum * sizeof *segments, head + elf.e_phoff) != 0)
        return -1;
    uint64_t bias = head;
    for (size_t i = 0; i < elf.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
            bias = head - segments[i].p_vaddr;
    for (size_t i = 0; i < elf.e_phnum; i++) {
        const ElfW(Phdr) *segment = &segments[i];
        size_t bytes = segment->p_filesz < sizeof notes ? segment->p_filesz : sizeof notes;
        if (segment->p_type == PT_NOTE && read_memory(memory, notes, bytes, bias + segment->p_vaddr) == 0 &&
            find_id(notes, bytes, segment->p_align == 8 ? 8 : 4, text, size) == 0)
            return 0;
    }
    return -1;
}

int module_has_id(const struct module_range *range, int memory)
{
    char text[256];
    return memory >= 0 && read_id(memory, range->head, text, sizeof text) == 0;
}

void module_identity(char *text, size_t size, const struct module_range *range, const char *path, int memory)
{
    struct stat status;
    if (memory >= 0 && read_id(memory, range->head, text, size) == 0)
        return;
    if (strcmp(path, range->path) != 0)
        snprintf(text, size, "deleted");
    else if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        snprintf(text, size, "file=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, (uint64_t)status.st_size,
                 (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status.st_mtim.tv_nsec,
                 (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    else
        snprintf(text, size, "-");
}
