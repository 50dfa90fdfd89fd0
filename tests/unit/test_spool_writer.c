/* Tests the spool writer: what is in the file, and what is counted where there is no room. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "interpose/spool/clock.h"
#include "interpose/spool/writer.h"

/* A process gets so many chunks at least. */
enum { LEAST = 4 };
#define LEAST_BYTES (SPOOL_TOTALS_BYTES + LEAST * (uint64_t)SPOOL_CHUNK_BYTES)
#define A_CHUNK     ((SPOOL_CHUNK_BYTES - sizeof(struct spool_chunk)) / sizeof(struct spool_operation))

static char own_folder[] = "/tmp/mpistair-writer-XXXXXX";
static char own_path[128];

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

static int store(struct spool_lane *lane, uint64_t bytes)
{
    struct spool_operation *operation = spool_lane_reserve(lane, sizeof *operation);
    if (!operation)
        return -1;
    operation->bytes = bytes;
    spool_record_publish(operation, SPOOL_OPERATION);
    return 0;
}

static uint8_t *read_all(size_t *bytes)
{
    struct stat status;
    FILE *file = fopen(own_path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    *bytes = (size_t)status.st_size;
    uint8_t *all = malloc(*bytes);
    assert_non_null(all);
    assert_int_equal(fread(all, 1, *bytes, file), *bytes);
    fclose(file);
    return all;
}

/* Records cross chunks; the file ends with the last of them. */
static void records_lie_in_order(void **state)
{
    (void)state;
    struct spool_writer writer;
    const size_t n = A_CHUNK + 10;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(64) << 20, spool_clock_detect()), 0);
    assert_int_equal(writer.header->magic, 0); /* nobody has said yet whose it is */
    spool_writer_publish(&writer);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(store(lane, i), 0);
    uint64_t closed_bytes = spool_writer_close(&writer);
    size_t bytes, next = 0;
    uint8_t *all = read_all(&bytes);
    assert_int_equal(bytes, closed_bytes);
    assert_int_equal(bytes, SPOOL_CHUNKS_BEGIN + SPOOL_CHUNK_BYTES + 64 + 10 * 64);
    const struct spool_header *header = (const void *)all;
    assert_int_equal(header->magic, SPOOL_MAGIC);
    assert_int_equal(header->chunks, 2);
    assert_true(header->start.monotonic_ns > 0);
    for (uint32_t c = 0; c < header->chunks; c++) {
        const uint8_t *begin = all + SPOOL_CHUNKS_BEGIN + (size_t)c * SPOOL_CHUNK_BYTES;
        const struct spool_chunk *chunk = (const void *)begin;
        assert_int_equal(chunk->magic, SPOOL_CHUNK_MAGIC);
        assert_int_equal(chunk->sequence, c);
        assert_true(chunk->clock.ticks >= header->start.ticks);
        for (size_t at = 64; at + 64 <= SPOOL_CHUNK_BYTES && begin + at < all + bytes; at += 64) {
            const struct spool_operation *operation = (const void *)(begin + at);
            assert_int_equal(operation->type, SPOOL_OPERATION);
            assert_int_equal(operation->bytes, next++);
        }
    }
    assert_int_equal(next, n);
    free(all);
}

/* At the limit a lane stops, and counts every record, also those that would still fit. */
static void limit_is_kept_and_losses_counted(void **state)
{
    (void)state;
    struct spool_writer writer;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, LEAST_BYTES, SPOOL_CLOCK_MONOTONIC), 0);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    for (size_t i = 0; i + 1 < LEAST * A_CHUNK; i++)
        assert_int_equal(store(lane, i), 0);
    assert_non_null(spool_lane_reserve(lane, 32));
    errno = 12345;
    assert_int_equal(store(lane, 0), -1);
    assert_int_equal(errno, 12345);
    assert_null(spool_lane_reserve(lane, 32));
    struct spool_lane *other = spool_lane_acquire(&writer);
    assert_int_equal(store(other, 0), -1);
    assert_int_equal(writer.header->lost[SPOOL_LOSS_LIMIT], 3);
    assert_int_equal(writer.header->chunks, LEAST);
    spool_writer_close(&writer);
}

/* A limit below a chunk still gives one. */
static void one_chunk_at_least(void **state)
{
    (void)state;
    struct spool_writer writer;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, 0, SPOOL_CLOCK_MONOTONIC), 0);
    assert_int_equal(store(spool_lane_acquire(&writer), 0), 0);
    spool_writer_close(&writer);
}

