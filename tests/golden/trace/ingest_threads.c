/* Ingest alone, for a build under ThreadSanitizer.
 *
 * usage: ingest_threads FOLDER TRACE.DB JOBS [SHARDS] */
#include <stdio.h>
#include <stdlib.h>

#include "interpose/trace/ingest.h"

int main(int argc, char **argv)
{
    struct error error = {.text = ""};
    if (argc != 4 && argc != 5)
        return 2;
    struct ingest_options options = {.folders = argv + 1,
                                     .n_folders = 1,
                                     .output = argv[2],
                                     .jobs = (size_t)strtoul(argv[3], NULL, 10),
                                     .shards = argc == 5 ? (size_t)strtoul(argv[4], NULL, 10) : 0,
                                     .calls = true,
                                     .quiet = true};
    if (ingest(&options, &error) == 0)
        return 0;
    fprintf(stderr, "%s\n", error.text);
    return 1;
}
