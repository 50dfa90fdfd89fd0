/* Programs write probes, the fit reads them back, and a calibration that goes on judges anew: format and verdict must
 * be the same for all, so they stand here once. */
#include "calibrate/samples/probing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "share/base/statistics.h"

enum { JUDGED_FROM = 5, WORDS = 9 };

const char *const probing_verdict_name[PROBING_VERDICT_COUNT] = {"quiet", "waited", "level", "steal"};

void probings_append(struct probings *probings, const struct probing *probing)
{
    ARRAY_ADD(probings->probings, probings->n, *probing);
}

void probings_release(struct probings *probings)
{
    free(probings->probings);
    *probings = (struct probings){.n = 0};
}

static double probing_level_of(const struct probing *probing, bool large)
{
    return large ? probing->large_s : probing->small_s;
}

/* Returns the median of the levels that are known; NaN where none is. */
static double median_level(const struct probings *probings, bool large)
{
    double *known = xcalloc(probings->n, sizeof *known);
    size_t n = 0;
    for (size_t i = 0; i < probings->n; i++)
        if (!isnan(probing_level_of(&probings->probings[i], large)))
            known[n++] = probing_level_of(&probings->probings[i], large);
    sort_doubles(known, n);
    double median = n > 0 ? known[n / 2] : NAN;
    free(known);
    return median;
}

static bool is_off(const struct probing *probing, bool large, double median)
{
    double level = probing_level_of(probing, large);
    return level > PROBING_LEVEL_MAX * median || level * PROBING_LEVEL_MAX < median;
}

enum probing_verdict probings_judge(const struct probings *probings)
{
    if (probings->n == 0)
        return PROBING_QUIET;
    const struct probing *last = &probings->probings[probings->n - 1];
    if (last->steal > PROBING_STEAL_MAX)
        return PROBING_STEAL;
    for (int large = 0; large < 2 && probings->n >= JUDGED_FROM; large++) {
        double median = median_level(probings, large != 0);
        if (is_off(last, large != 0, median) || is_off(last - 1, large != 0, median))
            return PROBING_LEVEL;
    }
    return last->waited > PROBING_WAITED_MAX ? PROBING_WAITED : PROBING_QUIET;
}

bool probing_disturbs(enum probing_verdict verdict, double waited)
{
    if (verdict == PROBING_WAITED)
        return isnan(waited) || waited > PROBING_WAITED_MAX;
    return verdict != PROBING_QUIET || waited > PROBING_WAITED_MAX;
}

bool probing_is_probe(const char *text)
{
    return strncmp(text, "probe ", 6) == 0;
}

static int probing_real(const char *word, const char *what, double max, double *value, struct error *error)
{
    *value = NAN;
    if (strcmp(word, "-") == 0)
        return 0;
    const char *wrong = number_real(word, value);
    if (wrong != NULL)
        return error_set(error, "probe: %s '%.40s' %s", what, word, wrong);
    if (!(*value >= 0 && *value <= max))
        return error_set(error, "probe: %s %.40s: expected a number from 0 to %g", what, word, max);
    return 0;
}

int probing_parse(const char *text, struct probing *probing, struct error *error)
{
    char copy[512], *words[WORDS + 1], *rest = copy;
    int n = 0;
    uint64_t launch;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return error_set(error, "probe: a line of %zu bytes, expected at most %zu", strlen(text), sizeof copy - 1);
    for (char *word; n <= WORDS && (word = strtok_r(n == 0 ? copy : NULL, " ", &rest)) != NULL;)
        words[n++] = word;
    if (n != WORDS)
        return error_set(error,
                         "probe: %d words, expected %d, `probe program launch at_s small_s large_s waited steal "
                         "verdict`",
                         n, WORDS);
    struct probing read = {.launch = 0};
    if (strlen(words[1]) >= sizeof read.program)
        return error_set(error, "probe: program '%.40s' is longer than %zu letters", words[1], sizeof read.program - 1);
    strcpy(read.program, words[1]);
    const char *wrong = number_u64(words[2], &launch);
    if (wrong != NULL || launch > UINT32_MAX)
        return error_set(error, "probe: launch '%.40s' %s", words[2], wrong != NULL ? wrong : "is too large");
    read.launch = (unsigned)launch;
    if (probing_real(words[3], "at_s", 1e9, &read.at_s, error) != 0 ||
        probing_real(words[4], "small_s", 1e6, &read.small_s, error) != 0 ||
        probing_real(words[5], "large_s", 1e6, &read.large_s, error) != 0 ||
        probing_real(words[6], "waited", 1, &read.waited, error) != 0 ||
        probing_real(words[7], "steal", 1, &read.steal, error) != 0)
        return -1;
    int verdict = place_in_names(words[8], probing_verdict_name, PROBING_VERDICT_COUNT);
    if (verdict < 0)
        return error_set(error, "probe: verdict '%.40s', expected quiet, waited, level or steal", words[8]);
    read.verdict = (enum probing_verdict)verdict;
    *probing = read;
    return 0;
}

static void write_real(FILE *stream, const char *format, double value)
{
    if (isnan(value))
        fputs(" -", stream);
    else
        fprintf(stream, format, value);
}

void probing_write(FILE *stream, const struct probing *probing)
{
    fprintf(stream, "probe %s %u %.3f", probing->program, probing->launch, probing->at_s);
    write_real(stream, " %.6g", probing->small_s);
    write_real(stream, " %.6g", probing->large_s);
    write_real(stream, " %.4f", probing->waited);
    write_real(stream, " %.4f", probing->steal);
    fprintf(stream, " %s", probing_verdict_name[probing->verdict]);
}
