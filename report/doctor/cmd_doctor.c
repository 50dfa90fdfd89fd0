/* Runs `mpistair doctor`, which says what works here and what is missing. */
#include <stdio.h>
#include <string.h>

#include "report/doctor/doctor.h"
#include "share/base/error.h"
#include "share/base/json.h"
#include "share/base/help_text.h"
#include "share/base/options.h"
#include "share/base/terminal.h"
#include "interpose/database/cursor.h"

static const char usage[] =
    "usage: mpistair doctor [--json]\n"
    "\n"
    "Looks at what recording needs on this machine: processors, clock, room for spools, LD_PRELOAD, libdw for lines\n"
    "of call sites, GPUs, and each MPI's launcher, library and backend. Exit code 0 if a job of at least one MPI can "
    "be\n"
    "recorded, else 1.\n"
    "On a cluster, run it where the job runs: mpiexec -n 1 mpistair doctor.\n";

struct doctor_check *doctor_add(struct doctor *doctor, const char *name, enum doctor_state state)
{
    size_t at = doctor->n_checks < DOCTOR_MAX_CHECKS ? doctor->n_checks++ : DOCTOR_MAX_CHECKS - 1;
    doctor->checks[at] = (struct doctor_check){.name = name, .state = state};
    return &doctor->checks[at];
}

static const char *const state_names[] = {[DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_MISSING] = "missing"};

static void print_text(const struct doctor *doctor, bool works)
{
    unsigned width = terminal_page(stdout);
    for (size_t i = 0; i < doctor->n_checks; i++) {
        const struct doctor_check *check = &doctor->checks[i];
        int at = printf("%-8s %-11s ", state_names[check->state], check->name);
        help_text_fill(stdout, check->found, (unsigned)at, (unsigned)at, width);
        if (check->advice[0] != '\0') {
            printf("%*s-> ", at, "");
            help_text_fill(stdout, check->advice, (unsigned)at + 3, (unsigned)at + 3, width);
        }
    }
    puts(works ? "\nJobs can be recorded here." : "\nJobs cannot be recorded here yet: see what is missing above.");
}

static int print_json(const struct doctor *doctor, bool works)
{
    struct pool pool = {0};
    json_t *checks = json_array();
    for (size_t i = 0; i < doctor->n_checks; i++) {
        const struct doctor_check *check = &doctor->checks[i];
        const char *found = pool_clean(&pool, check->found, strlen(check->found));
        const char *advice = pool_clean(&pool, check->advice, strlen(check->advice));
        json_array_append_new(checks,
                              json_pack("{ss ss ss? ss?}", "check", check->name, "state", state_names[check->state],
                                        "found", found, "advice", check->advice[0] != '\0' ? advice : NULL));
    }
    json_t *all = json_pack("{sb so}", "can_record", (int)works, "checks", checks);
    struct error error;
    int result = json_write(stdout, all, &error);
    pool_release(&pool);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int cmd_doctor(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {{0, "json", NULL, "as JSON", .flag = &json}};
    const struct option_table table = {.command = "doctor", .usage = usage, .rows = rows, .n_rows = 1};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc > 0)
        return wrong_usage("doctor", "%s: takes no arguments", argv[0]);
    struct doctor doctor = {0};
    doctor_look_at_host(&doctor);
    doctor_look_at_gpus(&doctor);
    doctor_look_at_mpis(&doctor);
    bool works = doctor.preload_works && doctor.spool_works && doctor.recordable > 0;
    if (json && print_json(&doctor, works) != EXIT_DONE)
        return EXIT_WORK_FAILED;
    if (!json)
        print_text(&doctor, works);
    return works ? EXIT_DONE : EXIT_WORK_FAILED;
}
