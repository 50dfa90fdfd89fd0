/* Prints the program of a run, as read from a trace.db, as JSON: what a test compares.
 *
 * usage: run_program_text TRACE [FROM [TO]]        FROM, TO: as run_bound_parse takes them, - for none
 *        run_program_text --check TRACE            how long it took, and what does not add up */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "predictor/run_read/run_read.h"
#include "share/base/monotonic.h"

static const char *const kinds[] = {"send", "receive", "wait", "probe", "collective", "begin", "spend"};
static const char *const ends[] = {"send", "receive", "member"};

static void print_step(const struct run_program *p, const struct run_step *step)
{
    const struct run_site *site = &p->sites[p->places[step->place].site];
    printf("{\"kind\": \"%s\", \"enters\": %d, \"leaves\": %d, \"compute\": %.9f, \"function\": \"%s\", \"site\": %lld",
           kinds[step->kind], (step->flags & STEP_ENTERS) != 0, (step->flags & STEP_LEAVES) != 0, step->compute_s,
           site->function, (long long)site->callsite);
    if (step->processor > 0)
        printf(", \"processor\": %d", step->processor - 1);
    if (step->kind == STEP_SPEND)
        printf(", \"spent\": %.9f", step->spent_s);
    else
        printf(", \"object\": %u", step->object);
    for (uint32_t i = 0; step->kind == STEP_WAIT && i < step->count; i++)
        printf("%s[\"%s\", %u]%s", i == 0 ? ", \"waits\": [" : ", ",
               ends[run_operation_kind(p->waits[step->object + i])], run_operation_object(p->waits[step->object + i]),
               i + 1 == step->count ? "]" : "");
    printf("}");
}

static void print_strands(const struct run_program *p)
{
    printf("\"strands\": [");
    for (size_t i = 0; i < p->n_strands; i++) {
        const struct run_strand *s = &p->strands[i];
        printf("%s\n{\"rank\": %u, \"begin\": %.9f, \"tail\": %.9f, \"steps\": [", i == 0 ? "" : ",", s->rank,
               s->begin_s, s->tail_s);
        for (size_t k = 0; k < s->n_steps; k++) {
            printf(k == 0 ? "\n  " : ",\n  ");
            print_step(p, &p->steps[s->first_step + k]);
        }
        printf("]}");
    }
    printf("]");
}

static void print_objects(const struct run_program *p)
{
    printf(",\n\"messages\": [");
    for (size_t i = 0; i < p->n_messages; i++)
        printf("%s[%u, %u, %llu, %u]", i == 0 ? "" : ", ", p->messages[i].src, p->messages[i].dst,
               (unsigned long long)p->messages[i].bytes, p->messages[i].flags);
    printf("],\n\"collectives\": [");
    for (size_t i = 0; i < p->n_collectives; i++) {
        const struct run_collective *c = &p->collectives[i];
        printf("%s\n{\"kind\": %u, \"dependence\": %u, \"varies\": %d, \"root\": %d, \"members\": [", i == 0 ? "" : ",",
               c->kind, c->dependence, (c->flags & COLLECTIVE_VARIES) != 0, c->root == UINT32_MAX ? -1 : (int)c->root);
        for (uint32_t k = 0; k < c->n_members; k++) {
            const struct run_member *m = &p->members[c->first_member + k];
            printf("%s[%u, %.9f, %.0f]", k == 0 ? "" : ", ", m->rank, m->after_s, m->bytes);
        }
        printf("]}");
    }
    printf("],\n\"measured\": [");
    for (size_t i = 0; i < p->n_places; i++) {
        printf("%s\n{\"rank\": %u, \"function\": \"%s\"", i == 0 ? "" : ",", p->places[i].rank,
               p->sites[p->places[i].site].function);
        for (int part = 0; part < RUN_PART_COUNT; part++)
            if (p->measured[i].part_s[part] != 0)
                printf(", \"%s\": %.9f", run_part_name[part], p->measured[i].part_s[part]);
        printf("}");
    }
    printf("],\n\"between_polls\": [");
    const char *comma = "";
    for (size_t i = 0; i < p->n_places; i++)
        if (p->between_polls_s[i] > 0) {
            printf("%s[%u, \"%s\", %.9f]", comma, p->places[i].rank, p->sites[p->places[i].site].function,
                   p->between_polls_s[i]);
            comma = ", ";
        }
    printf("],\n\"run\": %.9f, \"handover\": %.9f, \"open_mpi\": %d", p->measured_run_s, p->handover_s,
           p->mpi_family == MPI_FAMILY_OPEN_MPI);
}

/* Prints for each rank what its parts come to, and the numbers of what was read. */
static void print_sums(const struct run_program *p)
{
    double *sum_s = calloc(p->n_ranks + 1, sizeof *sum_s);
    for (size_t i = 0; sum_s != NULL && i < p->n_places; i++)
        for (int part = 0; part < RUN_PART_COUNT; part++)
            sum_s[p->places[i].rank] += p->measured[i].part_s[part];
    printf("{\"strands\": %zu, \"steps\": %zu, \"messages\": %zu, \"waits\": %zu, \"collectives\": %zu, \"sums\": [",
           p->n_strands, p->n_steps, p->n_messages, p->n_waits, p->n_collectives);
    for (size_t i = 0; sum_s != NULL && i < p->n_ranks; i++)
        printf("%s%.9f", i == 0 ? "" : ", ", sum_s[i]);
    printf("]");
    free(sum_s);
}

int main(int argc, char **argv)
{
    bool check = argc > 2 && strcmp(argv[1], "--check") == 0;
    char **rest = argv + 1 + check;
    struct error error;
    struct run_window window = {.from = {.kind = RUN_BOUND_NONE}};
    struct run_program program = {0};
    sqlite3 *database = NULL;
    if (argc < 2)
        return wrong_usage("run_program_text", "expected a trace");
    if ((argc > 2 + check && strcmp(rest[1], "-") != 0 && run_bound_parse(rest[1], &window.from, &error) != 0) ||
        (argc > 3 + check && strcmp(rest[2], "-") != 0 && run_bound_parse(rest[2], &window.to, &error) != 0) ||
        database_open(rest[0], false, &database, &error) != 0)
        return error_report(&error);
    double begin_s = clock_now_s();
    int result = run_program_read(database, rest[0], &(struct run_want){.window = argc > 2 + check ? &window : NULL},
                                  &program, &error);
    double took_s = clock_now_s() - begin_s;
    sqlite3_close(database);
    if (result != 0)
        return error_report(&error);
    if (check) {
        print_sums(&program);
        printf(", \"took\": %.3f", took_s);
    } else {
        printf("{");
        print_strands(&program);
        print_objects(&program);
    }
    printf("}\n");
    run_program_release(&program);
    return EXIT_DONE;
}
