/* A line a job: what ran when, and how much of its time MPI took. All of it comes from the tables run, process and
 * total, which every trace has, also one without a row of a single call. */
#include "report/command/report_jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/collect/fields.h"
#include "report/command/open_trace.h"
#include "report/render/sections.h"
#include "share/base/error.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"

struct job {
    const char *trace, *started, *command, *largest_function, *largest_place;
    int64_t ranks;
    double duration_s, in_mpi; /* in_mpi: share of the ranks' time; NaN: not known */
};
#define JOB(member) FIELD(job, member)
static const struct fields job_fields =
    FIELDS(job, JOB(started), JOB(command), JOB(ranks), JOB(duration_s), JOB(in_mpi),
           FIELD_OR_NULL(job, largest_function), FIELD_OR_NULL(job, largest_place));
static const struct fields job_trace = FIELDS(job, JOB(trace));

static const char job_sql[] =
    "WITH largest AS (SELECT function, callsite FROM total WHERE off = 0 GROUP BY function, callsite"
    " ORDER BY sum(1.0 * time_ns) DESC, function, callsite LIMIT 1)"
    "SELECT strftime('%Y-%m-%d %H:%M', started_unix_ns / 1000000000, 'unixepoch'), command,"
    " (SELECT count(*) FROM process), duration_ns * 1e-9,"
    " (SELECT sum(1.0 * time_ns) FROM total WHERE off = 0) /"
    " (SELECT nullif(sum(1.0 * (end_ns - begin_ns)), 0) FROM process),"
    " (SELECT f.name FROM largest l JOIN function f ON f.id = l.function),"
    " (SELECT s.place FROM largest l JOIN site s ON s.id = l.callsite) FROM run";

/* Returns an exit code, and has printed the reason if it is not 0. */
static int read_job(struct job *job, const char *path, struct pool *pool)
{
    struct open_trace trace;
    struct cursor rows;
    struct error error;
    int result = open_trace(&trace, path);
    if (result == EXIT_DONE) {
        job->trace = pool_clean(pool, trace.path, strlen(trace.path));
        cursor_open(&rows, trace.database, trace.path, job_sql, &error);
        bool found = cursor_next(&rows);
        if (found)
            fields_read(&job_fields, job, &rows, 0, pool);
        if (cursor_close(&rows) != 0)
            result = error_report(&error);
        else if (!found)
            result = fail("%s: holds no run", trace.path);
    }
    close_trace(&trace);
    return result;
}

static void jobs_text(FILE *stream, const struct job *jobs, size_t n)
{
    fprintf(stream, "%-16s  %6s  %9s  %6s  command; largest call; trace\n", "started (UTC)", "ranks", "time", "in MPI");
    for (size_t i = 0; i < n; i++) {
        const struct job *job = &jobs[i];
        char time[32], share[32] = "-";
        if (!isnan(job->in_mpi))
            snprintf(share, sizeof share, "%.0f %%", 100 * job->in_mpi);
        fprintf(stream, "%-16s  %6lld  %9s  %6s  %s; %s%s%s; %s\n", job->started, (long long)job->ranks,
                words_seconds(time, sizeof time, job->duration_s), share, job->command,
                job->largest_function[0] == '\0' ? "-" : job->largest_function,
                job->largest_place[0] == '\0' ? "" : " ", job->largest_place, job->trace);
    }
}

static int jobs_write(FILE *stream, const struct job *jobs, size_t n, int format, struct error *error)
{
    if (format == FORMAT_TEXT) {
        jobs_text(stream, jobs, n);
        return 0;
    }
    if (format == FORMAT_CSV) {
        fields_csv_names(&job_trace, stream);
        fputc(',', stream);
        fields_csv_names(&job_fields, stream);
        fputc('\n', stream);
        for (size_t i = 0; i < n; i++) {
            fields_csv(&job_trace, &jobs[i], stream);
            fputc(',', stream);
            fields_csv(&job_fields, &jobs[i], stream);
            fputc('\n', stream);
        }
        return 0;
    }
    struct json *array = json_array();
    for (size_t i = 0; i < n; i++) {
        struct json *object = fields_object(&job_trace, &jobs[i]);
        fields_add(&job_fields, &jobs[i], object);
        json_add(array, object);
    }
    return json_write(stream, array, error);
}

int report_jobs(char **traces, size_t n, int format, const char *output_path)
{
    struct job *jobs = xcalloc(n, sizeof *jobs);
    struct pool pool = {0};
    struct output_file output;
    struct error error;
    size_t n_read = 0;
    int result = EXIT_DONE;
    for (size_t i = 0; i < n; i++) {
        if (read_job(&jobs[n_read], traces[i], &pool) == EXIT_DONE)
            n_read++;
        else
            result = EXIT_WORK_FAILED;
    }
    if (output_file_open(&output, output_path, &error) != 0 ||
        output_file_end(&output, jobs_write(output.stream, jobs, n_read, format, &error), &error) != 0)
        result = error_report(&error);
    pool_release(&pool);
    free(jobs);
    return result;
}
