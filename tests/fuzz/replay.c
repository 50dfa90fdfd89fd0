/* Hands kept inputs to their readers: replay READER FOLDER. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_readers.h"

enum { MAX_BYTES = 1 << 20 };

static int replay(const struct reader *reader, const char *folder, const char *name)
{
    static uint8_t room[MAX_BYTES];
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    size_t size = fread(room, 1, sizeof room, file);
    fclose(file);
    /* The room is as large as the content, so that a read behind it is found. */
    uint8_t *data = malloc(size + (size == 0));
    for (size_t i = 0; data != NULL && i < size; i++)
        data[i] = room[i];
    if (data != NULL)
        reader->read(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    FILE *told = stdout;
    int n = 0;
    const struct reader *reader = argc == 3 ? readers_choose(argv[1]) : NULL;
    DIR *directory = reader != NULL ? opendir(argv[2]) : NULL;
    if (directory == NULL) {
        fputs("usage: replay READER FOLDER\n", told);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            n += replay(reader, argv[2], entry->d_name);
    closedir(directory);
    fprintf(told, "%s: %d inputs read\n", reader->name, n);
    return n > 0 ? 0 : 1;
}
