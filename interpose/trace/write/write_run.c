/* A trace must say by itself what was recorded, where, with which clocks, and what is missing, since the spools may be
 * gone. All that is written here comes from the processes as a whole, not from their operations. */
#include "interpose/trace/write/tables.h"

#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "interpose/spool/error_name.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/site/source_name.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/ranges.h"
#include "interpose/trace/state/trace.h"
#include "share/base/one_of.h"

/* Each process knows only its own command line. Where all are the same, ranks are not listed. Where very many differ,
 * as with a rank's number among the arguments, programs are listed without arguments. */

enum { NAMED = 16 };

/* A command that some ranks ran: its first `length` bytes. */
struct program {
    const char *command;
    size_t length;
    struct ranges ranges;
    bool is_cut; /* arguments are left out */
};

struct programs {
    struct program all[NAMED + 1];
    size_t n; /* NAMED + 1: there are more */
};

/* Returns the command of a rank, "" where it is not known. */
static const char *command_of(const struct trace *trace, int32_t rank)
{
    const struct spool *spool = trace->processes[rank].spool;
    return spool != NULL ? spool->header.command : "";
}

static void add_key(struct programs *programs, const char *command, bool with_arguments, int32_t rank)
{
    size_t length = with_arguments ? strlen(command) : strcspn(command, " "), i = 0;
    while (i < programs->n &&
           (programs->all[i].length != length || memcmp(programs->all[i].command, command, length) != 0))
        i++;
    if (i > NAMED)
        return;
    if (i == programs->n)
        programs->all[programs->n++] = (struct program){.command = command, .length = length};
    programs->all[i].is_cut = programs->all[i].is_cut || command[length] != '\0';
    ranges_add(&programs->all[i].ranges, rank);
}

static void find_programs(const struct trace *trace, struct programs *programs, bool with_arguments)
{
    programs->n = 0;
    for (int32_t rank = 0; rank < trace->world_size && programs->n <= NAMED; rank++)
        if (command_of(trace, rank)[0] != '\0')
            add_key(programs, command_of(trace, rank), with_arguments, rank);
}

/* Writes text[bytes] for the column run.command: the command of all processes, or, where they differ, all of them with
 * their ranks. */
static void programs_describe(const struct trace *trace, char *text, size_t bytes)
{
    struct programs *programs = xmalloc(sizeof *programs);
    size_t used = 0;
    text[0] = '\0';
    find_programs(trace, programs, true);
    if (programs->n > NAMED)
        find_programs(trace, programs, false);
    for (size_t i = 0; i < programs->n && used < bytes; i++) {
        struct program *program = &programs->all[i];
        char *end = text + used;
        size_t room = bytes - used;
        const char *ranks = ranges_text(&program->ranges);
        int written;
        if (i == NAMED)
            written = snprintf(end, room, ", ...");
        else if (programs->n == 1)
            written =
                snprintf(end, room, "%.*s%s", (int)program->length, program->command, program->is_cut ? " ..." : "");
        else
            written =
                snprintf(end, room, "%s%.*s%s (rank%s %s)", i > 0 ? ", " : "", (int)program->length, program->command,
                         program->is_cut ? " ..." : "", ranks[strspn(ranks, "0123456789")] == '\0' ? "" : "s", ranks);
        used += written > 0 ? (size_t)written : 0;
    }
    free(programs);
}

static int write_programs(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "program", 3);
    for (int32_t first = 0; first < trace->world_size;) {
        const char *command = command_of(trace, first);
        int32_t end = first + 1;
        while (end < trace->world_size && strcmp(command_of(trace, end), command) == 0)
            end++;
        if (command[0] != '\0')
            row_insert(&row, "bbt", first, end - 1, command);
        first = end;
    }
    return row_finish(&row);
}

/* Returns the process that came first to the end of MPI_Init, if there is one: others do not know all of the run. */
static const struct trace_process *first_begun(const struct trace *trace)
{
    for (int32_t rank = 0; rank < trace->world_size; rank++)
        if (trace->processes[rank].spool != NULL && trace->processes[rank].spool->header.library[0] != '\0')
            return &trace->processes[rank];
    return trace_first_process(trace);
}

/* Returns the mean of the processes that measured it; NaN if none did. */
static double own_cost_ns(const struct trace *trace)
{
    double sum_ps = 0;
    int n = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct spool *spool = trace->processes[rank].spool;
        if (spool == NULL || spool->header.own_cost_ps == 0)
            continue;
        sum_ps += (double)spool->header.own_cost_ps;
        n++;
    }
    return n == 0 ? (double)NAN : sum_ps / n * 1e-3;
}

