/* Brings the spools that lie on disks of single nodes to one folder, through the MPI and by the launcher of the job
 * that left them, since both reach those nodes and nothing else may. `mpistair run` and `mpistair ingest` start it
 * (interpose/run/collect.c); one process of each node works and the others sleep:
 *
 *   1. Processes that see the same folders are a group, and the lowest rank of a group works for it. Who ingests has
 *      put a token into what it sees itself: such folders need not be brought, and the lowest rank that sees the token
 *      in the folder of destination takes the files of all.
 *   2. The taker lets one group after the other send. It receives blocks of fixed size, two ahead, so its memory is
 *      bounded and no sender runs ahead of the disk. A block says which bytes of which file it has, and their sum.
 *      Pages of zeroes, which most of a short run's spool are, are neither sent nor written.
 *   3. A file gets its name once all of its bytes are there. When all files of all groups are, and on the disk, the
 *      taker writes a report, and the groups remove what they have sent if they were told so. If anything failed,
 *      nobody removes anything.
 *
 * All waits look at their requests and sleep: with more processes than cores none spins. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/collect/collected.h"
#include "interpose/spool/event.h"
#include "interpose/spool/readers.h"
#include "share/base/array.h"
#include "share/base/error.h"
#include "share/base/hash.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/output_file.h"
#include "share/base/one_of.h"

#define BLOCK_BYTES   ((size_t)4 << 20)
#define IDLE_S        60.0 /* without a block from the group whose turn it is: its node is gone */
#define SLEEP_MOST_NS 2000000L
#define TOGETHER_S    120U /* until all processes have met, and at the end: connections may hang */

enum {
    BLOCKS_AHEAD = 2,
    SPINS = 100,
    TAG_TURN = 1,
    TAG_BLOCK = 2,
    PAGE_BYTES = 4096,
    PAGES = BLOCK_BYTES / PAGE_BYTES
};

/* In front of the bytes of a block. */
struct block_head {
    char name[256]; /* of the file, without its folder */
    uint64_t file_bytes, offset, length;
    uint64_t n_bytes;        /* that follow: the pages that are not zero, one behind the other */
    uint8_t is_there[PAGES]; /* of each page: not zero */
    uint64_t sum;            /* of the bytes and of is_there */
    int32_t error;           /* errno with which the file could not be read, then the bytes are missing; 0 */
    int32_t pad;
};

struct block {
    struct block_head head;
    char bytes[BLOCK_BYTES];
};

struct sent_file {
    char *folder, name[256];
    uint64_t bytes;
};

/* What a group has, as the taker learns it. */
struct group {
    char host[REPORT_HOST_BYTES];
    uint64_t n_files, n_bytes, n_blocks;
};

struct collector {
    const char *destination, *token;
    uint64_t since_unix_ns; /* runs that began before are others'; 0: all are taken */
    bool is_removed;
    char **keys; /* [n_keys] of runs to be taken whenever they began */
    size_t n_keys;
    char **folders; /* [n_folders] */
    int n_folders;
    int rank, size;
    struct sent_file *files; /* [n_files] of this group */
    size_t n_files;
    struct group own;
};

