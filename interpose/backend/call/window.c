/* Nothing calibrates the clock's ticks while a job runs: when a time comes is estimated from the ticks so far, always a
 * little early, and looked at again. See window.h. */
#include "interpose/backend/call/window.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/backend/site/modules.h"
#include "share/base/settings.h"

enum { LEVEL_OFF = 0, LEVEL_ON = 1 };

static struct {
    int by_marks, has_times; /* neither: all is recorded */
    int from_mark, to_mark;  /* 0: the beginning, the end */
    uint64_t times_ns[2];    /* since the process's start: 0 the beginning; UINT64_MAX: the end */
    int passed;              /* how many of them */
    int closed;              /* recording is outside of the window */
    int program_off;         /* MPI_Pcontrol(0) was called */
} recording_window;

/* Stores a mark, behind which recording is as the window and the program want it. */
static void store_mark(const struct recorded_call *call, int number, unsigned flags)
{
    unsigned off = recording_window.closed || recording_window.program_off ? (unsigned)SPOOL_OFF : 0U;
    struct spool_mark *mark = spool_definition_reserve(&recorder.spool, sizeof *mark);
    __atomic_store_n(&recorder.off, off | (recorder.sums ? RECORDER_SUMS : 0U), __ATOMIC_RELAXED);
    if (!mark)
        return;
    mark->number = number;
    mark->flags = (uint16_t)(flags | off);
    mark->ticks = call->begin_ticks;
    mark->site = call->site;
    spool_definition_publish(&recorder.spool, mark, SPOOL_MARK);
}

void window_mark(const struct recorded_call *call, int number)
{
    if (number == LEVEL_OFF || number == LEVEL_ON)
        recording_window.program_off = number == LEVEL_OFF;
    else if (recording_window.by_marks && recording_window.closed && number == recording_window.from_mark)
        recording_window.closed = 0;
    else if (recording_window.by_marks && !recording_window.closed && number == recording_window.to_mark)
        recording_window.closed = 1;
    store_mark(call, number, 0);
}

/* Returns when to look again, in ticks: not after the next time comes. */
static uint64_t next_look(uint64_t now_ticks, uint64_t passed_ns)
{
    if (!recording_window.has_times || recording_window.passed == 2 ||
        recording_window.times_ns[recording_window.passed] == UINT64_MAX)
        return UINT64_MAX;
    double passed_ticks = (double)(now_ticks - recorder.spool.header->start.ticks);
    double ticks_per_ns = passed_ns > 1000000 ? passed_ticks / (double)passed_ns : 1;
    double left = (double)(recording_window.times_ns[recording_window.passed] - passed_ns) * ticks_per_ns * 0.98;
    if (passed_ns <= 1000000 && left > 1e6)
        left = 1e6;
    return now_ticks + (left < 1e18 ? (uint64_t)left : UINT64_C(1000000000000000000)) + 1000;
}

void window_pass(struct recorded_call *call)
{
    if (modules_settle())
        call->begin_ticks = now_ticks(); /* behind the look, which knows the caller's module */
    uint64_t due = __atomic_load_n(&recorder.window_ticks, __ATOMIC_RELAXED);
    if (!call->thread || due > call->begin_ticks ||
        !__atomic_compare_exchange_n(&recorder.window_ticks, &due, UINT64_MAX, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return; /* another thread looks */
    uint64_t passed_ns = spool_clock_node_ns() - recorder.spool.header->start.monotonic_ns;
    for (; recording_window.has_times && recording_window.passed < 2 &&
           passed_ns >= recording_window.times_ns[recording_window.passed];
         recording_window.passed++) {
        recording_window.closed = recording_window.passed == 1;
        struct recorded_call own = {
            .thread = call->thread, .begin_ticks = call->begin_ticks, .function = call->function};
        store_mark(&own, recording_window.closed ? LEVEL_OFF : LEVEL_ON, SPOOL_BY_WINDOW);
    }
    __atomic_store_n(&recorder.window_ticks, next_look(call->begin_ticks, passed_ns), __ATOMIC_SEQ_CST);
    if (modules_are_awaited())
        __atomic_store_n(&recorder.window_ticks, 0, __ATOMIC_SEQ_CST);
}

/* Reads a time with its unit up to `end`, the one character behind it. Returns what follows, or NULL. */
static const char *parse_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(end, units[i].name, length) != 0 || value * units[i].ns > 1e18)
            continue;
        *ns = (uint64_t)(value * units[i].ns);
        return end + length;
    }
    return NULL;
}

static const char *parse_mark(const char *text, int *mark)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || errno != 0 || value < FIRST_MARK || value > INT_MAX)
        return NULL;
    *mark = (int)value;
    return end;
}

/* Reads the variable. Returns 0, or -1 if it is not understood. */
static int parse(const char *text)
{
    recording_window.by_marks = strncmp(text, "mark ", 5) == 0;
    recording_window.times_ns[1] = UINT64_MAX;
    text += recording_window.by_marks ? 5 : 0;
    int from_start = *text == '-';
    if (!from_start)
        text = recording_window.by_marks ? parse_mark(text, &recording_window.from_mark)
                                         : parse_time(text, &recording_window.times_ns[0]);
    if (!text || *text++ != '-' || (from_start && !*text))
        return -1;
    if (*text)
        text = recording_window.by_marks ? parse_mark(text, &recording_window.to_mark)
                                         : parse_time(text, &recording_window.times_ns[1]);
    return text && !*text && (recording_window.by_marks || recording_window.times_ns[1] > recording_window.times_ns[0])
               ? 0
               : -1;
}

void window_open(int rank, struct recorder_thread *thread)
{
    const char *text = setting("MPISTAIR_WINDOW");
    int saved_errno = errno;
    __atomic_store_n(&recorder.window_ticks, UINT64_MAX, __ATOMIC_RELAXED);
    memset(&recording_window, 0, sizeof recording_window);
    if (text && *text && parse(text) != 0) {
        if (rank == 0)
            fprintf(stderr,
                    "mpistair: MPISTAIR_WINDOW must be FROM-TO, with times such as 10s-1.5m, or mark FROM-TO, with "
                    "numbers of "
                    "MPI_Pcontrol from %d on, not '%s'; recording the whole run\n",
                    FIRST_MARK, text);
        memset(&recording_window, 0, sizeof recording_window);
    } else if (text && *text) {
        recording_window.closed =
            recording_window.by_marks ? recording_window.from_mark != 0 : recording_window.times_ns[0] > 0;
        recording_window.passed = !recording_window.closed;
        uint64_t start_ticks = recorder.spool.header->start.ticks;
        struct recorded_call begin = {.thread = thread, .begin_ticks = start_ticks, .function = FN_Init};
        if (thread && recording_window.closed)
            store_mark(&begin, LEVEL_OFF, SPOOL_BY_WINDOW);
        recording_window.has_times = !recording_window.by_marks;
        if (recording_window.has_times)
            __atomic_store_n(&recorder.window_ticks, start_ticks, __ATOMIC_RELAXED);
    }
    errno = saved_errno;
}
