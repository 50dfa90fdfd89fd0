/* Hands inputs to their readers, each as it is and CHANGES times with bytes changed or cut off by lot: replay READER
 * CHANGES FOLDER ... The lot depends on the input alone, so that a failure comes again. What is printed last names the
 * input of a reader that crashed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_readers.h"

enum { MAX_BYTES = 1 << 20 };

/* Returns a random number below n. */
static size_t draw(uint64_t *state, size_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*state >> 33) % n;
}

/* Changes a few bytes of data[size], and may cut it. Returns the new size. */
static size_t change(uint8_t *data, size_t size, uint64_t *state)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ',', '-', '9', ' ', '#', 'e', '.'};
    for (size_t i = draw(state, 3) == 0 ? 20 : draw(state, 3) + 1; i > 0; i--)
        data[draw(state, size)] = draw(state, 4) == 0 ? (uint8_t)draw(state, 256) : odd[draw(state, sizeof odd)];
    return draw(state, 4) == 0 ? draw(state, size) : size;
}

/* The room is as large as the content, so that a read behind it is found. */
static void hand(const struct reader *reader, const uint8_t *content, size_t size)
{
    uint8_t *data = malloc(size + (size == 0));
    if (data == NULL)
        abort();
    memcpy(data, content, size);
    reader->read(data, size);
    free(data);
}

static int replay(const struct reader *reader, int n_changes, const char *folder, const char *name, FILE *told)
{
    static uint8_t content[MAX_BYTES], changed[MAX_BYTES];
    uint64_t state = 1;
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    size_t size = fread(content, 1, sizeof content, file);
    fclose(file);
    for (int i = 0; i <= (size > 0 ? n_changes : 0); i++) {
        size_t n = size;
        memcpy(changed, content, size);
        if (i > 0)
            n = change(changed, size, &state);
        fprintf(told, "%s, change %d\n", name, i);
        fflush(told);
        hand(reader, changed, n);
    }
    return 1;
}

int main(int argc, char **argv)
{
    FILE *told = stdout;
    int n = 0;
    const struct reader *reader = argc >= 4 ? readers_choose(argv[1]) : NULL;
    for (int i = 3; reader != NULL && i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        if (directory == NULL)
            break;
        for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
            if (entry->d_name[0] != '.')
                n += replay(reader, atoi(argv[2]), argv[i], entry->d_name, told);
        closedir(directory);
    }
    if (n == 0)
        fputs("usage: replay READER CHANGES FOLDER ...; a folder holds inputs of the reader\n", told);
    return n > 0 ? 0 : 2;
}
