/* Every number of the file is checked here once: header, chunk headers, record types, and what a record says about
 * itself (function, direction, size, order of its times). What only the whole run can tell (peers, communicators) is
 * checked where it is used.
 *
 * A file of a process that ended well is cut to what it used, so its last chunk may be short and ends with a whole
 * record. A file of a killed process holds whole chunks. A file of any other length was cut off. A chunk that was
 * handed out but not begun (magic 0, no record) is empty. Behind a record of unknown type the rest of a chunk cannot be
 * read. */
#include "interpose/spool/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/functions.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/utf8.h"

/* Another process may cut a file while it is read, and the system then ends by SIGBUS the process that touches a page
 * behind the end. Here the rest reads as zeroes from then on. The signal comes to the thread that touches the page, in
 * the middle of any expression, so its handler must repair the mapping; nothing can be returned from there. */

struct mapped_file {
    uint8_t *data;
    size_t size;
    size_t dropped; /* bytes at the front */
    atomic_bool cut;
    struct mapped_file *next, *previous;
};

static struct mapped_file *files;
static size_t page_bytes;

/* Puts zeroes where the file was, from the page on that is not there; then the read is made again. A fault in none of
 * these files ends the process as ever, once the read is made again. */
static void read_zeroes(int number, siginfo_t *about, void *context)
{
    (void)context;
    const uint8_t *place = about->si_addr;
    struct mapped_file *file = files;
    while (file != NULL && (place < file->data + file->dropped || place >= file->data + file->size))
        file = file->next;
    if (file == NULL || about->si_code != BUS_ADRERR) {
        signal(number, SIG_DFL);
        return;
    }
    size_t from = (size_t)(place - file->data) / page_bytes * page_bytes;
    file->cut = true;
    if (mmap(file->data + from, file->size - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        signal(number, SIG_DFL);
}

/* Maps the first `bytes` of an open file. Returns NULL with errno on failure. One thread opens and closes. */
static struct mapped_file *mapped_file_open(int descriptor, size_t bytes)
{
    void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return NULL;
    struct mapped_file *file = xcalloc(1, sizeof *file);
    if (page_bytes == 0) {
        struct sigaction action = {.sa_sigaction = read_zeroes, .sa_flags = SA_SIGINFO};
        page_bytes = (size_t)sysconf(_SC_PAGESIZE);
        sigaction(SIGBUS, &action, NULL);
    }
    file->data = data;
    file->size = bytes;
    file->next = files;
    if (files != NULL)
        files->previous = file;
    files = file;
    return file;
}

static void mapped_file_close(struct mapped_file *file)
{
    if (file == NULL)
        return;
    if (file->next != NULL)
        file->next->previous = file->previous;
    if (file->previous != NULL)
        file->previous->next = file->next;
    else
        files = file->next;
    if (file->size > file->dropped)
        munmap(file->data + file->dropped, file->size - file->dropped);
    free(file);
}

enum { RECORD_STEP_BYTES = 32, CHUNK_MINIMUM_BYTES = 4096, CHUNK_MAXIMUM_BYTES = 1 << 30 };

static enum spool_open_result check_header(const char *path, const struct spool_header *header, struct error *error)
{
    if (header->magic == 0 || (header->magic == SPOOL_MAGIC && header->rank == -1 && header->table_hash == 0)) {
        error_set(error, "%s: its process ended at once, in MPI_Init", path);
        return SPOOL_BEGUN;
    }
    if (header->magic != SPOOL_MAGIC) {
        error_set(error, "%s: not a spool of mpistair (no magic number)", path);
        return SPOOL_UNUSABLE;
    }
    if (header->version != SPOOL_VERSION) {
        error_set(error, "%s: spool version %u, this mpistair reads %u: use the mpistair that recorded the run", path,
                  header->version, SPOOL_VERSION);
        return SPOOL_FOREIGN;
    }
    if (header->table_hash != MPISTAIR_TABLE_HASH || header->n_functions != FN_COUNT) {
        error_set(error, "%s: recorded by another build of mpistair (table of MPI functions %llx, here %llx)", path,
                  (unsigned long long)header->table_hash, (unsigned long long)MPISTAIR_TABLE_HASH);
        return SPOOL_FOREIGN;
    }
    if (header->rank < 0) {
        error_set(error, "%s: its process ended before it knew its rank", path);
        return SPOOL_UNUSABLE;
    }
    const char *wrong = NULL;
    if (header->chunk_bytes < CHUNK_MINIMUM_BYTES || header->chunk_bytes > CHUNK_MAXIMUM_BYTES ||
        header->chunk_bytes % 64 != 0)
        wrong = "size of chunks";
    else if (header->clock_source > SPOOL_CLOCK_TSC)
        wrong = "clock source";
    else if (header->world_size < 1 || header->world_size > SPOOL_WORLD_LIMIT || header->rank >= header->world_size)
        wrong = "rank or size of MPI_COMM_WORLD";
    else if (header->start.ticks == 0 || header->start.ticks > 16 * SPOOL_TIME_LIMIT ||
             header->start.monotonic_ns > SPOOL_TIME_LIMIT)
        wrong = "start time";
    else if (header->run_key[0] == '\0')
        wrong = "run key";
    if (wrong == NULL)
        return SPOOL_READY;
    error_set(error, "%s: damaged: no valid %s in the header", path, wrong);
    return SPOOL_UNUSABLE;
}

int64_t spool_ahead_ns(const struct spool_header *header)
{
    int64_t apart_ns = (int64_t)(header->start.ticks - header->start.monotonic_ns);
    /* Both may have been read one after the other, so that little means nothing; more than the limit is damage. */
    const int64_t least_ns = 1000000, most_ns = (int64_t)SPOOL_TIME_LIMIT;
    bool is_apart = (apart_ns >= least_ns || apart_ns <= -least_ns) && apart_ns <= most_ns && apart_ns >= -most_ns;
    return header->clock_source == SPOOL_CLOCK_MONOTONIC && is_apart ? apart_ns : 0;
}

/* Does what spool_clean_text promises; if strict, makes the text fit for the name of a file. */
static void clean_text(char *text, size_t size, bool strict)
{
    text[size - 1] = '\0';
    for (size_t i = 0; text[i] != '\0';) {
        if (text[i] == '\t' && !strict)
            text[i] = ' ';
        unsigned char first = (unsigned char)text[i];
        size_t bytes = utf8_length((const unsigned char *)text + i, size - i);
        bool harmful = bytes == 0 || (first < ' ' && first != '\n') || first == 0x7f;
        harmful = harmful || (strict && (bytes > 1 || first == '/' || first == '\n'));
        if (harmful)
            text[i] = '?';
        i += harmful ? 1 : bytes;
    }
}

void spool_clean_text(char *text, size_t size)
{
    clean_text(text, size, false);
}

static void copy_header(struct spool_header *copy, const uint8_t *data)
{
    memcpy(copy, data, sizeof *copy);
    clean_text(copy->run_key, sizeof copy->run_key, true);
    clean_text(copy->host, sizeof copy->host, true);
    clean_text(copy->library, sizeof copy->library, false);
    clean_text(copy->command, sizeof copy->command, false);
    clean_text(copy->topology, sizeof copy->topology, false);
    clean_text(copy->maps, sizeof copy->maps, false);
    clean_text(copy->launch, sizeof copy->launch, false);
    clean_text(copy->world, sizeof copy->world, false);
    clean_text(copy->parent_world, sizeof copy->parent_world, false);
    clean_text(copy->launch, sizeof copy->launch, true);
}

static int compare_lane_spans(const void *left, const void *right)
{
    const struct spool_span *a = left, *b = right;
    return ORDER(a->lane, b->lane) ?: ORDER(a->sequence, b->sequence) ?: ORDER(a->begin, b->begin);
}

static int compare_pairs(const void *left, const void *right)
{
    const struct spool_clock_pair *a = left, *b = right;
    return ORDER(a->ticks, b->ticks);
}

/* What a journal says of one chunk. */
struct unfinished_chunk {
    size_t begin; /* 0: of none */
    uint32_t folded;
};

/* Notes the chunk at begin: a span and a clock pair, or what is wrong with it. */
static void read_chunk(struct spool *spool, size_t begin, const struct unfinished_chunk *unfinished)
{
    size_t end = begin + spool->header.chunk_bytes;
    if (unfinished->begin == begin && unfinished->folded >= spool->header.chunk_bytes)
        return; /* its records are being wiped out */
    bool ended = spool->header.finish.ticks != 0;
    if (end > spool->size) {
        if (!ended)
            spool->cut_off += (end - spool->size) / sizeof(struct spool_operation);
        end = spool->size;
    }
    if (end - begin < sizeof(struct spool_chunk))
        return;
    struct spool_chunk chunk;
    memcpy(&chunk, spool->data + begin, sizeof chunk);
    size_t first = begin + sizeof chunk;
    bool empty = first >= end || spool->data[first] == SPOOL_NONE;
    if (chunk.magic != SPOOL_CHUNK_MAGIC) {
        if (chunk.magic != 0 || !empty)
            spool->damaged += (end - begin) / sizeof(struct spool_operation);
        return;
    }
    if (chunk.clock.ticks > spool->header.start.ticks && chunk.clock.monotonic_ns > spool->header.start.monotonic_ns &&
        chunk.clock.monotonic_ns < SPOOL_TIME_LIMIT)
        spool->pairs[spool->n_pairs++] = chunk.clock;
    if (unfinished->begin == begin)
        chunk.folded = unfinished->folded;
    spool->spans[spool->n_spans++] = (struct spool_span){
        .lane = chunk.lane, .sequence = chunk.sequence, .begin = first, .end = end, .folded = begin + chunk.folded};
}

/* Returns the area as it lies in the file, NULL where the spool has none. */
static const struct spool_area *area_of(const struct spool *spool)
{
    return spool->header.totals_bytes != 0 ? (const void *)(spool->data + SPOOL_HEADER_BYTES) : NULL;
}

/* Returns the chunk that was being folded when the process ended. */
static struct unfinished_chunk read_unfinished(const struct spool *spool)
{
    const struct spool_area *area = area_of(spool);
    if (area == NULL || area->journal.state != JOURNAL_FOLDED)
        return (struct unfinished_chunk){.begin = 0};
    return (struct unfinished_chunk){.begin =
                                         SPOOL_CHUNKS_BEGIN + (size_t)area->journal.chunk * spool->header.chunk_bytes,
                                     .folded = area->journal.until};
}

/* Keeps the pairs that ascend in both clocks, and one chunk of each lane and sequence. */
static void sort_chunks(struct spool *spool)
{
    const struct spool_header *header = &spool->header;
    if (header->finish.ticks > header->start.ticks && header->finish.monotonic_ns > header->start.monotonic_ns &&
        header->finish.monotonic_ns < SPOOL_TIME_LIMIT)
        spool->pairs[spool->n_pairs++] = header->finish;
    qsort(spool->pairs, spool->n_pairs, sizeof *spool->pairs, compare_pairs);
    size_t kept = 1;
    for (size_t i = 1; i < spool->n_pairs; i++)
        if (spool->pairs[i].ticks > spool->pairs[kept - 1].ticks &&
            spool->pairs[i].monotonic_ns > spool->pairs[kept - 1].monotonic_ns)
            spool->pairs[kept++] = spool->pairs[i];
    spool->n_pairs = kept;

    if (spool->n_spans == 0)
        return;
    qsort(spool->spans, spool->n_spans, sizeof *spool->spans, compare_lane_spans);
    kept = 1;
    for (size_t i = 1; i < spool->n_spans; i++) {
        const struct spool_span *span = &spool->spans[i];
        if (span->lane == spool->spans[kept - 1].lane && span->sequence == spool->spans[kept - 1].sequence)
            spool->damaged += (span->end - span->begin) / sizeof(struct spool_operation);
        else
            spool->spans[kept++] = *span;
    }
    spool->n_spans = kept;
}

static void read_chunks(struct spool *spool)
{
    size_t chunk_bytes = spool->header.chunk_bytes;
    size_t behind = spool->size > SPOOL_CHUNKS_BEGIN ? spool->size - SPOOL_CHUNKS_BEGIN : 0;
    size_t in_file = (behind + chunk_bytes - 1) / chunk_bytes;
    size_t chunks = spool->header.chunks < in_file ? spool->header.chunks : in_file;
    if (spool->header.chunks > in_file) {
        /* A cut file does not have absurd numbers: they come from a damaged header. */
        if ((uint64_t)spool->header.chunks * chunk_bytes > UINT64_C(1) << 46)
            spool->damaged++;
        else
            spool->cut_off += (spool->header.chunks - in_file) * (chunk_bytes / sizeof(struct spool_operation));
    }
    spool->spans = xcalloc(chunks + 1, sizeof *spool->spans);
    spool->pairs = xcalloc(chunks + 2, sizeof *spool->pairs);
    spool->pairs[spool->n_pairs++] = spool->header.start;
    struct unfinished_chunk unfinished = read_unfinished(spool);
    for (size_t k = 0; k < chunks; k++)
        read_chunk(spool, SPOOL_CHUNKS_BEGIN + k * chunk_bytes, &unfinished);
    sort_chunks(spool);
}

/* Takes pages out of the process: whoever looks again reads the file again. */
static void forget(const struct spool *spool, size_t begin, size_t end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    begin = begin / page * page;
    madvise((void *)(uintptr_t)(spool->data + begin), end - begin, MADV_DONTNEED);
}

void spool_forget(const struct spool *spool, const struct spool_span *span)
{
    forget(spool, span->begin, span->end);
}

enum spool_open_result spool_open(const char *path, struct spool *spool, struct error *error)
{
    struct spool opened = {.path = xstrdup(path)};
    enum spool_open_result result = SPOOL_UNUSABLE;
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
        goto out;
    }
    if (S_ISREG(status.st_mode) && status.st_size == 0) {
        error_set(error, "%s: its process ended at once, in MPI_Init", path);
        result = SPOOL_BEGUN;
        goto out;
    }
    if (!S_ISREG(status.st_mode) || status.st_size < (off_t)SPOOL_HEADER_BYTES) {
        error_set(error, "%s: not a spool of mpistair (%s)", path,
                  S_ISREG(status.st_mode) ? "shorter than a header" : "not a file");
        goto out;
    }
    opened.size = (size_t)status.st_size;
    opened.file = mapped_file_open(file, opened.size);
    if (opened.file == NULL) {
        error_set(error, "%s: cannot be read: %s", path, strerror(errno));
        goto out;
    }
    opened.data = opened.file->data;
    copy_header(&opened.header, opened.data);
    /* If this part stayed mapped, its pages would come back with those of the first records, which the system maps
     * along. */
    munmap(opened.file->data, SPOOL_HEADER_BYTES);
    opened.file->dropped = SPOOL_HEADER_BYTES;
    if (opened.header.totals_bytes != SPOOL_TOTALS_BYTES || opened.size < SPOOL_CHUNKS_BEGIN)
        opened.header.totals_bytes = 0;
    result = check_header(path, &opened.header, error);
    if (result == SPOOL_READY) {
        read_chunks(&opened);
        forget(&opened, SPOOL_HEADER_BYTES, opened.size);
    }
out:
    if (file >= 0)
        close(file);
    if (result == SPOOL_READY)
        *spool = opened;
    else
        spool_close(&opened);
    return result;
}

/* Counters only grow; one that is not known once may be so later. */
static bool is_later_sample(const struct spool_counter_sample *one, const struct spool_counter_sample *before)
{
    bool later = one->at_ns > before->at_ns;
    for (int i = 0; i < COUNTERS; i++)
        later = later && (one->value[i] >= before->value[i] || before->value[i] == SPOOL_NOT_KNOWN);
    return later;
}

size_t spool_counters_read(const struct spool *spool, struct spool_counter_sample *samples, uint32_t *perf)
{
    struct spool_counters *counters = xcalloc(1, sizeof *counters);
    int file = open(spool->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t n = 0, most = 0;
    if (file >= 0 && pread(file, counters, sizeof *counters, SPOOL_COUNTERS_OFFSET) == (ssize_t)sizeof *counters)
        most = counters->n < SPOOL_COUNTER_SAMPLES ? counters->n : SPOOL_COUNTER_SAMPLES;
    if (file >= 0)
        close(file);
    for (size_t i = 0; i < most; i++) {
        const struct spool_counter_sample *sample = &counters->samples[i];
        if (sample->at_ns != 0 && sample->at_ns < SPOOL_TIME_LIMIT &&
            (n == 0 || is_later_sample(sample, samples + n - 1)))
            samples[n++] = *sample;
    }
    *perf = counters->perf <= COUNTERS_PERF_NONE ? counters->perf : COUNTERS_PERF_UNKNOWN;
    free(counters);
    return n;
}

void spool_network_read(const struct spool *spool, struct spool_network *network)
{
    int file = open(spool->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint32_t n = 0;
    if (file < 0 || pread(file, network, sizeof *network, SPOOL_NETWORK_OFFSET) != (ssize_t)sizeof *network)
        *network = (struct spool_network){0};
    if (file >= 0)
        close(file);
    network->n_interfaces = network->n_interfaces <= SPOOL_INTERFACES ? network->n_interfaces : 0;
    for (uint32_t i = 0; i < network->n_interfaces; i++)
        spool_clean_text(network->names[i], sizeof network->names[i]);
    for (uint32_t i = 0; i < network->n && i < SPOOL_NETWORK_SAMPLES; i++) {
        uint64_t at_ns = network->samples[i].at_ns;
        if (at_ns != 0 && at_ns < SPOOL_TIME_LIMIT && (n == 0 || at_ns > network->samples[n - 1].at_ns))
            network->samples[n++] = network->samples[i];
    }
    network->n = n;
}

bool spool_is_cut(const struct spool *spool)
{
    return spool->file->cut;
}

void spool_close(struct spool *spool)
{
    mapped_file_close(spool->file);
    free(spool->path);
    free(spool->spans);
    free(spool->pairs);
    *spool = (struct spool){0};
}

/* Returns how many records a rest that cannot be read may have held, without the zeroes that were never written. */
static uint64_t count_rest(const uint8_t *data, size_t begin, size_t end)
{
    while (end > begin && data[end - 1] == 0)
        end--;
    return (end - begin + sizeof(struct spool_operation) - 1) / sizeof(struct spool_operation);
}

/* Returns whether the call began, and its end (0: not reached) followed, within the process's life. */
static bool plausible_times(const struct spool *spool, uint64_t begin, uint64_t end)
{
    uint64_t start = spool->header.start.ticks; /* what is before it wraps to more than the limit */
    return begin - start < SPOOL_TIME_LIMIT && (end == 0 || (end >= begin && end - start < SPOOL_TIME_LIMIT));
}

/* The same of one call, or of several together, that took so long. */
static bool plausible_length(const struct spool *spool, uint64_t begin, uint64_t ticks)
{
    return ticks < UINT64_C(1) << 62 && plausible_times(spool, begin, begin + ticks);
}

/* How many processes of several worlds a communicator may have at most: ingest keeps a number for each. */
#define FOREIGN_LIMIT (1 << 20)

static bool plausible_communicator(const struct spool *spool, const struct spool_communicator *communicator)
{
    /* Communicators that exist from the start were made in MPI_Init, which began before the process's life does here.
     */
    bool is_given = communicator->creation == UINT32_MAX && communicator->begin_ticks <= communicator->end_ticks;
    return communicator->function < FN_COUNT && communicator->identity <= SPOOL_BY_TIME && communicator->size > 0 &&
           communicator->size <= (communicator->identity == SPOOL_BY_TIME ? FOREIGN_LIMIT : spool->header.world_size) &&
           communicator->rank >= 0 && communicator->rank < communicator->size && communicator->leader >= -1 &&
           communicator->leader < spool->header.world_size && communicator->remote_size >= 0 &&
           communicator->remote_size <= SPOOL_WORLD_LIMIT &&
           plausible_times(spool, is_given ? communicator->end_ticks : communicator->begin_ticks,
                           communicator->end_ticks);
}

static bool plausible_operation(const struct spool *spool, const struct spool_operation *operation)
{
    return operation->function < FN_COUNT && operation->bytes <= SPOOL_BYTES_LIMIT &&
           operation->peer >= SPOOL_UNKNOWN && (operation->tag >= 0 || operation->tag == SPOOL_ANY) &&
           plausible_times(spool, operation->post_ticks, operation->complete_ticks);
}

/* Checks what a record says of itself, without the rest of the run. */
static bool plausible(const struct spool *spool, const void *record)
{
    switch (*(const uint8_t *)record) {
    case SPOOL_OPERATION:
        return plausible_operation(spool, record);
    case SPOOL_CALL: {
        const struct spool_call *call = record;
        return call->function < FN_COUNT && plausible_length(spool, call->begin_ticks, call->call_ticks);
    }
    case SPOOL_IDLE: {
        const struct spool_idle *idle = record;
        return idle->function < FN_COUNT && idle->calls > 0 && idle->timed < idle->calls && idle->square >= 0 &&
               plausible_length(spool, idle->begin_ticks, spool_idle_ticks(idle));
    }
    case SPOOL_COLLECTIVE: {
        const struct spool_collective *collective = record;
        return collective->function < FN_COUNT && collective->bytes <= SPOOL_BYTES_LIMIT && collective->root >= -1 &&
               plausible_times(spool, collective->begin_ticks, collective->end_ticks);
    }
    case SPOOL_PERSISTENT: {
        const struct spool_persistent *persistent = record;
        return persistent->function < FN_COUNT && persistent->bytes <= SPOOL_BYTES_LIMIT &&
               persistent->peer >= SPOOL_UNKNOWN && plausible_times(spool, persistent->begin_ticks, 0);
    }
    case SPOOL_ACCESS: {
        const struct spool_access *access = record;
        return access->function < FN_COUNT && access->bytes <= SPOOL_BYTES_LIMIT && access->target >= -1 &&
               access->offset >= -1 && plausible_times(spool, access->begin_ticks, access->end_ticks);
    }
    case SPOOL_PARTITIONS: {
        const struct spool_partitions *partitions = record;
        return partitions->first_ticks <= partitions->last_ticks &&
               (partitions->last_ticks == 0 || plausible_times(spool, partitions->first_ticks, partitions->last_ticks));
    }
    case SPOOL_PARTITION: {
        const struct spool_partition *partition = record;
        return partition->function < FN_COUNT && plausible_times(spool, partition->ticks, 0);
    }
    case SPOOL_MARK:
        return plausible_times(spool, ((const struct spool_mark *)record)->ticks, 0);
    case SPOOL_NAME:
        return memchr(((const struct spool_name *)record)->name, 0, sizeof((struct spool_name *)0)->name) != NULL;
    case SPOOL_COMMUNICATOR:
        return plausible_communicator(spool, record);
    default:
        return true;
    }
}

const void *spool_next(struct spool_cursor *cursor)
{
    const struct spool *spool = cursor->spool;
    size_t end_span = cursor->end_span != 0 ? cursor->end_span : spool->n_spans;
    while (cursor->span < end_span) {
        const struct spool_span *span = &spool->spans[cursor->span];
        if (cursor->at < span->begin)
            cursor->at = span->begin;
        cursor->is_folded = cursor->at < span->folded;
        if (cursor->at + RECORD_STEP_BYTES <= span->end && spool->data[cursor->at] != SPOOL_NONE) {
            const uint8_t *record = spool->data + cursor->at;
            size_t bytes = spool_record_bytes(record, span->end - cursor->at);
            if (bytes > 0) {
                cursor->at += bytes;
                if (plausible(spool, record))
                    return record;
                cursor->damaged++;
                continue;
            }
            cursor->damaged += count_rest(spool->data, cursor->at, span->end);
        }
        spool_forget(spool, span);
        cursor->span++;
        cursor->at = 0;
    }
    return NULL;
}

static bool plausible_total(const struct spool_total *total)
{
    return total->function < FN_COUNT && total->peer >= TOTAL_NO_PEER && total->bin <= 64 &&
           total->calls <= SPOOL_CALLS_LIMIT && total->bytes <= SPOOL_BYTES_LIMIT && total->ticks < UINT64_C(1) << 62 &&
           total->longest_ticks <= total->ticks && total->square >= 0 && total->square < 1e300;
}

/* Takes out of a copy of the totals what cannot be. */
static void check_totals(struct spool_folded *folded)
{
    struct totals *totals = &folded->totals;
    for (uint32_t i = 0; i < totals->n_slots; i++) {
        if (totals->slots[i].calls == 0)
            continue;
        if (plausible_total(&totals->slots[i]) && totals->n_used < totals->n_slots - 1) {
            totals->n_used++;
        } else {
            totals->slots[i] = (struct spool_total){.calls = 0};
            folded->damaged++;
        }
    }
    struct spool_course *course = totals->course;
    bool begun = course->shift >= TOTALS_FIRST_SHIFT && course->shift < 64 && course->n <= TOTALS_WINDOWS;
    for (uint32_t i = 0; begun && i < course->n; i++) {
        const struct spool_window *window = &course->windows[i];
        for (int family = 0; family < WINDOW_FAMILIES; family++)
            begun = begun && window->ticks[family] < UINT64_C(1) << 62;
        begun = begun && window->calls <= SPOOL_CALLS_LIMIT && window->sent_bytes <= SPOOL_BYTES_LIMIT;
    }
    if (begun)
        return;
    folded->damaged += course->shift != 0;
    memset(course, 0, sizeof *course);
}

/* Puts back what the step changed during which the process ended. */
static void undo_step(struct spool_area *area)
{
    const struct spool_journal *journal = &area->journal;
    if (journal->state != JOURNAL_FOLDING)
        return;
    for (uint32_t i = journal->n_slots < JOURNAL_STEP ? journal->n_slots : JOURNAL_STEP; i-- > 0;)
        if (journal->slots[i].number < TOTALS_SLOTS)
            area->slots[journal->slots[i].number] = journal->slots[i].slot;
    area->course = journal->course;
    area->ghosts_half = journal->ghosts_half;
    area->ghosts_bytes = journal->ghosts_bytes;
}

static int compare_gaps(const void *left, const void *right)
{
    const struct spool_gap *a = left, *b = right;
    return ORDER(a->lane, b->lane)
               ?: ORDER(a->first_sequence, b->first_sequence) ?: ORDER(b->last_sequence, a->last_sequence);
}

/* Notes the ghosts of the area, without dead ones. */
static void read_ghosts(struct spool_folded *folded, const struct spool_area *area)
{
    const uint8_t *half = (const uint8_t *)area->ghosts[area->ghosts_half & 1];
    size_t end = area->ghosts_bytes <= GHOST_BYTES ? area->ghosts_bytes : GHOST_BYTES;
    for (size_t at = 0; at + sizeof(struct spool_ghost) <= end;) {
        const struct spool_ghost *ghost = (const void *)(half + at);
        size_t room = (end - at - sizeof *ghost) / sizeof ghost->entries[0];
        if (ghost->n > room || ghost->last_sequence < ghost->first_sequence) {
            folded->damaged++;
            break;
        }
        ARRAY_ADD(folded->gaps, folded->n_gaps,
                  (struct spool_gap){.lane = ghost->lane,
                                     .first_sequence = ghost->first_sequence,
                                     .last_sequence = ghost->last_sequence,
                                     .n = ghost->n,
                                     .entries = ghost->entries});
        at += spool_ghost_bytes(ghost->n);
    }
    if (folded->n_gaps == 0)
        return;
    qsort(folded->gaps, folded->n_gaps, sizeof *folded->gaps, compare_gaps);
    size_t kept = 1;
    for (size_t i = 1; i < folded->n_gaps; i++) {
        const struct spool_gap *before = &folded->gaps[kept - 1], *gap = &folded->gaps[i];
        if (gap->lane != before->lane || gap->first_sequence > before->last_sequence)
            folded->gaps[kept++] = *gap;
        else
            folded->damaged += gap->last_sequence > before->last_sequence;
    }
    folded->n_gaps = kept;
}

void spool_folded_read(const struct spool *spool, struct spool_folded *folded)
{
    *folded = (struct spool_folded){.totals.start_ticks = spool->header.start.ticks};
    if (area_of(spool) == NULL)
        return;
    struct spool_area *area = xmalloc(sizeof *area);
    memcpy(area, area_of(spool), sizeof *area);
    forget(spool, SPOOL_HEADER_BYTES, SPOOL_CHUNKS_BEGIN);
    undo_step(area);
    folded->area = area;
    folded->totals.slots = area->slots;
    folded->totals.n_slots = TOTALS_SLOTS;
    folded->totals.course = &area->course;
    check_totals(folded);
    read_ghosts(folded, area);
}

void spool_folded_free(struct spool_folded *folded)
{
    free(folded->area);
    free(folded->gaps);
    *folded = (struct spool_folded){0};
}
