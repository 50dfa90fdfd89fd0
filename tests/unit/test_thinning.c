/* Tests what the recorder does where room gets short: whatever is stored in a few chunks, and whenever the process is
 * killed, the totals of the area and the records that are left are all that was ever stored, gaps are counted right for
 * matching, and the bursts that should stay are there.
 *
 * The clock is the test's own, so that a run of hours takes a moment. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/functions.h"
#include "interpose/spool/clock.h"
#include "interpose/spool/reader.h"
#include "interpose/spool/writer.h"

#include <cmocka.h> /* behind error.h, whose function has the name of a macro in here */

static uint64_t test_ns;

struct spool_clock_pair spool_clock_pair(enum spool_clock_source source)
{
    (void)source;
    return (struct spool_clock_pair){test_ns, test_ns};
}

size_t spool_read_text(const char *name, char *text, size_t size)
{
    (void)name, (void)size;
    *text = '\0';
    return 0;
}

static char own_folder[] = "/tmp/mpistair-thinning-XXXXXX";
static char own_path[128];
static uint64_t random_state;

static uint64_t below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

enum { LANES = 3, OPEN = 40, RECORD_BYTES = 64 };

/* A record as it is in the end. */
struct stored {
    uint32_t lane, sequence;
    uint64_t ticks;
    uint8_t bytes[RECORD_BYTES];
};

struct model {
    struct stored *stored; /* [n] */
    size_t n, room;
    struct {
        void *record;
        size_t stored;
    } open[OPEN]; /* [n_open] */
    size_t n_open;
};

static void note(struct model *model, const struct spool_lane *lane, void *record, size_t bytes, int is_open)
{
    if (model->n == model->room) {
        model->room = model->room > 0 ? 2 * model->room : 1024;
        model->stored = realloc(model->stored, model->room * sizeof *model->stored);
        assert_non_null(model->stored);
    }
    struct stored *stored = &model->stored[model->n];
    *stored = (struct stored){.lane = lane->number, .sequence = lane->sequence - 1, .ticks = test_ns};
    memcpy(stored->bytes, record, bytes);
    if (is_open) {
        model->open[model->n_open].record = record;
        model->open[model->n_open++].stored = model->n;
    }
    model->n++;
}

/* Completes one of the open records. */
static void complete(struct model *model)
{
    size_t i = below(model->n_open);
    struct spool_operation *operation = model->open[i].record;
    if (operation->flags & SPOOL_ANY_SOURCE)
        operation->peer = (int32_t)below(4);
    __atomic_store_n(&operation->complete_ticks, test_ns, __ATOMIC_RELEASE);
    memcpy(model->stored[model->open[i].stored].bytes, operation, sizeof *operation);
    model->open[i] = model->open[--model->n_open];
}

static void store_operation(struct model *model, struct spool_lane *lane, int is_open)
{
    struct spool_operation *operation = spool_lane_reserve(lane, sizeof *operation);
    assert_non_null(operation);
    operation->direction = below(2) & 1U;
    operation->function = operation->direction == SPOOL_RECEIVE ? FN_Irecv : FN_Isend;
    operation->communicator = (uint32_t)below(3);
    operation->peer = below(20) == 0 ? SPOOL_PROC_NULL : (int32_t)below(4);
    operation->tag = (int32_t)below(2);
    operation->bytes = UINT64_C(1) << below(20);
    operation->site = below(4);
    operation->post_ticks = test_ns;
    operation->call_ticks = (uint32_t)below(1000);
    operation->flags = below(50) == 0 ? SPOOL_FAILED : below(50) == 0 ? SPOOL_CANCELLED : 0;
    operation->complete_ticks = is_open ? 0 : test_ns + 1;
    if (is_open && below(2)) {
        operation->flags = SPOOL_ANY_SOURCE;
        operation->peer = SPOOL_ANY;
    }
    spool_record_publish(operation, SPOOL_OPERATION);
    note(model, lane, operation, sizeof *operation, is_open);
}

