/* The words of run_rank are read here. See run_case.h. */
#include "tests/models/run_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* last: it defines fail as a macro */

void run_ranks(struct run_case *run, size_t n, const uint32_t *node)
{
    static const uint32_t nowhere[64];
    assert_true(n <= 64);
    case_place(&run->c, n, node != NULL ? node : nowhere, NULL);
    if (run->c.machine.n_parameters == 0)
        for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
            case_value(&run->c, level, PROTOCOL_ANY, "tau", 0, 0, "s");
            case_value(&run->c, level, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
        }
    run_program_ranks(&run->program, n);
    run_program_site(&run->program, "MPI_Call", -1);
    for (uint32_t rank = 0; rank < n; rank++)
        run_program_place(&run->program, rank, 0);
}

void run_eager_machine(struct run_case *run)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        case_value(&run->c, level, PROTOCOL_EAGER, "tau", 0, 1e-4, "s");
        case_value(&run->c, level, PROTOCOL_EAGER, "bw", 1, 1e9, "B/s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "tau", 0, 1e-4, "s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "bw", 1, 1e9, "B/s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "threshold", 0, 2000000, "B");
    }
}

void run_message(struct run_case *run, uint32_t src, uint32_t dst, uint64_t bytes, uint32_t flags)
{
    const struct run_message message = {.bytes = bytes, .src = src, .dst = dst, .flags = (uint16_t)flags};
    assert_int_equal(run_program_message(&run->program, &message), 0);
}

void run_collective(struct run_case *run, enum run_dependence dependence, uint32_t root, double after_ms)
{
    uint32_t number = (uint32_t)run->program.n_collectives, n = (uint32_t)run->program.n_ranks;
    const struct run_collective collective = {
        .first_member = number * n, .n_members = n, .root = root, .dependence = (uint8_t)dependence};
    run_program_collective(&run->program, &collective);
    for (uint32_t rank = 0; rank < n; rank++) {
        const struct run_member member = {.after_s = after_ms * 1e-3, .rank = rank, .collective = number};
        assert_int_equal(run_program_member(&run->program, &member), 0);
    }
}

uint32_t run_place_of(struct run_case *run, uint32_t rank, uint32_t site)
{
    while (run->program.n_sites <= site)
        run_program_site(&run->program, "MPI_Call", (int64_t)run->program.n_sites);
    for (uint32_t place = 0; place < run->program.n_places; place++)
        if (run->program.places[place].rank == rank && run->program.places[place].site == site)
            return place;
    run_program_place(&run->program, rank, site);
    return (uint32_t)run->program.n_places - 1;
}

void run_modelled(struct run_case *run, enum run_collective_kind kind, uint32_t root, double bytes)
{
    size_t first = run->program.n_members;
    run_collective(run, DEPENDS_ON_ALL, root, 1000); /* what is recorded must not count */
    run->program.collectives[run->program.n_collectives - 1].kind = (uint8_t)kind;
    for (size_t m = first; m < run->program.n_members; m++)
        run->program.members[m].bytes = bytes;
    run->options.model_collectives = true;
}

static void add_step(struct run_case *run, struct run_step step, double *compute_s, uint8_t flags)
{
    step.place = run->place;
    step.flags = flags;
    step.compute_s = *compute_s;
    *compute_s = 0;
    assert_int_equal(run_program_step(&run->program, &step), 0);
}

/* Adds the steps of a post; a blocking one waits for itself. */
static void add_post(struct run_case *run, bool send, bool blocking, uint32_t message, double *compute_s)
{
    struct run_step step = {.object = message, .kind = send ? STEP_SEND : STEP_RECEIVE};
    add_step(run, step, compute_s, blocking ? STEP_ENTERS : STEP_ENTERS | STEP_LEAVES);
    if (!blocking)
        return;
    struct run_step wait = {.object = (uint32_t)run->program.n_waits, .count = 1, .kind = STEP_WAIT};
    run_program_wait(&run->program, run_operation(message, send ? OPERATION_SEND : OPERATION_RECEIVE));
    add_step(run, wait, compute_s, STEP_LEAVES);
}

static uint32_t member_of(const struct run_case *run, uint32_t collective, uint32_t rank)
{
    return collective * (uint32_t)run->program.n_ranks + rank;
}