static int write_run_row(const struct trace *trace, sqlite3 *database)
{
    static const char *const families[] = {"unknown", "MPICH", "Open MPI"};
    static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                         "MPI_THREAD_MULTIPLE"};
    const struct trace_process *first = first_begun(trace);
    const struct spool_header *header = &first->spool->header;
    /* The wall clock of one process is brought back to the run's start: those of other hosts may differ. */
    uint64_t began_ns = (uint64_t)first->begin_ns;
    uint64_t started_unix_ns = header->started_unix_ns > began_ns ? header->started_unix_ns - began_ns : 0;
    char library[sizeof header->library];
    snprintf(library, sizeof library, "%.*s", (int)strcspn(header->library, "\r\n"), header->library);
    int64_t eager_bytes[2];
    trace_eager_limits(trace, eager_bytes);
    char programs[4096];
    programs_describe(trace, programs, sizeof programs);
    bool level_known = header->thread_level >= 0 && header->thread_level <= 3;
    struct row row = row_prepare(database, "run", 16);
    row_insert(&row, "bttiittttbioodtt", 1, header->run_key, MPISTAIR_VERSION, started_unix_ns, trace->duration_ns,
               header->family <= SPOOL_FAMILY_OPENMPI ? families[header->family] : families[0], library,
               level_known ? levels[header->thread_level] : "unknown", programs, trace->world_size, trace->n_spools,
               eager_bytes[0], eager_bytes[1], own_cost_ns(trace),
               header->started_by < FN_COUNT ? function_name((uint16_t)header->started_by) : NULL,
               header->only_totals     ? "none"
               : trace->bursts.thinned ? "bursts"
                                       : "all");
    return row_finish(&row);
}

/* Writes one row a node: a host, or with a placement by hand what that calls a node. clock is the one of the host of
 * its first process. */
static int write_nodes(const struct trace *trace, sqlite3 *database)
{
    struct map seen = {0};
    struct row nodes = row_prepare(database, "node", 7), clocks = row_prepare(database, "clock", 5);
    const struct trace_node *root = &trace->nodes[trace_first_process(trace)->node];
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        if (process->placed == TRACE_NONE)
            continue;
        uint32_t *known = map_at(&seen, (struct map_key){process->placed, 0, 0});
        if (*known != MAP_ABSENT)
            continue;
        *known = 1;
        const struct trace_node *node = process->node == TRACE_NONE ? NULL : &trace->nodes[process->node];
        int32_t sockets = node != NULL && node->n_sockets > 0 ? node->n_sockets : -1;
        int32_t cores = node != NULL && node->n_cores > 0 ? node->n_cores : -1;
        if (process->by_hand) {
            sockets = cores = -1;
            for (int32_t other = rank; other < trace->world_size; other++)
                if (trace->processes[other].placed == process->placed &&
                    trace->processes[other].place.socket >= sockets)
                    sockets = trace->processes[other].place.socket + 1;
        }
        int64_t id = process->placed;
        bool observed = node != NULL && !process->by_hand;
        row_insert(&nodes, "itnntnn", id, node != NULL ? node->host : "", sockets, cores,
                   observed ? node->topology : NULL, observed ? (int32_t)node->machine : -1,
                   observed && node->n_processors > 0 ? node->n_processors : -1);
        if (node == NULL)
            continue;
        if (node == root)
            row_insert(&clocks, "ibbbt", id, 0, 0, 0, "reference");
        static const char *const sources[2] = {"init", "finalize"};
        for (int i = 0; i < 2 && node != root; i++) {
            if (node->links_ns[i] == TRACE_NO_TIME)
                continue;
            int64_t at_ns = clock_run_ns(node, node->links_ns[i]);
            row_insert(&clocks, "iiiit", id, at_ns, at_ns - node->links_ns[i] - root->offset_ns - node->shift_ns,
                       node->rtt_ns[i] / 2, sources[i]);
        }
        if (node->shift_ns != 0)
            row_insert(&clocks, "ibiit", id, 0, node->offset_ns - root->offset_ns,
                       node->uncertainty_ns >= 0 ? node->uncertainty_ns : llabs(node->shift_ns), "messages");
    }
    map_release(&seen);
    return row_finish(&nodes) | row_finish(&clocks);
}

/* What a process had of its processor between the two readings; all are TRACE_NO_TIME where that is not known, as
 * for a process that was killed. */
struct processor_share {
    int64_t observed_ns, run_ns, wait_ns, switches;
};

/* Returns the growth of a counter that cannot be larger than `most`; a larger one is damage. */
static int64_t growth(uint64_t begin, uint64_t end, uint64_t most)
{
    return end >= begin && end - begin <= most ? (int64_t)(end - begin) : TRACE_NO_TIME;
}

