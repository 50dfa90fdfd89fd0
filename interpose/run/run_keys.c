/* One script may start several jobs, whose spools lie in one folder. A key stands in the header of every spool, with
 * the time at which its run started. */
#include "interpose/run/run_keys.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/run/spool_folder.h"
#include "share/base/array.h"

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
        struct spool_header header;
        struct run_key key;
        if (!spool_folder_read_header(folder, entry->d_name, &header) || header.run_key[0] == '\0' ||
            memchr(header.run_key, '\0', sizeof header.run_key) == NULL)
            continue;
        key = (struct run_key){.started_unix_ns = header.started_unix_ns};
        strcpy(key.text, header.run_key);
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
    for (size_t i = 0; i < keys->n; i++)
        free(keys->keys[i].trace);
    free(keys->keys);
    *keys = (struct run_keys){0};
}
