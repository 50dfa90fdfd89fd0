/* Reads GOAL, the text of which LogGOPSim makes schedules (Hoefer, Siebert, Lumsdaine: Group Operation Assembly
 * Language, ICPP 2009): operations with labels, and which requires which. It has no clock. A rank's operations are
 * put in an order in which each stands behind what it requires, else that of the file. A send or receive is
 * nonblocking, and waited for by the first operation that requires it, or at the end. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/import/causal.h"
#include "share/base/array.h"
#include "share/base/hash.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/text_file.h"

enum { GOAL_LINE_BYTES = 1 << 16, MOST_NS_LOG2 = 62 };

struct operation {
    struct causal_step step;
    uint32_t *requires; /* [n_requires] operations of the rank; those that need to be complete have bit 31 clear */
    size_t n_requires;
    uint32_t request;
    bool is_placed, is_visited, is_waited;
};

/* Requires the begin alone. */
#define BEGUN (UINT32_C(1) << 31)

struct goal_reader {
    struct causal causal;
    const char *path;
    bool has_ranks;
    int32_t rank; /* -1: outside of a rank */
    bool *seen;   /* [n_ranks] */
    struct map labels;
    struct operation *operations; /* [n_operations] of the rank */
    size_t n_operations;
    uint64_t line, further_processors;
};

/* Returns the next word and goes behind it; NULL at the end. Words end at blanks. */
static char *next_word(char **at)
{
    return strtok_r(NULL, " \t\n\v\f\r", at);
}

/* Reads `N`, or `Nb`. */
static int take_count(const char *word, uint64_t most, uint64_t *value)
{
    char *end = NULL;
    if (!word || !isdigit((unsigned char)*word))
        return -1;
    unsigned long long read = strtoull(word, &end, 10);
    if (*end == 'b')
        end++;
    if (*end != '\0' || read > most || strlen(word) > 20)
        return -1;
    *value = read;
    return 0;
}

static uint32_t *label_at(struct goal_reader *reader, const char *label)
{
    uint64_t first = 0;
    memcpy(&first, label, strlen(label) < 8 ? strlen(label) : 8);
    return map_at(&reader->labels, (struct map_key){hash_text(HASH_BASIS, label), first, strlen(label)});
}

/* Reads `send 10b to 1 tag 5 cpu 0` behind the label. */
static int goal_message(struct goal_reader *reader, struct operation *operation, bool is_send, char *at,
                        struct error *error)
{
    uint64_t bytes, peer = 0, tag = 0;
    const char *toward = is_send ? "to" : "from";
    const char *size = next_word(&at), *word = next_word(&at);
    if (take_count(size, INT64_MAX, &bytes) != 0 || !word || strcmp(word, toward) != 0 ||
        take_count(next_word(&at), (uint64_t)reader->causal.n_ranks - 1, &peer) != 0)
        return error_set(error, "expected '%s BYTESb %s RANK [tag TAG]' with a rank below %" PRId32,
                         is_send ? "send" : "recv", toward, reader->causal.n_ranks);
    while ((word = next_word(&at)) != NULL) {
        uint64_t value;
        if (take_count(next_word(&at), INT32_MAX, &value) != 0)
            return error_set(error, "'%s': expected a number from 0 to %d behind it", word, INT32_MAX);
        if (strcmp(word, "tag") == 0)
            tag = value;
        else if (strcmp(word, "cpu") == 0)
            reader->further_processors += value > 0;
        else if (strcmp(word, "nic") != 0)
            return error_set(error, "'%s': expected tag, cpu or nic", word);
    }
    operation->step = (struct causal_step){.kind = is_send ? CAUSAL_SEND : CAUSAL_RECEIVE,
                                           .function = is_send ? FN_Isend : FN_Irecv,
                                           .peer = (int32_t)peer,
                                           .tag = (int32_t)tag,
                                           .amount = bytes};
    return 0;
}