static struct processor_share processor_share(const struct spool *spool)
{
    struct processor_share share = {TRACE_NO_TIME, TRACE_NO_TIME, TRACE_NO_TIME, TRACE_NO_TIME};
    if (spool == NULL || spool->header.use_init.at_ns == 0 || spool->header.use_finalize.at_ns == 0)
        return share;
    const struct spool_processor_use *begin = &spool->header.use_init, *end = &spool->header.use_finalize;
    share.observed_ns = growth(begin->at_ns, end->at_ns, INT64_MAX);
    if (share.observed_ns == TRACE_NO_TIME)
        return share;
    share.run_ns = growth(begin->run_ns, end->run_ns, INT64_MAX);
    if (begin->wait_ns != SPOOL_NOT_KNOWN && end->wait_ns != SPOOL_NOT_KNOWN)
        share.wait_ns = growth(begin->wait_ns, end->wait_ns, end->at_ns - begin->at_ns);
    share.switches = growth(begin->involuntary_switches, end->involuntary_switches, INT64_MAX);
    return share;
}

/* Returns the column `launched`; see schema.sql. */
static int64_t launched(const struct trace *trace, const struct spool *spool)
{
    bool is_alone = spool != NULL && trace->world_size == 1 && spool->header.parents == 0;
    return is_alone && spool->header.launched > 1 ? spool->header.launched : TRACE_NO_TIME;
}

static int write_processes(const struct trace *trace, sqlite3 *database)
{
    static const char *const ends[] = {"killed", "finalize", "abort", "exit"};
    struct row row = row_prepare(database, "process", 19);
    const struct world *worlds = trace->worlds->worlds;
    int64_t world = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        const struct trace_place *place = &process->place;
        const struct spool *spool = process->spool;
        const char *ended = spool == NULL ? (process->at_once ? "at once" : "lost")
                                          : ends[spool->header.end <= SPOOL_END_EXIT ? spool->header.end : 0];
        if ((size_t)world + 1 < trace->worlds->n_worlds && rank == worlds[world + 1].first)
            world++;
        const struct processor_share share = processor_share(spool);
        row_insert(&row, "bunnnnottooibooooon", rank, process->placed, place->socket, place->numa, place->l3,
                   place->core, spool == NULL ? TRACE_NO_TIME : (int64_t)spool->header.pid,
                   process->by_hand     ? "placement"
                   : place->socket >= 0 ? "observed"
                                        : NULL,
                   ended, spool == NULL ? TRACE_NO_TIME : process->begin_ns,
                   spool == NULL ? TRACE_NO_TIME : process->end_ns, world, rank - worlds[world].first,
                   share.observed_ns, share.run_ns, share.wait_ns, share.switches, launched(trace, spool),
                   process->processor);
    }
    return row_finish(&row);
}

static int write_communicators(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "communicator", 7);
    struct row member = row_prepare(database, "communicator_member", 3);
    for (uint32_t i = 0; i < trace->n_communicators; i++) {
        const struct trace_communicator *communicator = &trace->communicators[i];
        if (!communicator->used)
            continue;
        row_insert(&row, "ututbub", i, communicator->name, communicator->parent,
                   communicator->made ? function_name(communicator->function) : NULL, communicator->size,
                   communicator->remote, communicator->known);
        for (int32_t rank = 0; rank < communicator->size; rank++)
            if (communicator->members[rank] >= 0)
                row_insert(&member, "ubb", i, rank, communicator->members[rank]);
    }
    return row_finish(&row) | row_finish(&member);
}

/* Writes a row of the table frame, nothing for a function without a name. */
static void write_frame(struct row *row, uint32_t callsite, size_t depth, const struct trace_frame *frame)
{
    if (frame->function == NULL)
        return;
    char *name = short_name(frame->function);
    row_insert(row, "uitttn", callsite, depth, name, frame->function, frame->file, frame->line > 0 ? frame->line : -1);
    free(name);
}

static int write_callsites(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "callsite", 7), frame = row_prepare(database, "frame", 6);
    for (uint32_t i = 0; i < trace->n_callsites; i++) {
        const struct trace_callsite *callsite = &trace->callsites[i];
        const struct trace_module *module = &trace->modules[callsite->module];
        row_insert(&row, "utitttn", i, module->path, callsite->offset, module->build_id, callsite->function,
                   callsite->file, callsite->line > 0 ? callsite->line : -1);
        write_frame(&frame, i, 0, &(struct trace_frame){callsite->function, callsite->file, callsite->line});
        for (size_t k = 0; k < callsite->n_callers; k++)
            write_frame(&frame, i, k + 1, &callsite->callers[k]);
    }
    return row_finish(&row) | row_finish(&frame);
}

