/* Measures how long the models take on one core. First comes a pattern of the size of T Table IV's largest (large.h): a
 * line a model, messages in the order of their senders and shuffled, one protocol and three. Then from 1,024 to 65,536
 * ranks, messages in proportion: seconds and their growth, the exponent of time over ranks. The aim is 0.5 s a model, 2
 * s all, 48 bytes a message, pattern included. It fails only where a model fails.
 *
 * With an argument, PREFIX, it writes the large pattern as PREFIX.P.csv and PREFIX.L.csv instead, or with a second one
 * the like of so many ranks. Papers are named as in share/doc/MODELS.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/models/large.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* Returns the time of this process, in user mode and in the kernel: other load on the machine does not count. */
static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

static void add_machine(struct model_case *c, bool protocols)
{
    struct chance chance = {.state = 6};
    struct model_case random;
    case_random(&random, &chance, protocols);
    c->machine = random.machine;
    random.machine = (struct machine){0};
    case_release(&random);
}

static double time_model(const struct model_case *c, const char *name)
{
    double begin_s = now_s();
    struct prediction prediction = case_predict(c, name, LATENCY_IN);
    double took_s = now_s() - begin_s;
    prediction_release(&prediction);
    return took_s;
}

/* Works in a process of its own, whose peak is that of one model and its pattern. */
static void in_child(void (*work)(const char *model, bool shuffled, bool protocols), const char *model, bool shuffled,
                     bool protocols)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        work(model, shuffled, protocols);
        fflush(stdout);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void time_large(const char *model, bool shuffled, bool protocols)
{
    struct model_case c = {0};
    add_machine(&c, protocols);
    double bare_bytes = peak_bytes();
    large_pattern(&c, LARGE_RANKS, shuffled);
    double took_s = time_model(&c, model);
    printf("%-12s %-12s %-18s %.3f s, %4.1f bytes a message at the peak\n", model, shuffled ? "shuffled" : "by sender",
           protocols ? "three protocols" : "one protocol", took_s,
           (peak_bytes() - bare_bytes) / (double)c.pattern.n_messages);
    case_release(&c);
}

static void large(void **state)
{
    (void)state;
    printf("%d ranks, %d messages\n", LARGE_RANKS, LARGE_MESSAGES);
    for (int variant = 0; variant < 4; variant++)
        for (size_t m = 0; model_table[m] != NULL; m++)
            in_child(time_large, model_table[m]->name, variant & 1, variant & 2);
}

static void growth(void **state)
{
    (void)state;
    enum { SMALLEST = 1024, LARGEST = 65536 };
    printf("seconds by ranks, and the exponent of their growth\n%-12s", "");
    for (size_t n = SMALLEST; n <= LARGEST; n *= 4)
        printf("  %8zu", n);
    puts("  exponent");
    for (size_t m = 0; model_table[m] != NULL; m++) {
        double took_s = 0, first_s = 0;
        printf("%-12s", model_table[m]->name);
        for (size_t n = SMALLEST; n <= LARGEST; n *= 4) {
            struct model_case c = {0};
            add_machine(&c, true);
            large_pattern(&c, n, false);
            took_s = time_model(&c, model_table[m]->name);
            first_s = n == SMALLEST ? took_s : first_s;
            printf("  %8.4f", took_s);
            fflush(stdout);
            case_release(&c);
        }
        printf("  %8.2f\n", log(took_s / first_s) / log((double)LARGEST / SMALLEST));
    }
}

static FILE *open_csv(const char *prefix, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%s.csv", prefix, suffix);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        perror(path);
    return file;
}

static int write_large(const char *prefix, size_t n_ranks)
{
    struct model_case c = {0};
    large_pattern(&c, n_ranks, false);
    FILE *messages = open_csv(prefix, "P"), *places = open_csv(prefix, "L");
    if (messages == NULL || places == NULL)
        return 1;
    fputs("src,dst,bytes\n", messages);
    for (size_t i = 0; i < c.pattern.n_messages; i++)
        fprintf(messages, "%u,%u,%llu\n", c.pattern.src[i], c.pattern.dst[i],
                (unsigned long long)pattern_bytes(&c.pattern, i));
    fputs("rank,node,socket\n", places);
    for (size_t rank = 0; rank < c.placement.n_ranks; rank++)
        fprintf(places, "%zu,%u,%u\n", rank, c.placement.node[rank], c.placement.socket[rank]);
    case_release(&c);
    return fclose(messages) != 0 || fclose(places) != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(large), cmocka_unit_test(growth)};
    return argc > 1 ? write_large(argv[1], argc > 2 ? strtoul(argv[2], NULL, 10) : LARGE_RANKS)
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
