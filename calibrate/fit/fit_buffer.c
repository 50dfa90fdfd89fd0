/* Fits B of share/doc/MODELS.md, flow: the bytes that the transport takes without a receiver's progress.
 *
 * The samples (calibrate/benchmark/buffer.c) are messages that were taken from the sender while the receiver was
 * paused, or refused. B is the largest size that is taken, so one byte less than the boundary, for each level. Its
 * interval holds 95 % of the searches: how far the windows of a transport differ from pair to pair. */
#include <math.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/boundary.h"

int fit_buffer(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
               struct error *error)
{
    (void)options;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct boundary boundary;
        int found = boundary_find(samples, BENCHMARK_BUFFER, (enum level)level, &boundary);
        if (found < 0)
            return error_set(error, "no memory");
        if (found > 0)
            continue;
        if (isinf(boundary.bytes)) {
            benchmark_note(notes, "%s buffer: left out: the transport took all that was tried, up to %.0f B",
                           level_name[level], boundary.low - 1);
            continue;
        }
        struct line_value value = {boundary.bytes - 1, boundary.low - 1,
                                   isinf(boundary.high) ? NAN : boundary.high - 1};
        if (benchmark_append(machine, (enum level)level, PROTOCOL_ANY, "buffer", MACHINE_NO_N, &value, "B",
                             boundary.n_samples, "boundary") != 0)
            return error_set(error, "no memory");
    }
    return 0;
}
