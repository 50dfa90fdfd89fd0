/* Options and rows of results name arrivals by one word: "laggard:4". */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "calibrate/finegrain/arrivals/arrival_file.h"
#include "share/base/nearest.h"
#include "share/base/number.h"

static const struct {
    const char *name;
    enum arrival_kind kind;
    const char *of; /* as a message shows it */
} kinds[] = {
    {"laggard", ARRIVAL_LAGGARD, "PERCENT"}, {"normal", ARRIVAL_NORMAL, "SD"},     {"kde", ARRIVAL_KDE, "FILE"},
    {"fixed", ARRIVAL_FIXED, "FILE"},        {"trace", ARRIVAL_TRACE, "TRACE.db"},
};

static const struct {
    const char *name;
    double seconds;
} units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}};

/* Reads a time in seconds, or in the unit behind it. Returns as number_real. */
static const char *time_of(const char *text, double *seconds)
{
    char number[64];
    size_t length = strlen(text);
    double unit_s = 1;
    if (length >= sizeof number)
        return "is not a finite number";
    memcpy(number, text, length + 1);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t of_unit = strlen(units[i].name);
        if (length > of_unit && strcmp(number + length - of_unit, units[i].name) == 0) {
            number[length - of_unit] = '\0';
            unit_s = units[i].seconds;
            break;
        }
    }
    const char *wrong = number_real(number, seconds);
    if (wrong == NULL)
        *seconds *= unit_s;
    return wrong;
}

static int take_amount(const char *text, const char *amount, struct arrivals_request *request, struct error *error)
{
    bool laggard = request->kind == ARRIVAL_LAGGARD;
    const char *expected = laggard ? "laggard:PERCENT, of the compute time, as laggard:4"
                                   : "normal:SD, in s or with a unit, as normal:2us";
    const char *wrong = laggard ? number_real(amount, &request->amount) : time_of(amount, &request->amount);
    double most = laggard ? 1e6 : ARRIVALS_MOST_S;
    if (wrong == NULL && !(request->amount >= 0 && request->amount <= most))
        wrong = request->amount < 0 ? "is negative" : "is too large";
    return wrong == NULL ? 0
                         : error_set(error, "arrivals '%.80s': '%.40s' %s; expected %s", text, amount, wrong, expected);
}

static int no_such(const char *text, size_t length, struct error *error)
{
    char name[48];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        nearest_add(&nearest, kinds[i].name);
    return error_set(error,
                     "arrivals '%.80s': expected laggard:PERCENT, normal:SD, kde:FILE, fixed:FILE or trace:TRACE.db%s",
                     text, nearest_hint(&nearest));
}

int arrivals_parse(const char *text, struct arrivals_request *request, struct error *error)
{
    size_t length = strcspn(text, ":"), i = 0, n = sizeof kinds / sizeof kinds[0];
    while (i < n && (strlen(kinds[i].name) != length || strncmp(kinds[i].name, text, length) != 0))
        i++;
    if (i == n)
        return no_such(text, length, error);
    if (text[length] == '\0' || text[length + 1] == '\0')
        return error_set(error, "arrivals '%.80s': nothing behind the kind; expected %s:%s", text, kinds[i].name,
                         kinds[i].of);
    struct arrivals_request parsed = {.kind = kinds[i].kind};
    if (parsed.kind == ARRIVAL_LAGGARD || parsed.kind == ARRIVAL_NORMAL) {
        if (take_amount(text, text + length + 1, &parsed, error) != 0)
            return -1;
    } else {
        parsed.path = text + length + 1;
    }
    *request = parsed;
    return 0;
}
