/* Runs `mpistair ingest`: reads its options and the placement; the work is done in trace/ingest.c. */
#include "share/base/command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/error.h"
#include "interpose/trace/ingest.h"
#include "share/base/placement.h"

static const char usage[] =
    "usage: mpistair ingest SPOOLDIR... [-o trace.db] [--placement L.csv] [--run KEY] [--no-calls] [--quiet]\n"
    "\n"
    "Reads the spools (*.mpispool) of a recorded job, also of one that was killed, matches sends and receives, finds\n"
    "rounds, and writes one SQLite file.\n"
    "\n"
    "  -o, --output FILE    default mpistair-<run>.db in the working directory; replaced only when complete\n"
    "  --placement L.csv    node and socket of each rank (rank,node,socket) instead of where they were seen;\n"
    "                       default: the environment's MPISTAIR_PLACEMENT\n"
    "  --run KEY            which run, where the folders hold several\n"
    "  --no-calls           leave the table `call` empty: a smaller file\n"
    "  --quiet              no summary on standard error\n";

int cmd_ingest(int argc, char **argv)
{
    enum { OPTION_PLACEMENT = 256, OPTION_RUN, OPTION_NO_CALLS, OPTION_QUIET };
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"placement", required_argument, NULL, OPTION_PLACEMENT},
        {"run", required_argument, NULL, OPTION_RUN},
        {"no-calls", no_argument, NULL, OPTION_NO_CALLS},
        {"quiet", no_argument, NULL, OPTION_QUIET},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct ingest_options options = {.calls = true};
    const char *placement_path = getenv("MPISTAIR_PLACEMENT");
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1;) {
        switch (option) {
        case 'o':
            options.output = optarg;
            break;
        case OPTION_PLACEMENT:
            placement_path = optarg;
            break;
        case OPTION_RUN:
            options.run_key = optarg;
            break;
        case OPTION_NO_CALLS:
            options.calls = false;
            break;
        case OPTION_QUIET:
            options.quiet = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_DONE;
        default:
            return wrong_usage("ingest", "see the option above");
        }
    }
    if (optind >= argc)
        return wrong_usage("ingest", "no folder of spools was given");
    if (options.output != NULL && (options.output[0] == '\0' || strcmp(options.output, "-") == 0))
        return wrong_usage("ingest", "-o: expected the name of a file, a database is not written to standard output");
    options.folders = argv + optind;
    options.n_folders = (size_t)(argc - optind);
    struct placement placement = {0};
    struct error error;
    int result = 0;
    if (placement_path != NULL && placement_path[0] != '\0') {
        result = placement_read_csv(placement_path, &placement, &error);
        options.placement = &placement;
    }
    if (result == 0)
        result = ingest(&options, &error);
    placement_release(&placement);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