/* With room for n chunks on the disk or by the limit, n are filled, whoever makes them; the file has none that nobody
 * took. */
static void all_room_is_used(void **state)
{
    (void)state;
    enum { CHUNKS = 21 };
    struct spool_writer writer;
    size_t bytes;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path,
                                       SPOOL_TOTALS_BYTES + CHUNKS * (uint64_t)SPOOL_CHUNK_BYTES,
                                       SPOOL_CLOCK_MONOTONIC),
                     0);
    struct spool_lane *lanes[3];
    size_t stored = 0, tried = 0;
    for (int i = 0; i < 3; i++)
        lanes[i] = spool_lane_acquire(&writer);
    for (; tried < (CHUNKS + 3) * A_CHUNK; tried++)
        stored += store(lanes[tried % 3], tried) == 0;
    assert_int_equal(writer.header->chunks, CHUNKS);
    assert_int_equal(stored, CHUNKS * A_CHUNK);
    assert_int_equal(writer.header->lost[SPOOL_LOSS_LIMIT], tried - stored);
    assert_int_equal(spool_writer_close(&writer), SPOOL_CHUNKS_BEGIN + CHUNKS * (uint64_t)SPOOL_CHUNK_BYTES);
    free(read_all(&bytes));
    assert_int_equal(bytes, SPOOL_CHUNKS_BEGIN + CHUNKS * (uint64_t)SPOOL_CHUNK_BYTES);
}

/* The same spool comes without the thread. */
static void chunks_come_without_a_thread(void **state)
{
    (void)state;
    struct spool_writer writer;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
    supply_without_thread(&writer.supply);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    for (size_t i = 0; i < 3 * A_CHUNK; i++)
        assert_int_equal(store(lane, i), 0);
    assert_false(writer.supply.running);
    assert_int_equal(spool_writer_close(&writer), SPOOL_CHUNKS_BEGIN + 3 * SPOOL_CHUNK_BYTES);
}

/* Waits until the thread has made all that it makes ahead: what a lane and the thread make at the same time may be used
 * out of order. */
static void await_ready(struct supply *supply)
{
    for (int ready = 0; !ready;) {
        sched_yield();
        pthread_mutex_lock(&supply->lock);
        ready = !supply->running || supply->failed || (!supply->making && supply->n_ready == supply->wanted);
        pthread_mutex_unlock(&supply->lock);
    }
}

/* A chunk that was made ready and not taken leaves no blocks behind. */
static void what_was_ready_is_given_back(void **state)
{
    (void)state;
    struct spool_writer writer;
    struct stat status;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    for (size_t i = 0; i <= 5 * A_CHUNK; i++) {
        if (i % A_CHUNK == 0)
            await_ready(&writer.supply);
        assert_int_equal(store(lane, i), 0);
    }
    assert_true(writer.supply.running);
    assert_int_equal(spool_writer_close(&writer), SPOOL_CHUNKS_BEGIN + 5 * SPOOL_CHUNK_BYTES + 128);
    assert_int_equal(stat(own_path, &status), 0);
    assert_true(status.st_blocks * 512 <= SPOOL_CHUNKS_BEGIN + 6 * (long)SPOOL_CHUNK_BYTES);
}

/* Sets the soft limit; returns what it was. */
static struct rlimit lower(__rlimit_resource_t resource, uint64_t bytes)
{
    struct rlimit before, low;
    assert_int_equal(getrlimit(resource, &before), 0);
    low = before;
    low.rlim_cur = bytes;
    assert_int_equal(setrlimit(resource, &low), 0);
    return before;
}

/* A limit on the size of files would end the process with SIGXFSZ, also one that comes later. */
static void file_size_limit_is_respected(void **state)
{
    (void)state;
    struct spool_writer writer;
    for (int later = 0; later < 2; later++) {
        struct rlimit before =
            lower(RLIMIT_FSIZE, later ? UINT64_C(1) << 40 : SPOOL_CHUNKS_BEGIN + SPOOL_CHUNK_BYTES + 4096);
        assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
        struct spool_lane *lane = spool_lane_acquire(&writer);
        int stored = store(lane, 0) == 0;
        if (later)
            lower(RLIMIT_FSIZE, 4096);
        const size_t tried = 3 * A_CHUNK,
                     room = later ? 2 * A_CHUNK : A_CHUNK; /* two chunks get their blocks at once */
        for (size_t i = 1; i < tried; i++)
            stored += store(lane, i) == 0;
        spool_writer_close(&writer);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(stored, room);
        assert_int_equal(writer.header->lost[SPOOL_LOSS_FILE_SIZE], tried - room);
        unlink(own_path);
    }
}

