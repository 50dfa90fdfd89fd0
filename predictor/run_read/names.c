/* Gives functions and call sites of a trace small numbers, and says what is known of a function by its name. */
#include <string.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"
#include "share/base/hash.h"
#include "share/base/one_of.h"

int reading_too_large(struct reading *reading)
{
    return error_set(reading->error, "%s: its run is too large: ranks, calls or messages are more than are numbered",
                     reading->path);
}

static struct map_key name_key(const char *name)
{
    uint64_t other = 0;
    for (const char *c = name; *c != '\0'; c++)
        other = other * 131 + (uint8_t)*c;
    return (struct map_key){hash_text(HASH_BASIS, name), other, 0};
}

bool run_function_named(const char *function, const char *const *names)
{
    size_t length = ends_with(function, "_c") ?: strlen(function);
    for (; *names != NULL; names++)
        if (strlen(*names) == length && strncmp(function, *names, length) == 0)
            return true;
    return false;
}

static struct read_function function_of(const char *name)
{
    static const char *const tests[] = {
        "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status", NULL};
    static const char *const probes[] = {"MPI_Probe", "MPI_Iprobe", NULL};
    static const char *const matched[] = {"MPI_Mprobe", "MPI_Improbe", NULL};
    static const char *const synchronous[] = {"MPI_Ssend", "MPI_Issend", "MPI_Ssend_init", NULL};
    static const char *const buffered[] = {"MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init", NULL};
    static const char *const ready[] = {"MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init", NULL};
    static const char *const plain[] = {"MPI_Send", NULL};
    struct read_function function = {.name = name};
    function.class = run_function_named(name, tests)     ? FUNCTION_TEST
                     : run_function_named(name, probes)  ? FUNCTION_PROBE
                     : run_function_named(name, matched) ? FUNCTION_MATCHED_PROBE
                                                         : FUNCTION_OTHER;
    function.send = run_function_named(name, synchronous) || run_function_named(name, plain) ? SEND_BY_TIME
                    : run_function_named(name, buffered) || run_function_named(name, ready)  ? SEND_NO_WAIT
                                                                                             : SEND_BY_SIZE;
    function.message_flags = run_function_named(name, synchronous) ? MESSAGE_SYNCHRONOUS
                             : run_function_named(name, buffered)  ? MESSAGE_BUFFERED
                                                                   : 0;
    return function;
}

uint32_t function_by_name(struct reading *reading, const char *name)
{
    uint32_t number = map_number(&reading->function_of_name, name_key(name), reading->n_functions);
    if (number == reading->n_functions)
        ARRAY_ADD(reading->functions, reading->n_functions, function_of(pool_clean(reading->pool, name, strlen(name))));
    return number;
}

uint32_t site_by(struct reading *reading, uint32_t function, int64_t callsite)
{
    struct run_program *program = reading->program;
    size_t n = program->n_sites;
    uint32_t site = map_number(&reading->site_of, (struct map_key){function, (uint64_t)callsite, 0}, n);
    if (site == n) {
        ARRAY_ADD(reading->site_function, n, function);
        run_program_site(program, reading->functions[function].name, callsite);
    }
    return site;
}

const struct read_function *function_of_site(const struct reading *reading, uint32_t site)
{
    return &reading->functions[reading->site_function[site]];
}
