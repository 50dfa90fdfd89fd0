/* Finds waits that come too early, and messages that move only in the wait.
 *
 * Whether the work behind a wait needs the messages is not known; what is known is whether the run would be shorter if
 * it did not: the replay says so, and what gains less than the kind's least gain, or may as well come from ranks that
 * waited for processors, and let others wait, is not named. Messages that do not move during work need in the wait as
 * long for it as if there had been no work, though that was long enough.
 *
 * A rank also waits too early for the answer to what it sent right before, if it could have asked before the work that
 * came before that. An answer is what the other rank sent once it had the question. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"

/* Computation before a wait that is right behind the posts, as part of the call, at most. */
#define OVERLAP_BEHIND_POSTS 0.1
/* Least part of the calls, or of the waiting, that is so. */
#define OVERLAP_MOST_CALLS 0.6
#define OVERLAP_MOST_TIME  0.5

enum { OVERLAP_LEAST_CALLS = 8, OVERLAP_LARGE_BYTES = 65536 };

struct overlap_site {
    uint64_t calls, direct, still;
    double hidden_s; /* waiting that work behind the wait could hide */
    double bytes;
    bool waits_only; /* its calls post nothing */
};

/* Adds up the bytes that a wait gets; *whole becomes false where it waits for anything else than messages. */
static double overlap_waited_bytes(const struct run_program *program, const struct run_step *step, bool *whole)
{
    double bytes = 0;
    for (uint32_t k = 0; k < step->count; k++) {
        uint32_t operation = program->waits[step->object + k];
        if (run_operation_kind(operation) == OPERATION_MEMBER)
            *whole = false;
        else if (run_operation_kind(operation) == OPERATION_RECEIVE || step->count == 1)
            bytes += (double)program->messages[run_operation_object(operation)].bytes;
    }
    return bytes;
}

/* Questions of a site, and the waits right behind them for their answers. */
struct overlap_question {
    uint64_t asked;
    double late_s, hidden_s; /* by work before the question */
    uint32_t answer_site;
};

/* Finds the waits behind which each message is there: the steps, or SIZE_MAX. */
static size_t *overlap_find_receipts(const struct run_program *program)
{
    size_t *receipts = xmalloc((program->n_messages + 1) * sizeof *receipts);
    for (size_t i = 0; i < program->n_messages; i++)
        receipts[i] = SIZE_MAX;
    for (size_t i = 0; i < program->n_steps; i++)
        for (uint32_t k = 0; program->steps[i].kind == STEP_WAIT && k < program->steps[i].count; k++) {
            uint32_t operation = program->waits[program->steps[i].object + k];
            if (run_operation_kind(operation) == OPERATION_RECEIVE)
                receipts[run_operation_object(operation)] = i;
        }
    return receipts;
}

/* A wait for a message that was not sent yet: sums it where it is an answer. */
static void overlap_sum_answer(const struct diagnosis *diagnosis, const struct run_wait *wait, const size_t *receipts,
                               struct overlap_question *questions)
{
    const struct run_program *program = &diagnosis->program;
    const struct run_timed_call *rows = diagnosis->calls->rows;
    const struct run_strand *other = &program->strands[wait->cause.strand];
    size_t call = run_timed_call_of(diagnosis->calls, wait->begin.step), receipt = SIZE_MAX;
    if (call <= diagnosis->first_call[wait->begin.strand] ||
        diagnosis_before_s(diagnosis, wait->begin.strand, call) > OVERLAP_BEHIND_POSTS * wait->late_s)
        return;
    for (size_t i = rows[call - 1].first_step; i < rows[call].first_step; i++)
        if (program->steps[i].kind == STEP_SEND)
            receipt = receipts[program->steps[i].object];
    if (receipt < other->first_step || receipt >= wait->cause.step)
        return;
    struct overlap_question *question = &questions[diagnosis_site_of_step(diagnosis, rows[call - 1].first_step)];
    question->asked++;
    question->late_s += wait->late_s;
    question->hidden_s += fmin(wait->late_s, diagnosis_before_s(diagnosis, wait->begin.strand, call - 1));
    question->answer_site = diagnosis_site_of_step(diagnosis, rows[call].first_step);
}

static int overlap_judge_question(struct diagnosis *diagnosis, uint32_t site, const struct overlap_question *sums)
{
    struct finding finding = diagnosis_finding(FINDING_EARLY_WAIT, sums->hidden_s);
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (sums->asked < OVERLAP_LEAST_CALLS ||
        (double)sums->asked < OVERLAP_MOST_CALLS * (double)diagnosis->sites[site].calls ||
        !(sums->hidden_s >= OVERLAP_MOST_TIME * sums->late_s) ||
        !diagnosis_outlasts_all_queues(diagnosis, finding.cost_s))
        return 0;
    if (diagnosis_name_site(diagnosis, sums->answer_site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, site, MEND_EARLIER);
    return diagnosis_add(diagnosis, finding,
                         "%s waits for answers to what was sent right before; to ask before the work that comes before "
                         "hides %s, %.0f %% of all time",
                         text, diagnosis_seconds(waited, sums->hidden_s), 100 * sums->hidden_s / diagnosis->all_s);
}

static int overlap_judge_questions(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct overlap_question *questions = xcalloc(program->n_sites, sizeof *questions);
    size_t *receipts = overlap_find_receipts(program);
    int result = 0;
    for (size_t i = 0; diagnosis->calls->n > 0 && i < diagnosis->recorded.n_waits; i++)
        if (program->steps[diagnosis->recorded.waits[i].cause.step].kind == STEP_SEND)
            overlap_sum_answer(diagnosis, &diagnosis->recorded.waits[i], receipts, questions);
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++)
        result = overlap_judge_question(diagnosis, site, &questions[site]);
    free(questions);
    free(receipts);
    return result;
}