/* Adds a wait for ":s0:r1:b0". */
static void add_wait(struct run_case *run, uint32_t rank, const char *list, double *compute_s)
{
    struct run_step step = {.object = (uint32_t)run->program.n_waits, .kind = STEP_WAIT};
    for (; *list == ':'; step.count++) {
        char kind = list[1];
        uint32_t number = (uint32_t)strtoul(list + 2, (char **)&list, 10);
        uint32_t operation = kind == 's'   ? run_operation(number, OPERATION_SEND)
                             : kind == 'r' ? run_operation(number, OPERATION_RECEIVE)
                                           : run_operation(member_of(run, number, rank), OPERATION_MEMBER);
        run_program_wait(&run->program, operation);
    }
    add_step(run, step, compute_s, STEP_ENTERS | STEP_LEAVES);
}

static void add_word(struct run_case *run, uint32_t rank, const char *word, double *compute_s)
{
    uint32_t number = (uint32_t)strtoul(word + 1, NULL, 10);
    double ms = strtod(word + 1, NULL);
    const uint8_t whole = STEP_ENTERS | STEP_LEAVES;
    switch (word[0]) {
    case 'c':
        *compute_s += ms * 1e-3;
        break;
    case 'x':
        add_step(run, (struct run_step){.spent_s = ms * 1e-3, .kind = STEP_SPEND}, compute_s, whole);
        break;
    case 's':
    case 'r':
    case 'S':
    case 'R':
        add_post(run, word[0] == 's' || word[0] == 'S', word[0] == 'S' || word[0] == 'R', number, compute_s);
        break;
    case 'b':
    case 'B':
        add_step(run,
                 (struct run_step){.object = member_of(run, number, rank),
                                   .kind = word[0] == 'b' ? STEP_BEGIN : STEP_COLLECTIVE},
                 compute_s, whole);
        break;
    case 'k':
        run->place = run_place_of(run, rank, number);
        break;
    case 'p':
        add_step(run, (struct run_step){.object = number, .kind = STEP_PROBE}, compute_s, whole);
        break;
    case 'w':
        add_wait(run, rank, word + 1, compute_s);
        break;
    default:
        fail_msg("no such word: %s", word);
    }
}

static void add_strand(struct run_case *run, uint32_t rank, const char *words)
{
    char copy[8192], *rest = NULL;
    double compute_s = 0;
    assert_true(strlen(words) < sizeof copy);
    strcpy(copy, words);
    run_program_strand(&run->program, rank, 0);
    run->place = run_place_of(run, rank, 0);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        add_word(run, rank, word, &compute_s);
    struct run_strand *strand = &run->program.strands[run->program.n_strands - 1];
    strand->tail_s = compute_s;
    strand->tail_place = run->place;
}

void run_rank(struct run_case *run, const char *words)
{
    size_t n = run->program.n_strands;
    add_strand(run, n > 0 ? run->program.strands[n - 1].rank + 1 : 0, words);
}

void run_thread(struct run_case *run, const char *words)
{
    add_strand(run, run->program.strands[run->program.n_strands - 1].rank, words);
}

void run_replay(struct run_case *run)
{
    struct error error = {0};
    if (run_program_check(&run->program, &error) != 0 ||
        simulate(&run->program, &run->c.machine, &run->c.placement, &run->options, &run->result, &error) != 0)
        fail_msg("%s", error.text);
    run->parts = calloc(run->program.n_ranks, sizeof *run->parts);
    assert_non_null(run->parts);
    run_parts_by_rank(&run->program, run->result.predicted, run->parts);
}

static void assert_ms(const char *what, uint32_t rank, double found_s, double ms)
{
    if (!(fabs(found_s * 1e3 - ms) <= 1e-9 * fmax(fabs(ms), 1)))
        fail_msg("rank %u, %s: %.12g ms, expected %.12g", rank, what, found_s * 1e3, ms);
}

void assert_part(const struct run_case *run, uint32_t rank, enum run_part part, double ms)
{
    assert_ms(run_part_name[part], rank, run->parts[rank].part_s[part], ms);
}

void assert_end(const struct run_case *run, uint32_t rank, double ms)
{
    double sum_s = 0;
    for (int part = 0; part < RUN_PART_COUNT; part++) {
        assert_true(run->parts[rank].part_s[part] >= 0);
        sum_s += run->parts[rank].part_s[part];
    }
    assert_ms("end", rank, run->result.rank_end_s[rank], ms);
    assert_ms("sum of parts", rank, sum_s, ms);
}

void run_release(struct run_case *run)
{
    simulation_result_release(&run->result);
    run_program_release(&run->program);
    free(run->parts);
    case_release(&run->c);
}
