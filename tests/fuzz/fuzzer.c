/* Holds libFuzzer's entry points: the reader's name stands in the environment, as FUZZ_READER.
 *
 * Most of a reader's time is the libraries', which no sanitizer watches. So SQLite gets its memory past
 * AddressSanitizer, and what it did not give back is counted here; hwloc looks for no plugins. */
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_readers.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* These are names for glibc's own functions. */
void *__libc_malloc(size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

enum { SIZE_BYTES = 16 };

static const struct reader *chosen;
static atomic_long pieces;

/* Each piece of SQLite's memory has its size in front. */
static void *with_size(char *memory, int bytes)
{
    if (memory == NULL)
        return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    return memory + SIZE_BYTES;
}

static void *take(int bytes)
{
    pieces++;
    return with_size(__libc_malloc((size_t)bytes + SIZE_BYTES), bytes);
}

static void *resize(void *memory, int bytes)
{
    return with_size(__libc_realloc((char *)memory - SIZE_BYTES, (size_t)bytes + SIZE_BYTES), bytes);
}

static void give_back(void *memory)
{
    pieces--;
    __libc_free((char *)memory - SIZE_BYTES);
}

static int size_of(void *memory)
{
    int bytes;
    memcpy(&bytes, (char *)memory - SIZE_BYTES, sizeof bytes);
    return bytes;
}

static int round_up(int bytes)
{
    return (bytes + 7) & ~7;
}

static int nothing_to_begin(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void nothing(void *context)
{
    (void)context;
}

/* A forked child that ends early is no finding: ingest forks to see whether hwloc survives a file. */
static void keep_no_input(void)
{
    __sanitizer_set_death_callback(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static sqlite3_mem_methods memory = {take, give_back, resize, size_of, round_up, nothing_to_begin, nothing, NULL};
    (void)argc, (void)argv;
    FILE *told = stderr;
    chosen = readers_choose(getenv("FUZZ_READER"));
    if (chosen == NULL) {
        fputs("fuzz: expected the name of a reader in the environment's FUZZ_READER:", told);
        for (const struct reader *reader = readers; reader->name != NULL; reader++)
            fprintf(told, " %s", reader->name);
        fputc('\n', told);
        exit(2);
    }
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    pthread_atfork(NULL, NULL, keep_no_input);
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chosen->read(data, size);
    if (pieces != 0)
        abort();
    return 0;
}