static int take_operation(struct goal_reader *reader, char *label, char *at, struct error *error)
{
    struct operation operation = {.request = UINT32_MAX};
    const char *word = next_word(&at);
    uint32_t *number = label ? label_at(reader, label) : NULL;
    if (number && *number != MAP_ABSENT)
        return error_set(error, "label '%s' is taken", label);
    if (word && (strcmp(word, "send") == 0 || strcmp(word, "recv") == 0)) {
        if (goal_message(reader, &operation, word[0] == 's', at, error) != 0)
            return -1;
    } else if (word && strcmp(word, "calc") == 0) {
        uint64_t ns;
        if (take_count(next_word(&at), UINT64_C(1) << MOST_NS_LOG2, &ns) != 0)
            return error_set(error, "expected 'calc NANOSECONDS'");
        const char *processor = next_word(&at);
        uint64_t value = 0;
        if (processor && (strcmp(processor, "cpu") != 0 || take_count(next_word(&at), INT32_MAX, &value) != 0))
            return error_set(error, "'%s': expected cpu N", processor);
        reader->further_processors += value > 0;
        operation.step = (struct causal_step){.kind = CAUSAL_COMPUTE, .amount = ns};
    } else {
        return error_set(error, "'%s': expected send, recv or calc", word ? word : "");
    }
    operation.step.line = reader->line;
    if (number)
        *number = (uint32_t)reader->n_operations;
    if (reader->n_operations >= BEGUN - 1)
        return error_set(error, "a rank with more than %u operations", BEGUN - 1);
    ARRAY_ADD(reader->operations, reader->n_operations, operation);
    return 0;
}

static int take_requirement(struct goal_reader *reader, const char *label, const char *word, char *at,
                            struct error *error)
{
    const char *other = next_word(&at);
    uint32_t from = *label_at(reader, label), to = other ? *label_at(reader, other) : MAP_ABSENT;
    if (from == MAP_ABSENT || to == MAP_ABSENT)
        return error_set(error, "no label '%s' above", from == MAP_ABSENT ? label : other ? other : "");
    struct operation *operation = &reader->operations[from];
    ARRAY_ADD(operation->requires, operation->n_requires, to | (word[0] == 'i' ? BEGUN : 0));
    return 0;
}

/* Waits for what the operation requires to be complete and nobody has waited for. */
static void wait_for(struct goal_reader *reader, const struct operation *operation)
{
    for (size_t i = 0; i < operation->n_requires; i++) {
        struct operation *required = &reader->operations[operation->requires[i] & ~BEGUN];
        if (operation->requires[i] & BEGUN || required->request == UINT32_MAX || required->is_waited)
            continue;
        required->is_waited = true;
        causal_wait(&reader->causal, reader->rank, &required->request, 1, operation->step.line);
    }
}

static void place(struct goal_reader *reader, struct operation *operation)
{
    operation->is_placed = true;
    wait_for(reader, operation);
    if (operation->step.kind == CAUSAL_COMPUTE)
        causal_compute(&reader->causal, reader->rank, operation->step.amount, operation->step.line);
    else
        operation->request = causal_post(&reader->causal, reader->rank, operation->step);
}

/* Returns an operation that this one requires and that is not placed yet; MAP_ABSENT if there is none. */
static uint32_t find_required(const struct goal_reader *reader, const struct operation *operation)
{
    for (size_t i = 0; i < operation->n_requires; i++)
        if (!reader->operations[operation->requires[i] & ~BEGUN].is_placed)
    return operation->requires[i] & ~BEGUN;
    return MAP_ABSENT;
}

/* Places operation `first` behind all that it requires, directly or not, without recursion. */
static int place_with_required(struct goal_reader *reader, uint32_t first, uint32_t **stack, struct error *error)
{
    size_t n = 0;
    ARRAY_ADD(*stack, n, first);
    while (n > 0) {
        struct operation *operation = &reader->operations[(*stack)[n - 1]];
        uint32_t required = find_required(reader, operation);
        operation->is_visited = true;
        if (required == MAP_ABSENT) {
            place(reader, operation);
            n--;
        } else if (reader->operations[required].is_visited) {
            return error_set(error, "the operation of line %" PRIu64 " requires itself", operation->step.line);
        } else {
            ARRAY_ADD(*stack, n, required);
        }
    }
    return 0;
}

