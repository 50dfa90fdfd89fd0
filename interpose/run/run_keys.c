/* One script may start several jobs, whose spools lie in one folder. A key stands in the header of every spool, with
 * the time at which its run started. */
#include "interpose/run/run_keys.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"

/* Reads the key of one spool. Returns 0, or -1 where the file is none. */
static int read_key(const char *folder, const char *name, struct run_key *key)
{
    char path[4096];
    struct spool_header header;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -1;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    size_t got = fread(&header, sizeof header, 1, file);
    fclose(file);
    if (got != 1 || header.magic != SPOOL_MAGIC || header.run_key[0] == '\0' ||
        memchr(header.run_key, '\0', sizeof header.run_key) == NULL)
        return -1;
    *key = (struct run_key){.started_unix_ns = header.started_unix_ns};
    strcpy(key->text, header.run_key);
    return 0;
}

/* Adds a key in the order of the starts. */
static void add(struct run_keys *keys, const struct run_key *key)
{
    size_t place = keys->n;
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].text, key->text) == 0)
            return;
    array_grow(&keys->keys, keys->n, sizeof *keys->keys);
    for (; place > 0 && keys->keys[place - 1].started_unix_ns > key->started_unix_ns; place--)
        keys->keys[place] = keys->keys[place - 1];
    keys->keys[place] = *key;
    keys->n++;
}

void run_keys_add(struct run_keys *keys, const char *folder)
{
    DIR *stream = opendir(folder);
    if (stream == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        struct run_key key;
        const char *suffix = strstr(entry->d_name, SPOOL_SUFFIX);
        if (suffix != NULL && strcmp(suffix, SPOOL_SUFFIX) == 0 && read_key(folder, entry->d_name, &key) == 0)
            add(keys, &key);
    }
    closedir(stream);
}

void run_keys_done(void *context, const char *key)
{
    struct run_keys *keys = context;
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].text, key) == 0)
            keys->keys[i].is_done = true;
}

void run_keys_release(struct run_keys *keys)
{
    free(keys->keys);
    *keys = (struct run_keys){0};
}