static void store_other(struct model *model, struct spool_lane *lane)
{
    if (below(3) == 0) {
        struct spool_collective *collective = spool_lane_reserve(lane, sizeof *collective);
        assert_non_null(collective);
        collective->function = below(2) ? FN_Barrier : FN_Bcast;
        collective->communicator = (uint32_t)below(3);
        collective->bytes = below(5);
        collective->begin_ticks = test_ns;
        collective->end_ticks = test_ns + below(5000) + 1;
        spool_record_publish(collective, SPOOL_COLLECTIVE);
        note(model, lane, collective, sizeof *collective, 0);
    } else {
        struct spool_call *call = spool_lane_reserve(lane, sizeof *call);
        assert_non_null(call);
        call->function = FN_Wait;
        call->site = below(4);
        call->begin_ticks = test_ns;
        call->call_ticks = below(100000);
        spool_record_publish(call, SPOOL_CALL);
        note(model, lane, call, sizeof *call, 0);
    }
}

/* Totals of their own memory. */
struct own_totals {
    struct totals totals;
    struct spool_course course;
    struct spool_total slots[TOTALS_SLOTS];
};

static struct own_totals *totals_begin(uint64_t start_ticks)
{
    struct own_totals *own = calloc(1, sizeof *own);
    assert_non_null(own);
    own->totals = (struct totals){
        .slots = own->slots, .course = &own->course, .n_slots = TOTALS_SLOTS, .start_ticks = start_ticks};
    return own;
}

static const struct spool_total *find_total(const struct totals *totals, const struct spool_total *key)
{
    for (uint32_t i = 0; i < totals->n_slots; i++)
        if (totals->slots[i].calls > 0 && memcmp(&totals->slots[i], key, offsetof(struct spool_total, pad)) == 0)
            return &totals->slots[i];
    return NULL;
}

/* Returns NULL, or what differs. */
static const char *compare_totals(const struct totals *a, const struct totals *b)
{
    if (a->n_used != b->n_used)
        return "entries";
    for (uint32_t i = 0; i < a->n_slots; i++) {
        if (a->slots[i].calls == 0)
            continue;
        const struct spool_total *other = find_total(b, &a->slots[i]);
        if (!other || memcmp(&a->slots[i], other, sizeof *other) != 0)
            return "an entry";
    }
    return memcmp(a->course, b->course, sizeof *a->course) == 0 ? NULL : "the course";
}

/* Returns how many records of the gap count for the entry. */
static uint64_t count_in_gap(const struct model *model, const struct spool_gap *gap,
                             const struct spool_ghost_entry *entry)
{
    struct spool_ghost_entry one;
    uint64_t n = 0;
    for (size_t i = 0; i < model->n; i++) {
        const struct stored *stored = &model->stored[i];
        n += stored->lane == gap->lane && stored->sequence >= gap->first_sequence &&
             stored->sequence <= gap->last_sequence && spool_ghost_of(stored->bytes, &one) &&
             one.communicator == entry->communicator && one.peer == entry->peer && one.tag == entry->tag &&
             one.sort == entry->sort;
    }
    return n;
}

static int is_in_gap(const struct spool_folded *folded, uint32_t lane, uint32_t sequence)
{
    for (size_t i = 0; i < folded->n_gaps; i++)
        if (folded->gaps[i].lane == lane && folded->gaps[i].first_sequence <= sequence &&
            folded->gaps[i].last_sequence >= sequence)
            return 1;
    return 0;
}

static int is_there(const struct spool *spool, uint32_t lane, uint32_t sequence)
{
    for (size_t i = 0; i < spool->n_spans; i++)
        if (spool->spans[i].lane == lane && spool->spans[i].sequence == sequence)
            return 1;
    return 0;
}

/* Returns NULL, or what differs. */
static const char *compare_gaps_of(const struct model *model, const struct spool *spool,
                                   const struct spool_folded *folded)
{
    struct spool_ghost_entry one;
    uint64_t counted = 0, expected = 0;
    uint32_t last[LANES + 1] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    int in_gap[LANES + 1] = {0};
    for (size_t i = 0; i < folded->n_gaps; i++)
        for (uint32_t k = 0; k < folded->gaps[i].n; k++) {
            if (folded->gaps[i].entries[k].count != count_in_gap(model, &folded->gaps[i], &folded->gaps[i].entries[k]))
                return "a count of a gap";
            counted += folded->gaps[i].entries[k].count;
        }
    for (size_t i = 0; i < model->n; i++) {
        const struct stored *stored = &model->stored[i];
        if (last[stored->lane] != stored->sequence) {
            last[stored->lane] = stored->sequence;
            in_gap[stored->lane] = is_in_gap(folded, stored->lane, stored->sequence);
            if (in_gap[stored->lane] == is_there(spool, stored->lane, stored->sequence))
                return "chunks that are gone";
        }
        expected += in_gap[stored->lane] && spool_ghost_of(stored->bytes, &one);
    }
    return counted == expected ? NULL : "what gaps count";
}

