/* Reads SimGrid's time-independent traces, as SMPI's replay takes them: a line an action, "PROCESS ACTION ...". A
 * file holds the actions of all processes, or names the files of each. It has no clock: computation is in flop,
 * taken for nanoseconds of a processor of 1 Gflop/s. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/import/causal.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "share/base/text_file.h"

enum { TIT_LINE_BYTES = 1 << 22, MOST_WORDS = 16, MOST_FILES = 1 << 16 };

/* Bytes of SMPI's datatypes by the number that the trace has. */
static const unsigned type_bytes[] = {8, 4, 1, 2, 8, 4, 1};

struct tit_reader {
    const char *path; /* of the file that is read */
    struct causal causal;
    int32_t n_ranks; /* first reading: the largest process + 1 */
    bool counting;
    uint64_t line;
    struct tit_rank {
        bool doubles; /* sizes without a type are of doubles */
        bool has_begun, has_ended;
        struct open_request {
            uint32_t number;
            bool is_send;
            int32_t peer, tag;
        } * open; /* [n_open] not waited for, the oldest first */
        size_t n_open;
    } * ranks;
    char **files; /* [n_files] that the file names */
    size_t n_files;
};

struct words {
    char *word[MOST_WORDS];
    int n;
};

static struct words split(char *line)
{
    struct words words = {.n = 0};
    for (char *word; words.n < MOST_WORDS && (word = strtok_r(NULL, " \t\n\v\f\r", &line)) != NULL;)
        words.word[words.n++] = word;
    return words;
}

/* Reads word i as a number from 0 to `most`; where it is missing, *value stays. */
static int take(const struct words *words, int i, double most, double *value, struct error *error)
{
    double read;
    if (i >= words->n)
        return 0;
    if (number_real(words->word[i], &read) != NULL || read < 0 || read > most)
        return error_set(error, "%s: '%s': expected a number from 0 to %g", words->word[1], words->word[i], most);
    *value = read;
    return 0;
}

/* Reads a size at word i and a type at word j. */
static int take_bytes(const struct tit_reader *reader, int32_t rank, const struct words *words, int i, int j,
                      uint64_t *bytes, struct error *error)
{
    double count = -1, type = reader->ranks[rank].doubles ? 0 : 6;
    double most = (double)(sizeof type_bytes / sizeof *type_bytes) - 1;
    if (take(words, i, ldexp(1, 58), &count, error) != 0 || take(words, j, most, &type, error) != 0)
        return -1;
    if (count < 0)
        return error_set(error, "%s: expected a size", words->word[1]);
    *bytes = (uint64_t)count * type_bytes[(size_t)type];
    return 0;
}

static int tit_message(struct tit_reader *reader, int32_t rank, const struct words *words, struct error *error)
{
    const char *action = words->word[1];
    bool nonblocking = action[0] == 'i', is_send = strstr(action, "send") != NULL;
    double peer = -1, tag = -1;
    struct causal_step step = {.kind = is_send ? CAUSAL_SEND : CAUSAL_RECEIVE, .line = reader->line};
    if (take(words, 2, reader->n_ranks - 1, &peer, error) != 0 || take(words, 3, INT32_MAX, &tag, error) != 0 ||
        take_bytes(reader, rank, words, 4, 5, &step.amount, error) != 0)
        return -1;
    step.function = is_send ? (nonblocking ? FN_Isend : FN_Send) : nonblocking ? FN_Irecv : FN_Recv;
    step.blocking = !nonblocking;
    step.peer = (int32_t)peer;
    step.tag = (int32_t)tag;
    uint32_t request = causal_post(&reader->causal, rank, step);
    struct tit_rank *of = &reader->ranks[rank];
    if (nonblocking)
        ARRAY_ADD(of->open, of->n_open, (struct open_request){request, is_send, step.peer, step.tag});
    return 0;
}

/* Waits for the oldest open request of a message from src to dst with a tag. */
static int take_wait(struct tit_reader *reader, int32_t rank, const struct words *words, struct error *error)
{
    double src = -1, dst = -1, tag = -1;
    struct tit_rank *of = &reader->ranks[rank];
    if (take(words, 2, reader->n_ranks - 1, &src, error) != 0 ||
        take(words, 3, reader->n_ranks - 1, &dst, error) != 0 || take(words, 4, INT32_MAX, &tag, error) != 0)
        return -1;
    for (size_t i = 0; i < of->n_open; i++) {
        const struct open_request *open = &of->open[i];
        if (open->tag != (int32_t)tag || open->peer != (int32_t)(open->is_send ? dst : src) ||
            rank != (int32_t)(open->is_send ? src : dst))
            continue;
        causal_wait(&reader->causal, rank, &open->number, 1, reader->line);
        memmove(of->open + i, of->open + i + 1, (--of->n_open - i) * sizeof *of->open);
        return 0;
    }
    return error_set(error, "wait: no open request from %g to %g with tag %g", src, dst, tag);
}

