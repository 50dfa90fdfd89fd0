/* A handler may not format text, so that it is made before. See told_to_end.h. */
#include "interpose/run/told_to_end.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/output_file.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };

static char told[2 * PATH_MAX + 256];
static bool is_ours[N_NUMBERS];

static void tell(int number)
{
    if (write(STDERR_FILENO, told, strlen(told)) < 0)
        (void)0; /* there is nobody to tell */
    output_file_remove_all();
    raise(number);
}

void told_to_end_begin(const char *spools, const char *output)
{
    snprintf(
        told, sizeof told,
        "mpistair: ended before the trace was made; the spools are in %s, it is made by: mpistair ingest %s -o %s\n",
        spools, spools, output);
    for (int i = 0; i < N_NUMBERS; i++) {
        struct sigaction before, ours = {.sa_handler = tell, .sa_flags = (int)SA_RESETHAND};
        is_ours[i] = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                     sigaction(numbers[i], &ours, NULL) == 0;
    }
}

void told_to_end_end(void)
{
    for (int i = 0; i < N_NUMBERS; i++)
        if (is_ours[i])
            signal(numbers[i], SIG_DFL);
}
