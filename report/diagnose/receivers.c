/* Finds sends that wait for receivers: receives that are posted late time after time, a rank that receives from many,
 * synchronous sends of messages that need no receiver, and sends of changing sizes that wait above the eager limit.
 *
 * If chance decided who comes first to a message, senders would be late as often and as long as receivers. So a late
 * receiver is told from chance by the sign of the lateness, and by the sums of both signs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

/* Probability of receivers that are late as often where chance decides. */
#define RECEIVER_CHANCE 0.01
/* Least part of the messages whose receivers are late, and how many times what senders are late they must be. */
#define RECEIVER_MOST_MESSAGES 0.6
#define RECEIVER_MORE_LATE     3.0
/* Least part of the messages on each side of the eager limit, and of the waiting of those above it; how many times the
 * limit these may be. */
#define RECEIVER_LEAST_OF_BOTH 0.1
#define RECEIVER_MOST_ABOVE    0.9
#define RECEIVER_NEAR_LIMIT    8.0

enum { RECEIVER_LEAST_MESSAGES = 5, RECEIVER_LEAST_SOURCES = 3, RECEIVER_SMALL_BYTES = 4096 };

struct receiver_site {
    uint64_t n, late;
    double late_ns, early_ns, bytes;
    uint64_t above;                        /* blocking sends above the eager limit */
    double above_bytes, above_s, waited_s; /* seconds that those, and all, waited for receives */
    uint32_t sources, dst, worst;          /* worst: the destination that is latest */
    double worst_ns;
    bool several; /* destinations */
};

static void receivers_sum_pairs(const struct diagnosis *diagnosis, struct receiver_site *sites)
{
    const struct pair_sums *pairs = diagnosis->pairs;
    for (size_t i = 0; i < pairs->n_rank_pairs; i++) {
        const struct rank_pair *pair = &pairs->rank_pairs[i];
        struct receiver_site *site = &sites[pair->site];
        if (pair->receiver_late_ns > site->worst_ns || site->n == 0) {
            site->worst_ns = pair->receiver_late_ns;
            site->worst = pair->dst;
        }
        site->several = site->several || (site->n > 0 && site->dst != pair->dst);
        site->dst = pair->dst;
        site->sources++; /* of each pair one */
        site->n += pair->n;
        site->late += pair->receiver_late;
        site->late_ns += pair->receiver_late_ns;
        site->early_ns += pair->sender_late_ns;
        site->bytes += pair->bytes;
    }
}

static bool receivers_is_synchronous(const char *function)
{
    static const char *const names[] = {"MPI_Ssend", "MPI_Issend", "MPI_Ssend_init", NULL};
    return run_function_named(function, names);
}

/* Returns whether another finding has told of the site, with half of that cost. */
static bool receivers_is_told(const struct diagnosis *diagnosis, enum finding_number kind, int64_t callsite,
                              double cost_s)
{
    for (size_t i = 0; i < diagnosis->findings->n; i++) {
        const struct finding *finding = &diagnosis->findings->rows[i];
        if (finding->kind == kind && finding->callsite == callsite && finding->cost_s >= cost_s / 2)
            return true;
    }
    return false;
}

/* Reads the eager limit; 0: not known. */
static int receivers_eager_limit(struct diagnosis *diagnosis, double *bytes)
{
    struct cursor rows;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT max(coalesce(eager_limit_bytes, 0), coalesce(eager_limit_network_bytes, 0)) FROM run",
                diagnosis->error);
    if (cursor_next(&rows))
        *bytes = (double)cursor_integer(&rows, 0);
    return cursor_close(&rows);
}

/* Sums the blocking sends of each site that are above the eager limit. */
static void receivers_sum_sends(const struct diagnosis *diagnosis, struct receiver_site *sites, double limit_bytes)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < diagnosis->calls->n; i++) {
        const struct run_timed_call *call = &diagnosis->calls->rows[i];
        const struct run_step *step = &program->steps[call->first_step];
        if (step->kind != STEP_SEND)
            continue;
        double waited_s = (double)call->length_s - (double)call->rest_s;
        double bytes = (double)program->messages[step->object].bytes;
        struct receiver_site *site = &sites[diagnosis_site_of_step(diagnosis, call->first_step)];
        site->waited_s += waited_s;
        if (bytes > limit_bytes) {
            site->above++;
            site->above_bytes += bytes;
            site->above_s += waited_s;
        }
    }
}

/* Says whether a site sends below and above the limit, not far above, and waits there only. */
static bool receivers_misses_eager(const struct receiver_site *sums, double limit_bytes)
{
    double least = RECEIVER_LEAST_OF_BOTH * (double)sums->n;
    return (double)sums->above >= least && (double)(sums->n - sums->above) >= least &&
           sums->above_s >= RECEIVER_MOST_ABOVE * sums->waited_s &&
           sums->above_bytes <= RECEIVER_NEAR_LIMIT * limit_bytes * (double)sums->above;
}

/* Lets the sends of a site wait for no receive. A rank that receives from many does its part of the work only; others
 * that do more before they receive than senders do before they send, as much as these. */
