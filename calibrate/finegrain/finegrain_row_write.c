/* A result is a row that a sweep adds to a file, an object that a script reads, or some lines that a user reads. */
#include <math.h>
#include <string.h>

#include "calibrate/finegrain/finegrain_row.h"
#include "share/base/json.h"

/* Writes a number, or nothing where there is none. */
static void write_real(FILE *stream, double value)
{
    if (isfinite(value))
        fprintf(stream, ",%.9g", value);
    else
        fputc(',', stream);
}

static void write_bounded(FILE *stream, const struct finegrain_bounded *bounded)
{
    write_real(stream, bounded->value);
    write_real(stream, bounded->low);
    write_real(stream, bounded->high);
}

/* Writes a field, in quotes where a path has what CSV gives a meaning. */
static void write_text(FILE *stream, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++)
        fprintf(stream, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', stream);
}

static const char *rma_of(const struct finegrain_config *config)
{
    return config->interface == FINEGRAIN_RMA ? finegrain_rma_word[config->rma] : "";
}

void finegrain_row_write_csv(FILE *stream, const struct finegrain_row *row)
{
    const struct finegrain_config *config = row->config;
    fprintf(stream, "%s,%s,%s,%d,%lu,%llu,%llu,%llu,%llu,%.9g,", finegrain_interface_word[config->interface],
            rma_of(config), row->mpi, row->ranks, row->buffers_per_rank, (unsigned long long)config->peers,
            (unsigned long long)config->bytes, (unsigned long long)config->threads, (unsigned long long)config->parts,
            config->compute_s);
    write_text(stream, config->arrivals);
    fprintf(stream, ",%llu,%llu,%llu", (unsigned long long)config->seed, (unsigned long long)config->trials,
            (unsigned long long)config->iterations);
    write_bounded(stream, &row->bsp_s);
    write_bounded(stream, &row->fine_s);
    write_bounded(stream, &row->speedup_percent);
    write_real(stream, row->oversleep_s);
    fprintf(stream, ",%s\n", row->void_reason);
}

static void print_bounded(FILE *stream, const char *what, const struct finegrain_bounded *bounded, double scale,
                          const char *unit)
{
    fprintf(stream, "%-10s %10.3f %s", what, scale * bounded->value, unit);
    if (isfinite(bounded->low))
        fprintf(stream, "  (%.3f to %.3f)", scale * bounded->low, scale * bounded->high);
    fputc('\n', stream);
}

void finegrain_row_write_text(FILE *stream, const struct finegrain_row *row)
{
    const struct finegrain_config *config = row->config;
    const char *interface = finegrain_interface_word[config->interface];
    fprintf(stream, "%s, %d ranks, %llu peers, %llu bytes a peer in %llu parts, %llu threads\n", row->mpi, row->ranks,
            (unsigned long long)config->peers, (unsigned long long)config->bytes, (unsigned long long)config->parts,
            (unsigned long long)config->threads);
    fprintf(stream, "%llu x %llu iterations of either way, %.9g s of computation, arrivals %s\n\n",
            (unsigned long long)config->trials, (unsigned long long)config->iterations, config->compute_s,
            config->arrivals);
    print_bounded(stream, "BSP", &row->bsp_s, 1e3, "ms");
    print_bounded(stream, interface, &row->fine_s, 1e3, "ms");
    print_bounded(stream, "speed-up", &row->speedup_percent, 1, "% ");
    fprintf(stream, "\nOverslept: the last thread %.3g us, all threads %.3g us in the middle.\n",
            1e6 * row->oversleep_s, 1e6 * row->median_oversleep_s);
    if (row->buffers_per_rank > 1)
        fprintf(stream, "Folded: up to %lu buffers of a rank go to the same one.\n", row->buffers_per_rank);
    if (row->void_reason[0] != '\0')
        fprintf(stream, "Void: %s.\n", row->void_reason);
}

static void add_bounded(struct json *object, const char *name, const char *unit,
                        const struct finegrain_bounded *bounded)
{
    static const char *const bounds[] = {"", "_low", "_high"};
    const double values[] = {bounded->value, bounded->low, bounded->high};
    for (int i = 0; i < 3; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s%s_%s", name, bounds[i], unit);
        json_set(object, key, json_finite(values[i]));
    }
}

int finegrain_row_write_json(FILE *stream, const struct finegrain_row *row, struct error *error)
{
    const struct finegrain_config *config = row->config;
    struct json *object = json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "interface",
        finegrain_interface_word[config->interface], "rma", rma_of(config), "mpi", row->mpi, "ranks", row->ranks,
        "buffers_per_rank", json_count(row->buffers_per_rank), "peers", json_count(config->peers), "bytes",
        json_count(config->bytes), "threads", json_count(config->threads), "parts", json_count(config->parts),
        "compute_s", json_finite(config->compute_s), "arrivals", config->arrivals, "seed", json_count(config->seed),
        "trials", json_count(config->trials), "iterations", json_count(config->iterations));
    add_bounded(object, "bsp", "s", &row->bsp_s);
    add_bounded(object, "fine", "s", &row->fine_s);
    add_bounded(object, "speedup", "percent", &row->speedup_percent);
    json_set(object, "oversleep_s", json_finite(row->oversleep_s));
    json_set(object, "median_oversleep_s", json_finite(row->median_oversleep_s));
    json_set(object, "void", json_string(row->void_reason));
    return json_write(stream, object, error);
}

void finegrain_samples_write(FILE *stream, const struct finegrain_samples *samples)
{
    fputs(FINEGRAIN_RAW_HEADER "\n", stream);
    for (size_t i = 0; i < samples->n; i++) {
        const struct finegrain_sample *sample = &samples->samples[i];
        fprintf(stream, "%llu,%llu,%s,%.9g,%.9g,%.9g\n", (unsigned long long)sample->trial,
                (unsigned long long)sample->iteration, sample->is_fine ? "fine" : "bsp", sample->seconds,
                sample->last_arrival_s, sample->oversleep_s);
    }
}
