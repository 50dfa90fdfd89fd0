/* libFuzzer's entry points: the reader's name stands in the environment, as FUZZ_READER. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_readers.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct reader *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
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
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chosen->read(data, size);
    return 0;
}