/* Writes the modules whose call sites could not be named, and why. */
static int write_unnamed(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "unnamed_module", 4);
    size_t *n = xcalloc(trace->n_modules, sizeof *n);
    for (size_t i = 0; i < trace->n_callsites; i++)
        n[trace->callsites[i].module]++;
    for (size_t i = 0; i < trace->n_modules; i++)
        if (n[i] > 0 && trace->modules[i].reason != NULL)
            row_insert(&row, "ttit", trace->modules[i].path, trace->modules[i].build_id, n[i],
                       trace->modules[i].reason);
    free(n);
    return row_finish(&row);
}

/* True if the trace may lack a message, a completion or a communicator because calls of the family were passed
 * through. For families that are recorded few calls pass: a function that the backend does not know, MPI_Session_init
 * after the spool was closed. */
static bool may_carry_messages(uint16_t function)
{
    return !function_is_of_file(function) && !function_is_one_sided(function) &&
           !IS_ONE_OF(function_family(function), FAMILY_COUNTED, FAMILY_LOCAL, FAMILY_COLLECTIVE, FAMILY_ICOLLECTIVE,
                      FAMILY_COLLECTIVE_INIT, FAMILY_PROBE, FAMILY_IPROBE);
}

/* Takes a count so that all that is written adds up to an integer of SQL: counters of a damaged header may be anything.
 */
static int64_t take_count(int64_t *left, uint64_t count)
{
    int64_t taken = count > (uint64_t)*left ? *left : (int64_t)count;
    *left -= taken;
    return taken;
}

/* Writes the cause of records for which the system refused room, as refused_EPERM. */
static void name_refused(char *cause, size_t size, uint32_t error)
{
    static const char word[] = "refused_";
    snprintf(cause, size, "%.*s", error == 0 ? (int)sizeof word - 2 : (int)sizeof word - 1, word);
    if (error != 0)
        error_name(cause + strlen(cause), size - strlen(cause), error);
}

/* Writes when recording stopped before its process ended. */
static int write_stops(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "not_recorded", 3);
    for (int64_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        if (process->spool == NULL || process->stopped_ns == TRACE_NO_TIME)
            continue;
        int64_t stopped_ns = clock_run_ns(&trace->nodes[process->node], process->stopped_ns);
        stopped_ns = stopped_ns < process->begin_ns ? process->begin_ns : stopped_ns;
        if (stopped_ns < process->end_ns)
            row_insert(&row, "iii", rank, stopped_ns, process->end_ns);
    }
    return row_finish(&row);
}

static int write_missing(const struct trace *trace, sqlite3 *database)
{
    const char *causes[SPOOL_LOSS_COUNT] = {"disk", "limit", "memory", "closed", "file_size", "address_space"};
    char refused[32];
    causes[SPOOL_LOSS_REFUSED] = refused;
    int64_t left = INT64_MAX;
    struct row loss = row_prepare(database, "loss", 3), untracked = row_prepare(database, "untracked", 4);
    for (int64_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        const struct spool *spool = process->spool;
        if (spool == NULL) {
            row_insert(&loss, "itb", rank, process->at_once ? "at_once" : trace->apart ? "not_joined" : "no_spool", 1);
            continue;
        }
        name_refused(refused, sizeof refused, spool->header.refused_error);
        for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
            if (causes[i] != NULL && spool->header.lost[i] > 0)
                row_insert(&loss, "iti", rank, causes[i], take_count(&left, spool->header.lost[i]));
        if (spool->cut_off > 0)
            row_insert(&loss, "iti", rank, "cut_off", take_count(&left, spool->cut_off));
        if (process->damaged > 0)
            row_insert(&loss, "iti", rank, "damaged", take_count(&left, process->damaged));
        for (uint16_t i = 0; i < FN_COUNT; i++)
            if (spool->header.calls[i] > 0)
                row_insert(&untracked, "itib", rank, function_name(i), take_count(&left, spool->header.calls[i]),
                           may_carry_messages(i));
    }
    return row_finish(&loss) | row_finish(&untracked);
}

int write_run(const struct trace *trace, sqlite3 *database)
{
    if (write_run_row(trace, database) != 0 || write_programs(trace, database) != 0 ||
        write_nodes(trace, database) != 0 || write_processes(trace, database) != 0 ||
        write_communicators(trace, database) != 0 || write_callsites(trace, database) != 0 ||
        write_unnamed(trace, database) != 0 || write_stops(trace, database) != 0)
        return -1;
    return write_missing(trace, database);
}
