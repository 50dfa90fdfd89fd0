/* Levels and cuts only grow, and a process at a higher level keeps a part of what those at a lower one keep. So what
 * all have are the bursts of the highest level, with the strongest cut, and their margins. Three quarters of a margin
 * belong to a burst here; the rest is for the error of clocks. */
#include "interpose/trace/gather/bursts.h"

#include "interpose/database/row.h"
#include "interpose/trace/gather/nodes.h"
#include "share/base/order.h"

/* Beyond these a header is damaged: bursts would be ages apart, or shorter than a call. */
enum { LEVEL_MOST = 30, CUT_MOST = 20 };
/* No more bursts become rows. */
enum { BURSTS_WRITTEN = 1 << 20 };

void bursts_find(struct trace *trace)
{
    struct trace_bursts *bursts = &trace->bursts;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct spool *spool = trace->processes[rank].spool;
        if (spool == NULL)
            continue;
        uint32_t level = spool->header.burst_level, cut = spool->header.burst_cut;
        level = level < LEVEL_MOST ? level : LEVEL_MOST;
        cut = cut < CUT_MOST ? cut : CUT_MOST;
        bursts->level = level > bursts->level ? level : bursts->level;
        bursts->cut = cut > bursts->cut ? cut : bursts->cut;
        bursts->thinned = bursts->thinned || level > 0 || cut > 0 || spool->header.folded_chunks > 0;
    }
}

/* Returns by how much the clock of bursts is ahead of that of the process's node. */
static int64_t burst_offset(const struct trace_process *process)
{
    int64_t offset = process->spool->header.burst_offset_ns, most = INT64_C(1) << 61;
    return offset > most || offset < -most ? 0 : offset;
}

static int64_t period_ns(const struct trace *trace)
{
    return SPOOL_BURST_NS << trace->bursts.level;
}

static int64_t length_ns(const struct trace *trace)
{
    return SPOOL_BURST_NS >> trace->bursts.cut;
}

/* Returns how far a burst reaches beyond what the recorder counts as its own, to both sides. */
static int64_t beyond_ns(const struct trace *trace)
{
    int64_t margin = length_ns(trace) < SPOOL_BURST_MARGIN_NS ? length_ns(trace) : SPOOL_BURST_MARGIN_NS;
    return trace->bursts.level == 0 && trace->bursts.cut == 0 ? 0 : margin - margin / 4;
}

int64_t burst_place(const struct trace *trace, const struct trace_process *process, int64_t node_ns)
{
    int64_t beyond = beyond_ns(trace), period = period_ns(trace);
    int64_t at = node_ns + burst_offset(process) + beyond;
    int64_t number = at / period - (at % period < 0);
    return 2 * number + (at - number * period < length_ns(trace) + 2 * beyond ? 1 : 2);
}

static int64_t burst_begin_ns(const struct trace *trace, const struct trace_process *process, int64_t place)
{
    return (place - 1) / 2 * period_ns(trace) - beyond_ns(trace) - burst_offset(process);
}

int64_t burst_end_ns(const struct trace *trace, const struct trace_process *process, int64_t place)
{
    return burst_begin_ns(trace, process, place) + length_ns(trace) + 2 * beyond_ns(trace);
}

bool gaps_between(const struct spool_gap *gaps, size_t n_gaps, uint32_t lane, uint32_t first, uint32_t end_sequence,
                  size_t *begin, size_t *end)
{
    size_t at = 0;
    FIRST_BEYOND(at, n_gaps, gaps[at].lane < lane || (gaps[at].lane == lane && gaps[at].first_sequence < first));
    uint32_t next = first;
    for (*begin = *end = at; *end < n_gaps; next = gaps[(*end)++].last_sequence + 1)
        if (gaps[*end].lane != lane || gaps[*end].first_sequence != next || gaps[*end].last_sequence >= end_sequence)
            break;
    if (end_sequence == UINT32_MAX)
        return *end == n_gaps || gaps[*end].lane != lane;
    return next == end_sequence;
}

int bursts_write(const struct trace *trace, sqlite3 *database)
{
    if (!trace->bursts.thinned)
        return 0;
    struct row row = row_prepare(database, "burst", 2);
    const struct trace_process *process = trace_first_process(trace);
    const struct trace_node *node = &trace->nodes[process->node];
    /* From the first burst that may touch the run: a drift moves times by less than a period and a second. */
    int64_t first_ns = -node->offset_ns - period_ns(trace) - INT64_C(1000000000);
    int64_t place = burst_place(trace, process, first_ns) | 1;
    for (int n = 0; n < BURSTS_WRITTEN; place += 2) {
        int64_t begin_ns = clock_run_ns(node, burst_begin_ns(trace, process, place));
        int64_t end_ns = clock_run_ns(node, burst_end_ns(trace, process, place));
        if (begin_ns >= trace->duration_ns)
            break;
        if (end_ns <= 0)
            continue;
        row_insert(&row, "ii", begin_ns > 0 ? begin_ns : (int64_t)0,
                   end_ns < trace->duration_ns ? end_ns : trace->duration_ns);
        n++;
    }
    return row_finish(&row);
}