/* The program closes our descriptor and has the number for a file of its own, to which nothing is done; what was stored
 * before is in the spool. */
static void a_closed_descriptor_is_not_used(void **state)
{
    (void)state;
    struct spool_writer writer;
    struct stat status;
    char own[160];
    snprintf(own, sizeof own, "%s/own", own_folder);
    for (int thread = 0; thread < 2; thread++) {
        assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
        if (!thread)
            supply_without_thread(&writer.supply);
        struct spool_lane *lane = spool_lane_acquire(&writer);
        size_t stored = 0, tried = 0;
        while (tried < 2 * A_CHUNK)
            stored += store(lane, tried++) == 0;
        int fd = open(own, O_CREAT | O_TRUNC | O_RDWR, 0600), number = writer.file.fd;
        assert_true(number >= 64); /* moved up */
        assert_int_equal(dup2(fd, number), number);
        assert_int_equal(write(fd, "kept", 4), 4);
        while (tried < 12 * A_CHUNK)
            stored += store(lane, tried++) == 0;
        spool_lane_flush(lane);
        assert_true(stored >= 2 * A_CHUNK && stored < tried);
        assert_int_equal(writer.header->lost[SPOOL_LOSS_CLOSED], tried - stored);
        spool_writer_close(&writer);
        assert_int_equal(fstat(number, &status), 0); /* it is the program's, open as before */
        assert_int_equal(status.st_size, 4);
        close(fd);
        close(number);
        unlink(own);
        unlink(own_path);
    }
}

/* Counts chunks of the file that are mapped. */
static unsigned mapped_chunks(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long begin, end, bytes = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, own_path) && sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            bytes += end - begin;
    fclose(maps);
    return (unsigned)((bytes - SPOOL_CHUNKS_BEGIN) / SPOOL_CHUNK_BYTES);
}

/* Chunks are unmapped, but those with an operation that may still be completed. */
static void done_chunks_are_unmapped(void **state)
{
    (void)state;
    enum { CHUNKS = 40, EACH = 2 };
    struct spool_operation *open_ones[CHUNKS * EACH];
    struct spool_writer writer;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
    supply_without_thread(&writer.supply);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    const unsigned least = SPOOL_RESIDENT_CHUNKS + 1;
    for (size_t i = 0; i < CHUNKS * A_CHUNK; i++) {
        struct spool_operation *operation = spool_lane_reserve(lane, sizeof *operation);
        assert_non_null(operation);
        operation->complete_ticks = 1;
        if (i % A_CHUNK == 100 || i % A_CHUNK == 3000) { /* of every second chunk none stays open */
            open_ones[i / A_CHUNK * EACH + (i % A_CHUNK == 3000)] = operation;
            operation->complete_ticks = i / A_CHUNK % 2;
        }
        spool_record_publish(operation, SPOOL_OPERATION);
    }
    assert_in_range(mapped_chunks(), CHUNKS / 2, CHUNKS / 2 + least);
    for (size_t c = 0; c < CHUNKS; c += 2) { /* some reported early, some freed, some completed */
        open_ones[c * EACH + 1]->flags = c < 4 ? SPOOL_HELD : c < 8 ? SPOOL_FREED : 0;
        open_ones[c * EACH + 1]->complete_ticks = c < 4 || c >= 8;
        open_ones[c * EACH]->complete_ticks = 1;
    }
    for (size_t i = 0; i < 4 * A_CHUNK; i++)
        assert_int_equal(store(lane, i), 0);
    assert_in_range(mapped_chunks(), least, least + 3);
    spool_writer_close(&writer);
}

/* Something of a limited address space is left to the program. */
static void address_space_limit_is_respected(void **state)
{
    (void)state;
    struct spool_writer writer;
    unsigned long pages;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    struct rlimit before = lower(RLIMIT_AS, pages * (uint64_t)sysconf(_SC_PAGESIZE) + (UINT64_C(20) << 20));
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    size_t stored = 0, tried = 0;
    while (tried < 40 * A_CHUNK)
        stored += store(lane, tried++) == 0;
    void *own = malloc(12 << 20);
    setrlimit(RLIMIT_AS, &before);
    assert_non_null(own);
    free(own);
    assert_in_range(stored, 4 * A_CHUNK, 16 * A_CHUNK);
    assert_int_equal(writer.header->lost[SPOOL_LOSS_ADDRESS_SPACE], tried - stored);
    spool_writer_close(&writer);
}

