/* SIGBUS comes to the thread that touches the missing page, in the middle of any expression, so its handler must repair
 * the mapping; nothing can be returned from there. */
#include "interpose/spool/mapped_file.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "share/base/memory.h"

struct mapped_file {
    uint8_t *data;
    size_t size;
    size_t dropped; /* bytes at the front */
    atomic_bool cut;
    struct mapped_file *next, *previous;
};

static struct mapped_file *files;
static size_t page_bytes;

/* Puts zeroes where the file was, from the page on that is not there; then the read is made again. A fault in none of
 * these files ends the process as ever, once the read is made again. */
static void read_zeroes(int number, siginfo_t *about, void *context)
{
    (void)context;
    const uint8_t *place = about->si_addr;
    struct mapped_file *file = files;
    while (file != NULL && (place < file->data + file->dropped || place >= file->data + file->size))
        file = file->next;
    if (file == NULL || about->si_code != BUS_ADRERR) {
        signal(number, SIG_DFL);
        return;
    }
    size_t from = (size_t)(place - file->data) / page_bytes * page_bytes;
    file->cut = true;
    if (mmap(file->data + from, file->size - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        signal(number, SIG_DFL);
}

struct mapped_file *mapped_file_open(int descriptor, size_t bytes)
{
    void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return NULL;
    struct mapped_file *file = xcalloc(1, sizeof *file);
    if (page_bytes == 0) {
        struct sigaction action = {.sa_sigaction = read_zeroes, .sa_flags = SA_SIGINFO};
        page_bytes = (size_t)sysconf(_SC_PAGESIZE);
        sigaction(SIGBUS, &action, NULL);
    }
    file->data = data;
    file->size = bytes;
    file->next = files;
    if (files != NULL)
        files->previous = file;
    files = file;
    return file;
}

void mapped_file_close(struct mapped_file *file)
{
    if (file == NULL)
        return;
    if (file->next != NULL)
        file->next->previous = file->previous;
    if (file->previous != NULL)
        file->previous->next = file->next;
    else
        files = file->next;
    if (file->size > file->dropped)
        munmap(file->data + file->dropped, file->size - file->dropped);
    free(file);
}

const uint8_t *mapped_file_data(const struct mapped_file *file)
{
    return file->data;
}

void mapped_file_drop_front(struct mapped_file *file, size_t bytes)
{
    munmap(file->data, bytes);
    file->dropped = bytes;
}

bool mapped_file_is_cut(const struct mapped_file *file)
{
    return file->cut;
}