static void overlap_sum_call(const struct diagnosis *diagnosis, uint32_t strand, size_t at, struct overlap_site *sites)
{
    const struct run_program *program = &diagnosis->program;
    const struct run_timed_call *call = &diagnosis->calls->rows[at];
    const struct run_step *step = &program->steps[call->first_step];
    struct overlap_site *site = &sites[diagnosis_site_of_step(diagnosis, call->first_step)];
    double rest_s = fmax((double)call->rest_s, 0), late_s = fmax((double)call->length_s - rest_s, 0);
    double before_s = diagnosis_before_s(diagnosis, strand, at), behind_s = 0;
    bool whole = true;
    if (step->kind != STEP_WAIT || (step->flags & STEP_LEAVES) == 0) {
        site->waits_only = false;
        return;
    }
    double bytes = overlap_waited_bytes(program, step, &whole);
    if (at + 1 < diagnosis->first_call[strand + 1])
        behind_s = diagnosis_before_s(diagnosis, strand, at + 1);
    site->calls++;
    site->bytes += bytes;
    if (before_s <= OVERLAP_BEHIND_POSTS * (double)call->length_s) {
        site->direct++;
        site->hidden_s += fmin(late_s, behind_s);
    }
    if (whole && bytes >= OVERLAP_LARGE_BYTES && before_s >= rest_s && late_s < before_s)
        site->still++;
}

static int overlap_judge_early(struct diagnosis *diagnosis, uint32_t site, const struct overlap_site *sums)
{
    double late_s = diagnosis->sites[site].measured.part_s[RUN_LATE_SENDER];
    struct finding finding = diagnosis_finding(FINDING_EARLY_WAIT, sums->hidden_s);
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if ((double)sums->direct < OVERLAP_MOST_CALLS * (double)sums->calls ||
        !(sums->hidden_s >= OVERLAP_MOST_TIME * late_s) || !diagnosis_outlasts_all_queues(diagnosis, finding.cost_s))
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, site, MEND_LATER);
    return diagnosis_add(
        diagnosis, finding,
        "%s waits right behind the posts, with work behind it that could hide %s, %.0f %% of all time, if it "
        "needs no message",
        text, diagnosis_seconds(waited, sums->hidden_s), 100 * sums->hidden_s / diagnosis->all_s);
}

/* Sets how many tests without a result the run has. */
static int overlap_count_tests(const struct diagnosis *diagnosis, double *tests)
{
    struct cursor rows;
    *tests = 0;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT coalesce(sum(t.calls), 0) FROM total t JOIN function f ON f.id = t.function "
                "WHERE t.idle = 1 AND f.name LIKE 'MPI_Test%'",
                diagnosis->error);
    if (cursor_next(&rows))
        *tests = cursor_real(&rows, 0);
    return cursor_close(&rows);
}

/* Where there are as many tests as waits, or more, the program lets messages move during work already. */
static int overlap_judge_still(struct diagnosis *diagnosis, uint32_t site, const struct overlap_site *sums)
{
    double still_s = diagnosis->sites[site].measured.part_s[RUN_BANDWIDTH] * (double)sums->still / (double)sums->calls;
    struct finding finding = diagnosis_finding(FINDING_NO_PROGRESS, still_s);
    double tests;
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT];
    if ((double)sums->still < OVERLAP_MOST_CALLS * (double)sums->calls ||
        finding.cost_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (overlap_count_tests(diagnosis, &tests) != 0)
        return -1;
    if (tests >= (double)sums->calls)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, site, MEND_POSTED);
    mend_rests(&diagnosis->program, finding.mend, site, 0);
    return diagnosis_add(
        diagnosis, finding,
        "messages of %s move only in %s, not during the longer work before it: %s, %.0f %% of all time",
        diagnosis_bytes(bytes, sums->bytes / (double)sums->calls), text, diagnosis_seconds(took, still_s),
        100 * still_s / diagnosis->all_s);
}

int diagnose_overlap(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct overlap_site *sites = xcalloc(program->n_sites, sizeof *sites);
    int result = 0;
    for (size_t i = 0; i < program->n_sites; i++)
        sites[i].waits_only = true;
    for (uint32_t strand = 0; strand < program->n_strands; strand++)
        for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1]; i++)
            overlap_sum_call(diagnosis, strand, i, sites);
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++) {
        if (!sites[site].waits_only || sites[site].calls < OVERLAP_LEAST_CALLS)
            continue;
        result = overlap_judge_early(diagnosis, site, &sites[site]);
        if (result == 0)
            result = overlap_judge_still(diagnosis, site, &sites[site]);
    }
    free(sites);
    return result == 0 ? overlap_judge_questions(diagnosis) : result;
}