/* Returns whether the time lies in a burst that stays. */
static int is_in_burst(const struct spool_header *header, uint64_t ns)
{
    if (header->burst_level == SPOOL_NO_BURSTS)
        return 0;
    uint64_t common = ns + (uint64_t)header->burst_offset_ns;
    return common % (uint64_t)(SPOOL_BURST_NS << header->burst_level) < (uint64_t)(SPOOL_BURST_NS >> header->burst_cut);
}

/* Opens the spool, adds up all that it has, and compares it with the model. Returns NULL, or what differs. */
static const char *compare(const struct model *model)
{
    struct spool spool;
    struct spool_folded folded;
    struct error error = {0};
    const char *different = NULL;
    assert_int_equal(spool_open(own_path, &spool, &error), SPOOL_READY);
    assert_int_equal(spool.damaged, 0);
    spool_folded_read(&spool, &folded);
    assert_non_null(folded.totals.slots);
    assert_int_equal(folded.damaged, 0);
    assert_int_equal(spool.header.ghosts_full, 0);
    struct own_totals *expected = totals_begin(spool.header.start.ticks);
    for (size_t i = 0; i < model->n; i++)
        totals_add_record(&expected->totals, model->stored[i].bytes);
    struct spool_cursor cursor = {.spool = &spool};
    for (const void *record; (record = spool_next(&cursor)) != NULL;)
        if (!cursor.is_folded)
            totals_add_record(&folded.totals, record);
    assert_int_equal(cursor.damaged, 0);
    different = compare_totals(&folded.totals, &expected->totals) ?: compare_gaps_of(model, &spool, &folded);
    for (size_t i = 0; i < model->n && !different; i++)
        if (is_in_burst(&spool.header, model->stored[i].ticks) &&
            !is_there(&spool, model->stored[i].lane, model->stored[i].sequence))
            different = "a burst that should stay";
    free(expected);
    spool_folded_free(&folded);
    spool_close(&spool);
    return different;
}

/* Says whose the spool is, as a reader wants to know. */
static void identify(struct spool_header *header)
{
    header->rank = 0;
    header->world_size = 4;
    header->n_functions = FN_COUNT;
    header->table_hash = MPISTAIR_TABLE_HASH;
    strcpy(header->run_key, "run");
}

static struct spool_writer *begin(uint32_t chunks, int with_thread)
{
    struct spool_writer *writer = calloc(1, sizeof *writer);
    assert_non_null(writer);
    test_ns = UINT64_C(1000000000000) + below(UINT64_C(1000000000));
    assert_int_equal(spool_writer_open(writer, AT_FDCWD, own_path,
                                       SPOOL_TOTALS_BYTES + chunks * (uint64_t)SPOOL_CHUNK_BYTES,
                                       SPOOL_CLOCK_MONOTONIC),
                     0);
    identify(writer->header);
    writer->header->burst_offset_ns = (int64_t)below(UINT64_C(1) << 40);
    spool_writer_publish(writer);
    if (!with_thread)
        supply_without_thread(&writer->supply);
    return writer;
}

/* Stores random records into lanes, of which few stay open for long. */
static void run_program(struct model *model, struct spool_writer *writer, size_t records, uint64_t step_ns)
{
    struct spool_lane *lanes[LANES];
    size_t n_lanes = 1 + below(LANES);
    for (size_t i = 0; i < n_lanes; i++)
        lanes[i] = spool_lane_acquire(writer);
    for (size_t i = 0; i < records; i++) {
        struct spool_lane *lane = lanes[below(n_lanes)];
        test_ns += below(step_ns);
        if (model->n_open == OPEN || (model->n_open > 0 && below(8) == 0))
            complete(model);
        if (below(3) == 0)
            store_other(model, lane);
        else
            store_operation(model, lane, model->n_open < OPEN && below(8) == 0);
    }
    while (model->n_open > 3)
        complete(model);
}

