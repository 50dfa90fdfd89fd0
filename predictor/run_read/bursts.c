/* Reads which parts of the run have rows of single calls and messages, and puts them one behind the other. */
#include <math.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Checks that there are such rows at all. */
static int check_detail(struct reading *reading)
{
    int64_t none;
    if (cursor_numbers(reading->database, reading->path, "SELECT detail = 'none' FROM run", &none, 1, reading->error) !=
        0)
        return -1;
    return none == 0
               ? 0
               : error_set(reading->error,
                           "%s: no single calls and messages were recorded (run.detail is none), so that there is "
                           "nothing to replay: record the job without --sums",
                           reading->path);
}

static int add_burst(void *context, struct cursor *rows)
{
    struct reading *reading = context;
    struct read_burst burst = {0};
    int64_t after_ns = reading->n_bursts > 0 ? reading->bursts[reading->n_bursts - 1].end_ns : INT64_MIN;
    if (row_read(reading, rows, "burst", "tt", &burst.begin_ns, &burst.end_ns) != 0)
        return -1;
    if (burst.begin_ns == NO_TIME || burst.end_ns < burst.begin_ns || burst.begin_ns < after_ns)
        return error_set(reading->error, "%s: burst: from %lld to %lld ns, behind one to %lld ns", reading->path,
                         (long long)burst.begin_ns, (long long)burst.end_ns, (long long)after_ns);
    ARRAY_ADD(reading->bursts, reading->n_bursts, burst);
    return 0;
}

int bursts_read(struct reading *reading)
{
    if (check_detail(reading) != 0 ||
        rows_read(reading, "SELECT begin_ns, end_ns FROM burst ORDER BY begin_ns", add_burst, reading) != 0)
        return -1;
    reading->is_whole = reading->n_bursts == 0;
    if (reading->is_whole)
        ARRAY_ADD(reading->bursts, reading->n_bursts, (struct read_burst){.begin_ns = NO_TIME, .end_ns = NO_TIME});
    return 0;
}

void bursts_join(struct reading *reading)
{
    struct run_program *program = reading->program;
    double sum_s = 0;
    int64_t run_begin_ns = INT64_MAX, run_end_ns = INT64_MIN;
    if (!reading->is_whole) {
        program->n_bursts = reading->n_bursts;
        program->burst_s = xmalloc((reading->n_bursts + 1) * sizeof *program->burst_s);
    }
    for (size_t b = 0; b < reading->n_bursts; b++) {
        int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
        for (size_t rank = 0; rank < program->n_ranks; rank++) {
            const struct read_span *span = &reading->ranks[rank].spans[b];
            begin_ns = span->from_ns < begin_ns ? span->from_ns : begin_ns;
            end_ns = span->to_ns > end_ns ? span->to_ns : end_ns;
        }
        reading->bursts[b].shift_ns = reading->is_whole ? reading->origin_ns : begin_ns - (int64_t)llround(sum_s * 1e9);
        if (!reading->is_whole)
            program->burst_s[b] = sum_s;
        else
            program->measured_begin_s = reading_seconds(begin_ns - reading->origin_ns);
        sum_s += reading_seconds(end_ns - begin_ns);
    }
    program->measured_run_s = sum_s;
    if (reading->is_whole)
        return;
    program->burst_s[reading->n_bursts] = sum_s;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        const struct read_rank *r = &reading->ranks[rank];
        run_begin_ns = r->begin_ns < run_begin_ns ? r->begin_ns : run_begin_ns;
        run_end_ns = r->end_ns > run_end_ns ? r->end_ns : run_end_ns;
    }
    program->burst_share = run_end_ns > run_begin_ns ? sum_s / reading_seconds(run_end_ns - run_begin_ns) : 0;
}
