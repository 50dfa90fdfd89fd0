/* Leads a run through all passes from the spools to trace.db (state/trace.h lists them), and prints what the
 * trace lacks, since a trace with gaps looks like a whole one. */
#include "interpose/trace/ingest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/gather/nodes.h"
#include "share/base/memory.h"
#include "share/base/progress.h"
#include "share/base/side_by_side.h"
#include "interpose/trace/site/symbols.h"
#include "interpose/trace/clock/clock_align.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/gather/place.h"
#include "interpose/trace/gather/spools.h"
#include "interpose/trace/write/write.h"

/* The most ranges of ranks, and the most modules, that are named. */
enum { RANKS_PRINTED = 12, MODULES_PRINTED = 4 };

static void print_lost_ranks(const struct trace *trace)
{
    if (trace->n_spools >= (size_t)trace->world_size)
        return;
    fprintf(stderr,
            "mpistair: INCOMPLETE: only %zu of %d ranks left a spool that can be read; messages from and to the others "
            "are missing. Lost ranks:",
            trace->n_spools, trace->world_size);
    int n_printed = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        if (trace->processes[rank].spool != NULL)
            continue;
        int32_t last = rank;
        while (last + 1 < trace->world_size && trace->processes[last + 1].spool == NULL)
            last++;
        if (n_printed++ == RANKS_PRINTED) {
            fputs(" ...", stderr);
            break;
        }
        fprintf(stderr, last > rank ? " %d-%d" : " %d", rank, last);
        rank = last;
    }
    size_t at_once = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++)
        at_once += trace->processes[rank].at_once;
    if (at_once > 0)
        fprintf(stderr, "; %zu of them ended at once, in MPI_Init", at_once);
    if (trace->apart)
        fputs(
            "; the others went on without them, since they had not joined the recording in time, as a process that was "
            "started without the library",
            stderr);
    fputc('\n', stderr);
}

/* Modules whose file is not the one that ran: their call sites are numbers. */
static void print_unnamed_modules(const struct trace *trace)
{
    int n = 0;
    for (size_t i = 0; i < trace->n_modules; i++)
        if (trace->modules[i].reason != NULL && n++ < MODULES_PRINTED)
            fprintf(stderr, "mpistair: call sites of %s have no lines: %s\n", trace->modules[i].path,
                    trace->modules[i].reason);
    if (n > MODULES_PRINTED)
        fprintf(stderr, "mpistair: nor have those of %d other modules; see the table unnamed_module\n",
                n - MODULES_PRINTED);
}

static int build(struct trace *trace, const struct spools *spools, const struct ingest_options *options, size_t jobs,
                 struct error *error)
{
    if (nodes_build(spools, trace, error) != 0)
        return -1;
    bursts_find(trace);
    trace_load(trace, jobs);
    clock_align(trace, jobs);
    if (places_find(trace, options->placement, error) != 0)
        return -1;
    marks_find(trace);
    progress_show("ingest: call sites");
    callsites_resolve(trace);
    return 0;
}

int ingest(const struct ingest_options *options, struct error *error)
{
    struct spools spools = {0};
    struct trace trace = {0};
    struct trace_summary summary;
    size_t jobs = options->jobs > 0 ? options->jobs : usable_processors();
    progress_show("ingest: spools");
    int result = spools_gather(options->folders, options->n_folders, options->run_key, &spools, error);
    if (result != 0)
        return result;
    char *output = options->output != NULL ? xstrdup(options->output)
                                           : xasprintf("mpistair-%s.db", spools.spools[0].header.run_key);
    result = build(&trace, &spools, options, jobs, error);
    if (result != 0)
        goto out;
    if (!options->quiet && !options->is_replacement_known)
        replaced_note(output, "is replaced");
    progress_show("ingest: messages and rounds");
    const struct trace_choice choice = {
        .unfinished = options->unfinished, .jobs = jobs, .shards = options->shards, .calls = options->calls};
    result = trace_write(&trace, output, &choice, &summary, error);
    if (result != 0)
        goto out;
    progress_show(NULL);
    print_lost_ranks(&trace);
    if (!options->quiet)
        print_unnamed_modules(&trace);
    if (!options->quiet)
        inform("%s: %d rank%s, %" PRId64 " operations, %" PRId64 " messages, %" PRId64
               " without a partner, %zu round%s of %zu kind%s; %s",
               output, trace.world_size, trace.world_size == 1 ? "" : "s", summary.posted, summary.messages,
               summary.unmatched, trace.n_rounds, trace.n_rounds == 1 ? "" : "s", trace.n_kinds,
               trace.n_kinds == 1 ? "" : "s", summary.verdict);
    for (size_t i = 0; options->run_done != NULL && i < spools.worlds.n_worlds; i++)
        options->run_done(options->context, spools.worlds.worlds[i].key);
out:
    progress_show(NULL);
    free(output);
    trace_release(&trace);
    spools_release(&spools);
    return result;
}