static void random_programs_keep_all(void **state)
{
    (void)state;
    int raised = 0, cut = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct model model = {.n = 0};
        random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        uint32_t chunks = (uint32_t)(10 + below(16));
        struct spool_writer *writer = begin(chunks, seed % 2 == 0);
        uint64_t steps_ns[] = {100, 3000, 30000, 1000000};
        run_program(&model, writer, chunks * 4000 * (2 + below(3)), steps_ns[seed % 4]);
        for (int cause = 0; cause < SPOOL_LOSS_COUNT; cause++)
            assert_int_equal(writer->header->lost[cause], 0);
        assert_true(spool_writer_close(writer) <= SPOOL_CHUNKS_BEGIN + chunks * (uint64_t)SPOOL_CHUNK_BYTES);
        raised |= writer->header->burst_level > 0;
        cut |= writer->header->burst_cut > 0;
        assert_true(writer->header->folded_chunks > 0);
        const char *different = compare(&model);
        if (different)
            fail_msg("seed %u: %s differs", (unsigned)seed, different);
        /* A record that is forgotten must be found. */
        model.n--;
        model.stored[below(model.n)] = model.stored[model.n];
        assert_non_null(compare(&model));
        free(model.stored);
        munmap(writer->header, SPOOL_HEADER_BYTES);
        free(writer);
        unlink(own_path);
    }
    assert_true(raised && cut);
}

enum { STALL_CHUNKS = 9, STALLED_RECORDS = 400000, STALL_AT = 20 };

/* A process that stands still for 0.3 s, whenever it does, has records in a burst that stays: a single burst may be as
 * long as that moment. */
static void standing_still_leaves_records(void **state)
{
    (void)state;
    random_state = 1;
    for (uint64_t at = 0; at < STALL_AT; at++) {
        struct spool_writer *writer = begin(STALL_CHUNKS, 0);
        struct spool_lane *lane = spool_lane_acquire(writer);
        writer->header->burst_offset_ns = (SPOOL_BURST_NS << 20) - SPOOL_BURST_NS - (int64_t)test_ns;
        uint64_t begin_ns = test_ns, stall_ns = begin_ns + at * 20000000;
        uint64_t *at_ns = calloc(STALLED_RECORDS, sizeof *at_ns);
        assert_non_null(at_ns);
        for (size_t i = 0; i < STALLED_RECORDS; i++) {
            struct model none = {.n = 0};
            test_ns += 4000;
            if (stall_ns != 0 && test_ns > stall_ns) {
                test_ns += UINT64_C(300000000);
                stall_ns = 0;
            }
            at_ns[i] = test_ns;
            store_operation(&none, lane, 0);
            free(none.stored);
        }
        size_t stay = 0;
        for (size_t i = 0; i < STALLED_RECORDS; i++)
            stay += (size_t)is_in_burst(writer->header, at_ns[i]);
        spool_writer_close(writer);
        if (stay == 0)
            fail_msg("stood still after %u ms: no record is in a burst that stays", (unsigned)at * 20);
        free(at_ns);
        munmap(writer->header, SPOOL_HEADER_BYTES);
        free(writer);
        unlink(own_path);
    }
}

/* Record i of a process that will be killed: all of it follows from i. */
static void fill_simple(struct spool_operation *operation, uint64_t i)
{
    operation->function = FN_Isend;
    operation->communicator = i % 3 & 1U;
    operation->peer = (int32_t)(i % 7);
    operation->tag = (int32_t)(i % 2);
    operation->bytes = i % 1000;
    operation->post_ticks = UINT64_C(1000000000000) + i * 1000;
    operation->complete_ticks = operation->post_ticks + 10;
    operation->call_ticks = (uint32_t)(i % 100);
}

enum { KILL_LANES = 2, KILL_CHUNKS = 20, ROUNDS = 40 };

/* Stores records until the process has used that much of a processor, so that what it has done depends on no load. */
static void be_killed(int with_thread, suseconds_t after_us)
{
    const struct itimerval timer = {.it_value.tv_usec = after_us};
    if (setitimer(ITIMER_PROF, &timer, NULL) != 0) /* SIGPROF ends a process as SIGKILL does */
        _exit(1);
    struct spool_lane *lanes[KILL_LANES];
    struct spool_writer *writer = begin(KILL_CHUNKS, with_thread);
    test_ns = writer->header->start.ticks = writer->header->start.monotonic_ns = UINT64_C(1000000000000);
    writer->fold.totals.start_ticks = test_ns;
    for (int i = 0; i < KILL_LANES; i++)
        lanes[i] = spool_lane_acquire(writer);
    for (uint64_t i = 0;; i++) {
        struct spool_operation *operation = spool_lane_reserve(lanes[i % KILL_LANES], sizeof *operation);
        test_ns += 1000;
        if (!operation)
            _exit(1);
        fill_simple(operation, i);
        spool_record_publish(operation, SPOOL_OPERATION);
    }
}

