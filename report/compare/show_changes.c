/* Says what all formats of a comparison say in the same words. */
#include "report/compare/show_changes.h"

#include <math.h>
#include <string.h>

const struct comparison_row *show_run(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].table == COMPARISON_RUN)
            return &comparison->rows[i];
    return NULL;
}

const struct comparison_row *show_culprit(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        if (row->site != NULL && row->result.above)
            return row;
    }
    return NULL;
}

double show_share(const struct comparison_row *row, double seconds)
{
    return row->result.a_s > 0 ? seconds / row->result.a_s : NAN;
}

bool show_unsteady(const struct comparison_row *row)
{
    const struct noise_result *result = &row->result;
    return row->state == COMPARISON_TESTED && !result->above && fabs(result->change_s) > result->noise_s;
}

const char *show_decision(const struct comparison_row *row)
{
    return row->state != COMPARISON_TESTED ? ""
           : row->result.above             ? "above noise"
           : show_unsteady(row)            ? "in few spans only"
                                           : "within noise";
}

double show_other_work(const struct comparison_row *row)
{
    static const char *const repeated[] = {"MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get", "MPI_Parrived"};
    if (row->table != COMPARISON_SITE || row->part != PROFILE_CALL || !(row->calls[0] > 0) || !(row->calls[1] > 0))
        return 0;
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++)
        if (strncmp(row->site->function, repeated[i], strlen(repeated[i])) == 0)
            return 0;
    double calls = row->calls[1] / row->calls[0] - 1, bytes = row->bytes[0] > 0 ? row->bytes[1] / row->bytes[0] - 1 : 0;
    double larger = fabs(calls) > fabs(bytes) ? calls : bytes;
    return fabs(larger) < 0.01 ? 0 : larger;
}

void show_percent(double share, bool sign, char *text, size_t size)
{
    double percent = share * 100;
    if (isnan(percent))
        snprintf(text, size, "-");
    else if (fabs(percent) >= 999.5)
        snprintf(text, size, percent > 0 ? ">999 %%" : "<-999 %%");
    else
        snprintf(text, size, sign ? "%+.*f %%" : "%.*f %%", fabs(percent) >= 99.95 ? 0 : 1, percent);
}

void show_place(const struct comparison_row *row, bool brief, char *text, size_t size)
{
    const struct profile_site *site = row->site;
    char rank[32] = "";
    if (site == NULL) {
        snprintf(text, size, row->rank >= 0 ? "%s %lld" : "%s", row->name, (long long)row->rank);
        return;
    }
    if (row->rank >= 0)
        snprintf(rank, sizeof rank, ", rank %lld", (long long)row->rank);
    const char *slash = strrchr(site->file, '/'), *file = slash != NULL ? slash + 1 : site->file;
    bool named = site->name[0] != '\0' && (!brief || file[0] == '\0');
    const char *name = named ? site->name : "", *blank = named ? " " : "";
    const char *where = row->part == PROFILE_COMPUTATION ? "before" : "in";
    const char *function = site->function + (brief && strncmp(site->function, "MPI_", 4) == 0 ? 4 : 0);
    if (file[0] != '\0')
        snprintf(text, size, "%s %s%s%s %s:%lld%s%s", where, function, blank, name, file, (long long)site->line,
                 brief ? "" : site->callers, rank);
    else
        snprintf(text, size, "%s %s%s%s%s", where, function, blank, name, rank);
}

#define UNEQUAL_WAIT 0.1 /* share of the ranks' time */

static bool same_run(const struct profile *a, const struct profile *b)
{
    return a->started_ns == b->started_ns && strcmp(a->run_key, b->run_key) == 0;
}

/* Says whether no run before this one had its command. */
static bool is_new_command(const struct comparison *comparison, size_t run)
{
    for (size_t i = 0; i < run; i++)
        if (strcmp(comparison->profiles[i].command, comparison->profiles[run].command) == 0)
            return false;
    return run > 0;
}

bool show_is_whole(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_a + comparison->n_b; i++)
        if (!comparison->profiles[i].whole.is_whole)
            return false;
    return true;
}

void show_warnings(const struct comparison *comparison, void (*add)(void *context, const char *text), void *context)
{
    const struct profile *first = comparison->profiles;
    char text[512];
    for (size_t i = 0; i < comparison->n_a + comparison->n_b; i++) {
        const struct profile *profile = &comparison->profiles[i];
        for (size_t k = 0; k < i; k++)
            if (same_run(profile, &comparison->profiles[k])) {
                snprintf(text, sizeof text, "%.150s and %.150s are the same run: expect no change between them",
                         comparison->profiles[k].path, profile->path);
                add(context, text);
                break;
            }
        if (profile->n_ranks != first->n_ranks) {
            snprintf(text, sizeof text, "%.150s has %u ranks, %.150s has %u: sums over ranks differ by that alone",
                     first->path, first->n_ranks, profile->path, profile->n_ranks);
            add(context, text);
        }
        if (strcmp(profile->mpi, first->mpi) != 0) {
            snprintf(text, sizeof text, "%.150s is of %.40s, %.150s of %.40s", first->path, first->mpi, profile->path,
                     profile->mpi);
            add(context, text);
        }
        if (is_new_command(comparison, i)) {
            snprintf(text, sizeof text, "%.150s ran: %.200s", profile->path, profile->command);
            add(context, text);
        }
        if (fabs(profile->processor_wait - first->processor_wait) > UNEQUAL_WAIT) {
            snprintf(
                text, sizeof text,
                "ranks waited for a processor %.0f %% of the time in %.150s, %.0f %% in %.150s: others had the machine",
                profile->processor_wait * 100, profile->path, first->processor_wait * 100, first->path);
            add(context, text);
        }
        if (!profile->whole.is_whole) {
            snprintf(text, sizeof text, "%.150s is not whole: %.200s", profile->path, profile->whole.reason);
            add(context, text);
        }
        if (!(profile->duration_s > 0)) {
            snprintf(text, sizeof text, "%.150s took no time: nothing of it can be compared", profile->path);
            add(context, text);
        }
    }
}