static void lanes_are_used_again(void **state)
{
    (void)state;
    struct spool_writer writer;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(8) << 20, SPOOL_CLOCK_MONOTONIC), 0);
    struct spool_lane *first = spool_lane_acquire(&writer), *second = spool_lane_acquire(&writer);
    assert_ptr_not_equal(first, second);
    spool_lane_release(first);
    assert_ptr_equal(spool_lane_acquire(&writer), first);
    assert_int_equal(writer.n_lanes, 3); /* one is that of definitions */
    spool_writer_close(&writer);
}

/* Returns the bytes of the file's mappings that are resident in this process. */
static uint64_t resident_bytes(void)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    uint64_t all = 0, kib, begin, end;
    int ours = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2) /* a mapping begins */
            ours = strstr(line, " rw-s ") && strstr(line, own_path);
        else if (ours && sscanf(line, "Rss: %" SCNu64, &kib) == 1)
            all += kib << 10;
    }
    fclose(maps);
    return all;
}

/* Few chunks of a long spool stay resident, and one that is no more can still be completed. */
static void long_spools_do_not_stay_resident(void **state)
{
    (void)state;
    enum { CHUNKS = 64 };
    struct spool_writer writer;
    size_t bytes;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, UINT64_C(1) << 30, SPOOL_CLOCK_MONOTONIC), 0);
    struct spool_lane *lane = spool_lane_acquire(&writer);
    struct spool_operation *first = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < CHUNKS * A_CHUNK; i++) {
        if (i == (CHUNKS - 2) * A_CHUNK) /* a lane takes its next chunk ahead */
            await_ready(&writer.supply);
        assert_int_equal(store(lane, i), 0);
        if (i == 0)
            first = (struct spool_operation *)(void *)lane->next - 1;
        if (i % A_CHUNK == 1) {
            uint64_t now = resident_bytes();
            most = now > most ? now : most;
        }
    }
    assert_true(most >= SPOOL_CHUNK_BYTES); /* what is measured is there */
    /* These are the current one, those before, one ready, those that the supply has yet to give back. */
    assert_true(most <= SPOOL_CHUNKS_BEGIN + (SPOOL_RESIDENT_CHUNKS + SUPPLY_LEFT + 3) * (uint64_t)SPOOL_CHUNK_BYTES);
    first->complete_ticks = 4711;
    spool_writer_close(&writer);
    uint8_t *all = read_all(&bytes);
    assert_int_equal(bytes, SPOOL_CHUNKS_BEGIN + CHUNKS * (size_t)SPOOL_CHUNK_BYTES);
    const uint8_t *chunks[CHUNKS];
    for (size_t i = 0; i < CHUNKS; i++) {
        const uint8_t *chunk = all + SPOOL_CHUNKS_BEGIN + i * SPOOL_CHUNK_BYTES;
        chunks[((const struct spool_chunk *)(const void *)chunk)->sequence] = chunk;
    }
    for (size_t i = 0; i < CHUNKS * A_CHUNK; i++) {
        const uint8_t *chunk = chunks[i / A_CHUNK];
        const struct spool_operation *operation = (const void *)(chunk + 64 + i % A_CHUNK * sizeof *operation);
        assert_int_equal(operation->bytes, i);
        assert_int_equal(operation->complete_ticks, i == 0 ? 4711 : 0);
    }
    free(all);
}

static void what_is_there_is_left_alone(void **state)
{
    (void)state;
    struct spool_writer writer;
    char elsewhere[160];
    FILE *file = fopen(own_path, "w");
    fputs("kept", file);
    fclose(file);
    errno = 12345;
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, own_path, 0, SPOOL_CLOCK_MONOTONIC), EEXIST);
    assert_int_equal(errno, 12345);
    assert_null(writer.header);
    size_t bytes;
    uint8_t *all = read_all(&bytes);
    assert_int_equal(bytes, 4);
    free(all);
    snprintf(elsewhere, sizeof elsewhere, "%s/none/s", own_folder);
    assert_int_equal(spool_writer_open(&writer, AT_FDCWD, elsewhere, 0, SPOOL_CLOCK_MONOTONIC), ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_lie_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limit_is_kept_and_losses_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_room_is_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_ready_is_given_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks_come_without_a_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_chunk_at_least, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_size_limit_is_respected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_closed_descriptor_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(done_chunks_are_unmapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(address_space_limit_is_respected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_are_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_spools_do_not_stay_resident, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_is_left_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