static int end_rank(struct goal_reader *reader, struct error *error)
{
    uint32_t *stack = NULL, *left = NULL;
    size_t n_left = 0;
    int result = 0;
    for (uint32_t i = 0; i < reader->n_operations && result == 0; i++)
        result = reader->operations[i].is_placed ? 0 : place_with_required(reader, i, &stack, error);
    for (size_t i = 0; i < reader->n_operations; i++)
        if (reader->operations[i].request != UINT32_MAX && !reader->operations[i].is_waited)
            ARRAY_ADD(left, n_left, reader->operations[i].request);
    if (n_left > 0)
        causal_wait(&reader->causal, reader->rank, left, (uint32_t)n_left, reader->line);
    for (size_t i = 0; i < reader->n_operations; i++)
        free(reader->operations[i].requires);
    reader->n_operations = 0;
    map_clear(&reader->labels);
    free(stack);
    free(left);
    reader->rank = -1;
    return result;
}

static int begin_rank(struct goal_reader *reader, char *at, struct error *error)
{
    uint64_t rank;
    const char *word = next_word(&at), *brace = next_word(&at);
    if (!reader->has_ranks || take_count(word, (uint64_t)reader->causal.n_ranks - 1, &rank) != 0 || !brace ||
        strcmp(brace, "{") != 0)
        return error_set(error, "expected 'rank R {' with a rank below num_ranks, which stands before");
    if (reader->seen[rank])
        return error_set(error, "rank %" PRIu64 " again", rank);
    reader->seen[rank] = true;
    reader->rank = (int32_t)rank;
    return 0;
}

static int begin_file(struct goal_reader *reader, char *at, struct error *error)
{
    uint64_t n;
    if (reader->has_ranks || take_count(next_word(&at), IMPORT_MOST_RANKS, &n) != 0 || n == 0)
        return error_set(error, "expected 'num_ranks N' once, N from 1 to %d", IMPORT_MOST_RANKS);
    causal_open(&reader->causal, reader->path, (int32_t)n);
    reader->seen = xcalloc(n, sizeof *reader->seen);
    reader->has_ranks = true;
    return 0;
}

static int goal_line(void *context, char *line, struct error *error)
{
    struct goal_reader *reader = context;
    reader->line++;
    char *comment = strstr(line, "//");
    if (comment)
        *comment = '\0';
    char *at = line;
    char *word = next_word(&at);
    if (!word)
        return 0;
    if (reader->rank < 0)
        return strcmp(word, "num_ranks") == 0 ? begin_file(reader, at, error)
               : strcmp(word, "rank") == 0    ? begin_rank(reader, at, error)
                                              : error_set(error, "'%s': expected num_ranks or rank", word);
    if (strcmp(word, "}") == 0)
        return end_rank(reader, error);
    size_t length = strlen(word);
    if (word[length - 1] == ':') {
        word[length - 1] = '\0';
        return take_operation(reader, word, at, error);
    }
    char *before = at;
    const char *verb = next_word(&at);
    if (verb && (strcmp(verb, "requires") == 0 || strcmp(verb, "irequires") == 0))
        return take_requirement(reader, word, verb, at, error);
    if (verb && before > word)
        before[-1] = ' ';
    return error_set(error, "'%s': expected 'LABEL: OPERATION', 'LABEL requires LABEL' or '}'", word);
}

int import_goal(const char *path, struct import_run *run, struct error *error)
{
    struct goal_reader reader = {.path = path, .rank = -1};
    int result = text_file_lines(path, GOAL_LINE_BYTES, goal_line, &reader, error);
    if (result == 0 && (!reader.has_ranks || reader.rank >= 0))
        result = error_set(error, "%s:%" PRIu64 ": cut off: expected %s", path, reader.line > 0 ? reader.line : 1,
                           reader.has_ranks ? "'}' behind the last rank" : "'num_ranks N'");
    if (result == 0) {
        run->n_ranks = reader.causal.n_ranks;
        run->format = "GOAL, without a clock: computation as written, messages in no time";
        result = causal_write(&reader.causal, run, error);
    }
    if (result == 0 && reader.further_processors > 0)
        inform("%s: %" PRIu64 " operations of further processors of a rank stand in its one thread", path,
               reader.further_processors);
    for (size_t i = 0; i < reader.n_operations; i++)
        free(reader.operations[i].requires);
    free(reader.operations);
    free(reader.seen);
    map_release(&reader.labels);
    causal_release(&reader.causal);
    return result;
}