/* Returns how many records the spool has in all, which must be the first so many. */
static uint64_t check_killed(void)
{
    struct spool spool;
    struct spool_folded folded;
    struct error error = {0};
    enum spool_open_result result = spool_open(own_path, &spool, &error);
    if (result != SPOOL_READY)
        return 0; /* killed before it said whose it was */
    spool_folded_read(&spool, &folded);
    assert_int_equal(folded.damaged, 0);
    struct spool_cursor cursor = {.spool = &spool};
    for (const void *record; (record = spool_next(&cursor)) != NULL;)
        if (!cursor.is_folded)
            totals_add_record(&folded.totals, record);
    assert_int_equal(cursor.damaged + spool.damaged, 0);
    uint64_t n = 0;
    for (uint32_t i = 0; i < TOTALS_SLOTS; i++)
        n += folded.totals.slots[i].calls;
    struct own_totals *expected = totals_begin(UINT64_C(1000000000000));
    struct model model = {.stored = calloc(n + 1, sizeof *model.stored), .n = n};
    const uint64_t a_chunk = (SPOOL_CHUNK_BYTES - sizeof(struct spool_chunk)) / sizeof(struct spool_operation);
    for (uint64_t i = 0; i < n; i++) {
        struct stored *stored = &model.stored[i];
        struct spool_operation *operation = (void *)stored->bytes;
        stored->lane = 1 + (uint32_t)(i % KILL_LANES);
        stored->sequence = (uint32_t)(i / KILL_LANES / a_chunk);
        fill_simple(operation, i);
        operation->type = SPOOL_OPERATION;
        totals_add_record(&expected->totals, operation);
    }
    const char *different = n == 0 ? NULL : compare_totals(&folded.totals, &expected->totals);
    if (!different)
        different = compare_gaps_of(&model, &spool, &folded);
    if (different)
        fail_msg("after %llu records: %s differs", (unsigned long long)n, different);
    free(model.stored);
    free(expected);
    spool_folded_free(&folded);
    spool_close(&spool);
    return n;
}

static void totals_hold_when_the_process_is_killed(void **state)
{
    (void)state;
    uint64_t most = 0;
    unsigned n_in_a_step = 0;
    random_state = (uint64_t)getpid() * 0x9e3779b97f4a7c15;
    for (int round = 0; round < ROUNDS; round++) {
        const suseconds_t after_us = 1 + (suseconds_t)below(30000);
        pid_t child = fork();
        if (child == 0)
            be_killed(round % 2, after_us);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
        if (access(own_path, F_OK) != 0)
            continue;
        uint64_t n = check_killed();
        most = n > most ? n : most;
        if (n == 0) { /* the file may end before the area */
            unlink(own_path);
            continue;
        }
        int fd = open(own_path, O_RDONLY);
        struct spool_area *area = mmap(NULL, SPOOL_CHUNKS_BEGIN, PROT_READ, MAP_SHARED, fd, 0);
        n_in_a_step +=
            area != MAP_FAILED &&
            ((struct spool_area *)(void *)((char *)area + SPOOL_HEADER_BYTES))->journal.state != JOURNAL_EMPTY;
        munmap(area, SPOOL_CHUNKS_BEGIN);
        close(fd);
        unlink(own_path);
    }
    print_message("up to %llu records, %u of %d killed in a step\n", (unsigned long long)most, n_in_a_step, ROUNDS);
    assert_true(most > KILL_CHUNKS * UINT64_C(4095)); /* chunks were used again */
}

static int set_up(void **state)
{
    (void)state;
    strcpy(own_folder + strlen(own_folder) - 6, "XXXXXX");
    if (!mkdtemp(own_folder))
        return -1;
    snprintf(own_path, sizeof own_path, "%s/s" SPOOL_SUFFIX, own_folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(own_path);
    return rmdir(own_folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_programs_keep_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(standing_still_leaves_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(totals_hold_when_the_process_is_killed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