static void wait_all(struct tit_reader *reader, int32_t rank)
{
    struct tit_rank *of = &reader->ranks[rank];
    uint32_t *numbers = xcalloc(of->n_open, sizeof *numbers);
    for (size_t i = 0; i < of->n_open; i++)
        numbers[i] = of->open[i].number;
    if (of->n_open > 0)
        causal_wait(&reader->causal, rank, numbers, (uint32_t)of->n_open, reader->line);
    of->n_open = 0;
    free(numbers);
}

/* Collectives: where the size, the type and the root of an action stand. */
static const struct tit_action {
    const char *name;
    uint16_t function;
    int size, type, root; /* words; 0: none */
} tit_collectives[] = {
    {"barrier", FN_Barrier, 0, 0, 0},
    {"bcast", FN_Bcast, 2, 4, 3},
    {"reduce", FN_Reduce, 2, 5, 4},
    {"allreduce", FN_Allreduce, 2, 4, 0},
    {"alltoall", FN_Alltoall, 2, 4, 0},
    {"alltoallv", FN_Alltoallv, 2, 0, 0},
    {"gather", FN_Gather, 2, 5, 4},
    {"gatherv", FN_Gatherv, 2, 0, 0},
    {"allgather", FN_Allgather, 2, 4, 0},
    {"allgatherv", FN_Allgatherv, 2, 0, 0},
    {"scatter", FN_Scatter, 2, 5, 4},
    {"scatterv", FN_Scatterv, 2, 0, 0},
    {"reducescatter", FN_Reduce_scatter, 2, 0, 0},
    {"scan", FN_Scan, 2, 4, 0},
    {"exscan", FN_Exscan, 2, 4, 0},
};

static int tit_collective(struct tit_reader *reader, int32_t rank, const struct words *words,
                          const struct tit_action *of, struct error *error)
{
    double root = of->root > 0 ? 0 : -1;
    uint64_t bytes = 0;
    if ((of->size > 0 &&
         take_bytes(reader, rank, words, of->size, of->type > 0 ? of->type : MOST_WORDS, &bytes, error) != 0) ||
        (of->root > 0 && take(words, of->root, reader->n_ranks - 1, &root, error) != 0))
        return -1;
    causal_collective(&reader->causal, rank, of->function, bytes, (int32_t)root, reader->line);
    return 0;
}

static int take_action(struct tit_reader *reader, int32_t rank, const struct words *words, struct error *error)
{
    const char *action = words->word[1];
    double amount = -1;
    struct tit_rank *of = &reader->ranks[rank];
    if (of->has_ended)
        return error_set(error, "%s: process %" PRId32 " has finalized above", action, rank);
    of->has_ended = strcmp(action, "finalize") == 0;
    if (WORD_IS_ONE_OF(action, "comm_size", "comm_split", "comm_dup", "finalize", "location", "test"))
        return 0;
    if (strcmp(action, "init") == 0) {
        if (of->has_begun)
            return error_set(error, "init: process %" PRId32 " again", rank);
        of->has_begun = true;
        of->doubles = words->n > 2;
        return 0;
    }
    if (strcmp(action, "compute") == 0 || strcmp(action, "sleep") == 0) {
        if (take(words, 2, ldexp(1, 62), &amount, error) != 0)
            return -1;
        if (amount < 0)
            return error_set(error, "%s: expected an amount", action);
        amount *= action[0] == 's' ? 1e9 : 1;
        causal_compute(&reader->causal, rank, (uint64_t)fmin(amount, ldexp(1, 62)), reader->line);
        return 0;
    }
    if (WORD_IS_ONE_OF(action, "send", "isend", "recv", "irecv"))
        return tit_message(reader, rank, words, error);
    if (strcmp(action, "wait") == 0)
        return take_wait(reader, rank, words, error);
    if (strcmp(action, "waitall") == 0) {
        wait_all(reader, rank);
        return 0;
    }
    for (size_t i = 0; i < sizeof tit_collectives / sizeof *tit_collectives; i++)
        if (strcmp(action, tit_collectives[i].name) == 0)
            return tit_collective(reader, rank, words, &tit_collectives[i], error);
    return error_set(error, "'%s': no action that is known", action);
}

