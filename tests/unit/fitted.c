/* Holds the rows of every benchmark to the same checks, those of a reader of a table. */
#include "tests/unit/fitted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* last: it defines fail as a macro */

struct machine fitted_onto(struct machine machine, fit_benchmark *fit, struct samples *samples, char *notes,
                           size_t size)
{
    const struct fit_options options = {0};
    struct error error = {""};
    memset(notes, 0, size);
    FILE *stream = fmemopen(notes, size, "w");
    assert_non_null(stream);
    samples_sort(samples);
    fit(&(struct fit){samples, &options, &machine, stream});
    fclose(stream);
    if (machine_check(&machine, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < machine.n_parameters; i++)
        if (machine_check_parameter(&machine.parameters[i], &error) != 0)
            fail_msg("%s", error.text);
    samples_release(samples);
    return machine;
}