/* Waits for a request; ends the job where that takes longer than idle_s (0: no limit). */
static void wait_for(MPI_Request *request, double idle_s, const char *whom)
{
    int done = 0;
    double begin_s = clock_now_s();
    long sleep_ns = 20000;
    for (int spins = 0; MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done; spins++) {
        if (spins < SPINS) {
            sched_yield();
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
        sleep_ns = sleep_ns < SLEEP_MOST_NS ? sleep_ns + sleep_ns / 4 : sleep_ns;
        if (idle_s > 0 && clock_now_s() - begin_s > idle_s) {
            fprintf(stderr, "mpistair: nothing came from %s for %.0f s\n", whom, idle_s);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* Returns a sum of bytes in which each one and its place count. */
static uint64_t sum_of(const void *begin, size_t n)
{
    const char *bytes = begin;
    uint64_t sum = n, word = 0;
    for (; n >= sizeof word; bytes += sizeof word, n -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return hash_bytes(sum, bytes, n);
}

static bool sees_token(const struct collector *collector, const char *folder)
{
    char path[PATH_MAX], text[128] = "";
    snprintf(path, sizeof path, "%s/" REPORT_TOKEN, folder);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read && strcmp(text, collector->token) == 0;
}

static bool is_named(const char *name, const char *key)
{
    size_t length = strlen(key);
    return strncmp(name, key, length) == 0 && (name[length] == '-' || name[length] == '.');
}

/* Adds the keys of runs in a folder that began late enough to those that are taken. */
static void find_keys(struct collector *collector, DIR *folder)
{
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct spool_header header;
        int file = ends_with(entry->d_name, SPOOL_SUFFIX)
                       ? openat(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
                       : -1;
        bool is_read = file >= 0 && read(file, &header, sizeof header) == (ssize_t)sizeof header;
        if (file >= 0)
            close(file);
        if (!is_read || header.magic != SPOOL_MAGIC || header.started_unix_ns < collector->since_unix_ns)
            continue;
        header.run_key[sizeof header.run_key - 1] = '\0';
        size_t n = collector->n_keys;
        while (n > 0 && strcmp(collector->keys[n - 1], header.run_key) != 0)
            n--;
        if (n == 0 && header.run_key[0] != '\0')
            ARRAY_ADD(collector->keys, collector->n_keys, xstrdup(header.run_key));
    }
    rewinddir(folder);
}

static bool is_taken(const struct collector *collector, const char *name)
{
    if (!ends_with(name, SPOOL_SUFFIX) && !ends_with(name, ".maps") && !ends_with(name, ".xml") &&
        !ends_with(name, ".run"))
        return false;
    bool is_ours = collector->since_unix_ns == 0;
    for (size_t i = 0; i < collector->n_keys && !is_ours; i++)
        is_ours = is_named(name, collector->keys[i]);
    return is_ours && strlen(name) < sizeof((struct block_head *)0)->name;
}

/* Lists what this group has to send. */
static void list_files(struct collector *collector)
{
    for (int i = 0; i < collector->n_folders; i++) {
        DIR *folder = sees_token(collector, collector->folders[i]) ? NULL : opendir(collector->folders[i]);
        if (folder == NULL)
            continue;
        find_keys(collector, folder);
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            struct stat status;
            struct sent_file file = {.folder = collector->folders[i]};
            if (!is_taken(collector, entry->d_name) ||
                fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
                continue;
            strcpy(file.name, entry->d_name);
            file.bytes = (uint64_t)status.st_size;
            ARRAY_ADD(collector->files, collector->n_files, file);
            collector->own.n_files++;
            collector->own.n_bytes += file.bytes;
            collector->own.n_blocks += file.bytes / BLOCK_BYTES + (file.bytes % BLOCK_BYTES > 0 || file.bytes == 0);
        }
        closedir(folder);
    }
}

static uint64_t block_sum(const struct block *block)
{
    return sum_of(block->bytes, block->head.n_bytes) ^ sum_of(block->head.is_there, sizeof block->head.is_there);
}

static size_t page_length(const struct block_head *head, size_t page)
{
    size_t begin = page * PAGE_BYTES;
    return begin >= head->length ? 0 : head->length - begin < PAGE_BYTES ? head->length - begin : PAGE_BYTES;
}

/* Leaves out the pages that are zero. */
static void pack(struct block *block)
{
    struct block_head *head = &block->head;
    size_t n;
    for (size_t page = 0; page < PAGES && (n = page_length(head, page)) > 0; page++) {
        const char *bytes = block->bytes + page * PAGE_BYTES;
        if (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0)
            continue;
        head->is_there[page] = 1;
        memmove(block->bytes + head->n_bytes, bytes, n);
        head->n_bytes += n;
    }
}

/* A place in the blocks of this group's files. */
struct reading {
    const struct collector *collector;
    size_t file;
    uint64_t offset;
    int descriptor, error;
};

static void read_block(struct reading *reading, struct block *block)
{
    const struct sent_file *file = &reading->collector->files[reading->file];
    if (reading->offset == 0) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", file->folder, file->name);
        reading->descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        reading->error = reading->descriptor < 0 ? errno : 0;
    }
    uint64_t left = file->bytes - reading->offset, length = left < BLOCK_BYTES ? left : BLOCK_BYTES;
    block->head = (struct block_head){.file_bytes = file->bytes, .offset = reading->offset, .length = length};
    strcpy(block->head.name, file->name);
    for (size_t n = 0; reading->error == 0 && n < length;) {
        ssize_t got = pread(reading->descriptor, block->bytes + n, length - n, (off_t)(reading->offset + n));
        if (got <= 0) /* an end before its size: somebody has cut it off */
            reading->error = got < 0 ? errno : ENODATA;
        n += got > 0 ? (size_t)got : 0;
    }
    block->head.error = reading->error;
    if (reading->error == 0)
        pack(block);
    block->head.sum = block_sum(block);
    reading->offset += length;
    if (reading->offset < file->bytes)
        return;
    if (reading->descriptor >= 0)
        close(reading->descriptor);
    reading->file++;
    reading->offset = 0;
}

/* Writes what comes from one group. */
struct writing {
    const struct collector *collector;
    char temporary[PATH_MAX], name[256];
    uint64_t offset; /* the next byte */
    int descriptor;
    uint64_t n_failed; /* files */
    char reason[256];  /* of the first of them */
    bool is_failing;   /* the file under way */
};

static void fail_file(struct writing *writing, const char *name, const char *reason)
{
    writing->is_failing = true;
    if (writing->n_failed++ == 0)
        snprintf(writing->reason, sizeof writing->reason, "%.128s: %s", name, reason);
}

static void begin_file(struct writing *writing, const struct block_head *head)
{
    writing->is_failing = false;
    writing->offset = 0;
    snprintf(writing->name, sizeof writing->name, "%s", head->name);
    snprintf(writing->temporary, sizeof writing->temporary, "%s/" OUTPUT_UNFINISHED "XXXXXX",
             writing->collector->destination);
    writing->descriptor = mkostemp(writing->temporary, O_CLOEXEC);
    if (writing->descriptor < 0) {
        fail_file(writing, head->name, strerror(errno));
        return;
    }
    (void)fchmod(writing->descriptor, readers_file_mode());
    if (ftruncate(writing->descriptor, (off_t)head->file_bytes) != 0)
        fail_file(writing, head->name, strerror(errno));
}

/* Writes the pages of a block that are there, those side by side at once. */
static void write_pages(struct writing *writing, const struct block *block)
{
    const struct block_head *head = &block->head;
    const char *bytes = block->bytes;
    for (size_t page = 0; page < PAGES && !writing->is_failing; page++) {
        size_t first = page, n = 0;
        for (; page < PAGES && head->is_there[page]; page++)
            n += page_length(head, page);
        for (size_t done = 0; done < n && !writing->is_failing;) {
            ssize_t put =
                pwrite(writing->descriptor, bytes + done, n - done, (off_t)(head->offset + first * PAGE_BYTES + done));
            if (put < 0 && errno != EINTR)
                fail_file(writing, head->name, strerror(errno));
            done += put > 0 ? (size_t)put : 0;
        }
        bytes += n;
    }
}

/* True if what a block says of itself can be. */
static bool is_sound(const struct block_head *head)
{
    size_t n = 0;
    for (size_t page = 0; page < PAGES; page++)
        n += head->is_there[page] ? page_length(head, page) : 0;
    return memchr(head->name, '\0', sizeof head->name) != NULL && strchr(head->name, '/') == NULL &&
           head->length <= BLOCK_BYTES && n == head->n_bytes;
}

static void end_file(struct writing *writing)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", writing->collector->destination, writing->name);
    if (writing->descriptor >= 0 && close(writing->descriptor) != 0 && !writing->is_failing)
        fail_file(writing, writing->name, strerror(errno));
    if (writing->descriptor >= 0 && !writing->is_failing && rename(writing->temporary, path) != 0)
        fail_file(writing, writing->name, strerror(errno));
    if (writing->descriptor >= 0 && writing->is_failing)
        unlink(writing->temporary);
    writing->descriptor = -1;
}

static void write_block(struct writing *writing, const struct block *block)
{
    const struct block_head *head = &block->head;
    if (!is_sound(head)) {
        fail_file(writing, "a block", "damaged on its way");
        return;
    }
    if (head->offset == 0)
        begin_file(writing, head);
    if (!writing->is_failing && head->error != 0)
        fail_file(writing, head->name, strerror(head->error));
    if (!writing->is_failing &&
        (head->offset != writing->offset || strcmp(head->name, writing->name) != 0 || head->sum != block_sum(block)))
        fail_file(writing, head->name, "damaged on its way");
    write_pages(writing, block);
    writing->offset += head->length;
    if (head->offset + head->length == head->file_bytes)
        end_file(writing);
}

/* Sends the files of this group once it is its turn. */
static void send_files(struct collector *collector, int taker, MPI_Comm workers)
{
    struct reading reading = {.collector = collector};
    struct block *blocks = xcalloc(BLOCKS_AHEAD, sizeof *blocks);
    MPI_Request requests[BLOCKS_AHEAD], turn;
    char go;
    for (int i = 0; i < BLOCKS_AHEAD; i++)
        requests[i] = MPI_REQUEST_NULL;
    MPI_Irecv(&go, 1, MPI_BYTE, taker, TAG_TURN, workers, &turn);
    wait_for(&turn, 0, "");
    for (uint64_t i = 0; i < collector->own.n_blocks; i++) {
        size_t slot = i % BLOCKS_AHEAD;
        wait_for(&requests[slot], IDLE_S, "the process that takes the spools");
        read_block(&reading, &blocks[slot]);
        MPI_Isend(&blocks[slot], (int)(sizeof blocks[slot].head + blocks[slot].head.n_bytes), MPI_BYTE, taker,
                  TAG_BLOCK, workers, &requests[slot]);
    }
    for (int i = 0; i < BLOCKS_AHEAD; i++)
        wait_for(&requests[i], IDLE_S, "the process that takes the spools");
    free(blocks);
}

/* Takes the files of one group, our own among them. */
static void take_files(struct writing *writing, const struct group *group, int worker, bool is_own, MPI_Comm workers,
                       struct block *blocks)
{
    struct reading reading = {.collector = writing->collector};
    MPI_Request requests[BLOCKS_AHEAD], turn;
    char go = 1;
    uint64_t n_posted = 0;
    if (!is_own)
        MPI_Isend(&go, 1, MPI_BYTE, worker, TAG_TURN, workers, &turn);
    for (uint64_t i = 0; i < group->n_blocks; i++) {
        for (; !is_own && n_posted < group->n_blocks && n_posted < i + BLOCKS_AHEAD; n_posted++)
            MPI_Irecv(&blocks[n_posted % BLOCKS_AHEAD], (int)sizeof *blocks, MPI_BYTE, worker, TAG_BLOCK, workers,
                      &requests[n_posted % BLOCKS_AHEAD]);
        struct block *block = &blocks[i % BLOCKS_AHEAD];
        if (is_own)
            read_block(&reading, block);
        else
            wait_for(&requests[i % BLOCKS_AHEAD], IDLE_S, group->host);
        write_block(writing, block);
    }
    if (!is_own)
        wait_for(&turn, IDLE_S, group->host);
}

/* Takes all groups' files and writes the report. Returns whether all is there. */
static bool take_all(const struct collector *collector, const struct group *groups, int n_groups, int own,
                     MPI_Comm workers)
{
    struct block *blocks = xcalloc(BLOCKS_AHEAD, sizeof *blocks);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" REPORT_NAME, collector->destination);
    struct output_file report;
    struct error error;
    bool is_whole = true;
    if (output_file_open_in(&report, path, collector->destination, &error) != 0) {
        error_report(&error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < n_groups; i++) {
        struct writing writing = {.collector = collector, .descriptor = -1};
        take_files(&writing, &groups[i], i, i == own, workers, blocks);
        is_whole = is_whole && writing.n_failed == 0;
        fprintf(report.stream, REPORT_NODE_FORMAT, groups[i].host, groups[i].n_files, groups[i].n_bytes,
                writing.n_failed, writing.reason);
    }
    int folder = open(collector->destination, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || syncfs(folder) != 0) /* what the nodes remove must have outlived a loss of power here */
        is_whole = false;
    if (folder >= 0)
        close(folder);
    fprintf(report.stream, "%s %s\n", is_whole ? REPORT_WHOLE : REPORT_PARTS, collector->token);
    if (output_file_commit(&report, &error) != 0) {
        is_whole = false;
        error_report(&error);
    }
    free(blocks);
    return is_whole;
}

static void remove_files(const struct collector *collector)
{
    for (size_t i = 0; i < collector->n_files; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", collector->files[i].folder, collector->files[i].name);
        unlink(path);
    }
}

/* What each process tells all: which folders it sees, and whether one of them is the destination. */
struct place {
    uint64_t folders; /* the same where they are the same */
    int32_t sees_destination, pad;
};

static uint64_t hash_folder(uint64_t hash, const char *folder)
{
    struct stat status;
    if (stat(folder, &status) != 0)
        return hash_bytes(hash, "", 1);
    hash = hash_bytes(hash, &status.st_dev, sizeof status.st_dev);
    return hash_bytes(hash, &status.st_ino, sizeof status.st_ino);
}

static struct place find_place(const struct collector *collector)
{
    uint64_t hash = hash_text(HASH_BASIS, collector->own.host);
    for (int i = 0; i < collector->n_folders; i++)
        hash = hash_folder(hash, collector->folders[i]);
    return (struct place){hash_folder(hash, collector->destination), sees_token(collector, collector->destination), 0};
}

/* Works for the group: all of its files to the taker, or all files of all groups to the destination. */
static void work(struct collector *collector, const struct place *place, MPI_Comm workers)
{
    int n_groups, own, taker = -1;
    MPI_Comm_size(workers, &n_groups);
    MPI_Comm_rank(workers, &own);
    list_files(collector);
    struct group *groups = xcalloc((size_t)n_groups, sizeof *groups);
    int32_t *sees = xcalloc((size_t)n_groups, sizeof *sees);
    MPI_Allgather(&place->sees_destination, 1, MPI_INT32_T, sees, 1, MPI_INT32_T, workers);
    for (int i = n_groups - 1; i >= 0; i--)
        if (sees[i])
            taker = i;
    char is_whole = 0;
    if (taker < 0) {
        if (own == 0)
            fprintf(stderr, "mpistair: " REPORT_UNSEEN " %s\n", collector->destination);
    } else {
        MPI_Gather(&collector->own, sizeof collector->own, MPI_BYTE, groups, sizeof collector->own, MPI_BYTE, taker,
                   workers);
        alarm(0);
        if (own == taker)
            is_whole = take_all(collector, groups, n_groups, own, workers);
        else
            send_files(collector, taker, workers);
        MPI_Request request;
        MPI_Ibcast(&is_whole, 1, MPI_BYTE, taker, workers, &request);
        wait_for(&request, 0, "");
    }
    if (is_whole && collector->is_removed)
        remove_files(collector);
    free(groups);
    free(sees);
}

/* True where a launcher of another MPI started us: each process believes to be alone. */
static bool is_apart(int size)
{
    static const char *const counts[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; size == 1 && i < sizeof counts / sizeof counts[0]; i++)
        if (getenv(counts[i]) != NULL && atoi(getenv(counts[i])) > 1)
            return true;
    return false;
}

static void collect_all(struct collector *collector)
{
    struct place place = find_place(collector), *places = xcalloc((size_t)collector->size, sizeof *places);
    MPI_Comm workers;
    MPI_Allgather(&place, sizeof place, MPI_BYTE, places, sizeof place, MPI_BYTE, MPI_COMM_WORLD);
    int leader = 0;
    while (places[leader].folders != place.folders)
        leader++;
    free(places);
    MPI_Comm_split(MPI_COMM_WORLD, leader == collector->rank ? 0 : MPI_UNDEFINED, collector->rank, &workers);
    if (workers != MPI_COMM_NULL) {
        work(collector, &place, workers);
        MPI_Comm_free(&workers);
    }
    alarm(0);
    MPI_Request end;
    MPI_Ibarrier(MPI_COMM_WORLD, &end);
    wait_for(&end, 0, "");
}

/* Reads DESTINATION TOKEN SINCE_UNIX_NS keep|remove N_KEYS KEY... FOLDER... */
static bool read_arguments(struct collector *collector, int argc, char **argv)
{
    int n = argc > 6 ? atoi(argv[5]) : 0;
    if (argc < 7 || n < 0 || argc < 7 + n)
        return false;
    collector->destination = argv[1];
    collector->token = argv[2];
    collector->since_unix_ns = strtoull(argv[3], NULL, 10);
    collector->is_removed = strcmp(argv[4], "remove") == 0;
    for (int i = 0; i < n; i++)
        ARRAY_ADD(collector->keys, collector->n_keys, xstrdup(argv[6 + i]));
    collector->folders = argv + 6 + n;
    collector->n_folders = argc - 6 - n;
    return true;
}

int main(int argc, char **argv)
{
    struct collector collector = {.destination = NULL};
    alarm(TOGETHER_S); /* its signal ends the process, and the launcher then the others */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &collector.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &collector.size);
    gethostname(collector.own.host, sizeof collector.own.host - 1);
    if (!read_arguments(&collector, argc, argv)) {
        if (collector.rank == 0)
            fputs("mpistair-collector: is started by mpistair run and mpistair ingest\n", stderr);
    } else if (is_apart(collector.size))
        fputs("mpistair-collector: " REPORT_OTHER_MPI "\n", stderr);
    else
        collect_all(&collector);
    for (size_t i = 0; i < collector.n_keys; i++)
        free(collector.keys[i]);
    free(collector.keys);
    free(collector.files);
    alarm(TOGETHER_S);
    MPI_Finalize();
    return 0;
}