static int tit_line(void *context, char *line, struct error *error)
{
    struct tit_reader *reader = context;
    reader->line++;
    struct words words = split(line);
    uint64_t rank;
    if (words.n == 0 || words.word[0][0] == '#')
        return 0;
    if (words.n == 1 && reader->counting) { /* the name of a process's file */
        if (reader->n_files >= MOST_FILES)
            return error_set(error, "more than %d files", MOST_FILES);
        ARRAY_ADD(reader->files, reader->n_files, xstrdup(words.word[0]));
        return 0;
    }
    if (words.n < 2 || number_u64(words.word[0], &rank) != NULL || rank >= IMPORT_MOST_RANKS)
        return error_set(error, "'%s': expected 'PROCESS ACTION ...'", words.word[0]);
    if (reader->counting) {
        reader->n_ranks = (int32_t)rank >= reader->n_ranks ? (int32_t)rank + 1 : reader->n_ranks;
        return 0;
    }
    return take_action(reader, (int32_t)rank, &words, error);
}

/* A name in the list is relative to the list's folder. */
static char *beside(const char *list, const char *name)
{
    const char *slash = strrchr(list, '/');
    return name[0] == '/' || !slash ? xstrdup(name) : xasprintf("%.*s/%s", (int)(slash - list), list, name);
}

static int read_file(struct tit_reader *reader, const char *path, struct error *error)
{
    reader->path = path;
    reader->causal.path = path;
    reader->line = 0;
    return text_file_lines(path, TIT_LINE_BYTES, tit_line, reader, error);
}

static int read_all(struct tit_reader *reader, char *const *paths, size_t n, struct error *error)
{
    int result = 0;
    for (size_t i = 0; i < n && result == 0; i++)
        result = read_file(reader, paths[i], error);
    return result;
}

/* Finds the files of all processes: those given, or those that they name. */
static int find_files(struct tit_reader *reader, const char *const *given, size_t n_given, char ***paths, size_t *n,
                      struct error *error)
{
    for (size_t i = 0; i < n_given; i++) {
        size_t before = reader->n_files;
        if (read_file(reader, given[i], error) != 0)
            return -1;
        for (size_t k = before; k < reader->n_files; k++)
            ARRAY_ADD(*paths, *n, beside(given[i], reader->files[k]));
        if (reader->n_files == before)
            ARRAY_ADD(*paths, *n, xstrdup(given[i]));
    }
    size_t n_named = reader->n_files;
    if (n_named > 0 && read_all(reader, *paths, *n, error) != 0)
        return -1;
    if (reader->n_files > n_named)
        return error_set(error, "%s: names files, as does the file that names it", reader->path);
    return reader->n_ranks > 0 ? 0
                               : error_set(error, "%s:%" PRIu64 ": no action of any process", reader->path,
                                           reader->line > 0 ? reader->line : 1);
}

int import_tit(const char *const *given, size_t n_given, struct import_run *run, struct error *error)
{
    struct tit_reader reader = {.counting = true};
    char **paths = NULL;
    size_t n = 0;
    int result = find_files(&reader, given, n_given, &paths, &n, error);
    if (result == 0) {
        reader.counting = false;
        reader.ranks = xcalloc((size_t)reader.n_ranks, sizeof *reader.ranks);
        causal_open(&reader.causal, given[0], reader.n_ranks);
        result = read_all(&reader, paths, n, error);
    }
    if (result == 0) {
        for (int32_t i = 0; i < reader.n_ranks; i++)
            wait_all(&reader, i);
        reader.causal.path = given[0];
        run->n_ranks = reader.n_ranks;
        run->format = "time-independent trace, without a clock: 1 flop is 1 ns, messages in no time";
        result = causal_write(&reader.causal, run, error);
    }
    for (int32_t i = 0; reader.ranks && i < reader.n_ranks; i++)
        free(reader.ranks[i].open);
    for (size_t i = 0; i < reader.n_files; i++)
        free(reader.files[i]);
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(reader.ranks);
    free(reader.files);
    free(paths);
    causal_release(&reader.causal);
    return result;
}