static struct run_mend *receivers_mend_receivers(const struct diagnosis *diagnosis, uint32_t site, bool hot)
{
    const struct run_program *program = &diagnosis->program;
    struct run_mend *mend = mend_new();
    bool *is_place = xcalloc(program->n_places, sizeof *is_place);
    double sent_s = 0, received_s = 0, n_sent = 0, n_received = 0;
    mend_site(&diagnosis->program, mend, site, MEND_POSTED);
    diagnosis_find_receives(diagnosis, site, is_place);
    for (uint32_t i = 0; i < program->n_places; i++) {
        double seconds = diagnosis_computed(diagnosis, i);
        sent_s += program->places[i].site == site ? seconds : 0;
        n_sent += program->places[i].site == site;
        received_s += is_place[i] ? seconds : 0;
        n_received += is_place[i];
    }
    double factor = hot ? 1.0 / (double)program->n_ranks
                        : (sent_s + received_s) / (n_sent + n_received) / (received_s / n_received);
    for (uint32_t i = 0; i < program->n_places && factor < 1; i++)
        if (is_place[i])
            mend_scale(&diagnosis->program, mend, i, factor);
    free(is_place);
    return mend;
}

static int receivers_judge(struct diagnosis *diagnosis, uint32_t site, const struct receiver_site *sums,
                           double limit_bytes)
{
    const struct run_site *told = &diagnosis->program.sites[site];
    const struct run_parts *measured = &diagnosis->sites[site].measured;
    double cost_s = measured->part_s[RUN_LATE_RECEIVER], share = 100 * cost_s / diagnosis->all_s;
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT];
    struct finding finding = diagnosis_finding(FINDING_LATE_RECEIVER, cost_s);
    if (sums->n < RECEIVER_LEAST_MESSAGES || cost_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    if (receivers_is_told(diagnosis, FINDING_SENDS_IN_TURN, finding.callsite, cost_s))
        return 0;
    bool synchronous = receivers_is_synchronous(told->function) &&
                       sums->bytes <= (limit_bytes > 0 ? limit_bytes : RECEIVER_SMALL_BYTES) * (double)sums->n;
    uint32_t least = (uint32_t)(diagnosis->program.n_ranks / 2);
    bool hot = !sums->several && sums->sources >= RECEIVER_LEAST_SOURCES && sums->sources >= least;
    double chance =
        binomial_above((unsigned)fmin((double)sums->late, 1e9) - 1, 0.5, (unsigned)fmin((double)sums->n, 1e9));
    bool late = sums->late > 0 && chance < RECEIVER_CHANCE &&
                (double)sums->late >= RECEIVER_MOST_MESSAGES * (double)sums->n &&
                sums->late_ns >= RECEIVER_MORE_LATE * sums->early_ns;
    bool misses = !synchronous && limit_bytes > 0 && receivers_misses_eager(sums, limit_bytes);
    if (!synchronous && !hot && !late && !misses)
        return 0;
    finding.kind = synchronous ? FINDING_SYNCHRONOUS
                   : misses    ? FINDING_MISSES_EAGER
                   : hot       ? FINDING_HOT_RECEIVER
                               : FINDING_LATE_RECEIVER;
    finding.partner = synchronous || misses ? -1 : hot ? (int64_t)sums->dst : (int64_t)sums->worst;
    if (synchronous || misses) {
        finding.mend = mend_new();
        mend_site(&diagnosis->program, finding.mend, site, MEND_POSTED);
    } else {
        finding.mend = receivers_mend_receivers(diagnosis, site, hot);
    }
    diagnosis_seconds(waited, cost_s);
    if (synchronous)
        return diagnosis_add(
            diagnosis, finding,
            "%s waits for receivers, %s, %.0f %% of all time; messages of %s would go without, by MPI_Send", text,
            waited, share, diagnosis_bytes(bytes, sums->bytes / (double)sums->n));
    if (misses)
        return diagnosis_add(diagnosis, finding,
                             "%s waits for receivers, %s, %.0f %% of all time, in its %" PRIu64 " of %" PRIu64
                             " messages above the eager limit of %s",
                             text, waited, share, sums->above, sums->n, diagnosis_bytes(bytes, limit_bytes));
    if (hot)
        return diagnosis_add(diagnosis, finding,
                             "rank %" PRIu32 " receives from %" PRIu32
                             " ranks, which wait for it in %s: %s, %.0f %% of all time",
                             sums->dst, sums->sources, text, waited, share);
    return diagnosis_add(diagnosis, finding,
                         "%s waits for receives that are posted late, in %" PRIu64 " of %" PRIu64
                         " messages: %s, %.0f %% of all time, most for rank %" PRIu32,
                         text, sums->late, sums->n, waited, share, sums->worst);
}

int diagnose_receivers(struct diagnosis *diagnosis)
{
    size_t n = diagnosis->program.n_sites;
    struct receiver_site *sites = xcalloc(n, sizeof *sites);
    double limit_bytes = 0;
    receivers_sum_pairs(diagnosis, sites);
    int result = receivers_eager_limit(diagnosis, &limit_bytes);
    receivers_sum_sends(diagnosis, sites, limit_bytes);
    for (uint32_t site = 0; result == 0 && site < n; site++)
        result = receivers_judge(diagnosis, site, &sites[site], limit_bytes);
    free(sites);
    return result;
}
