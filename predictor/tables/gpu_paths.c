/* Times of the paths are lines of the size between the sizes at which a protocol changes. They are kept as lines here,
 * so that where two paths cross is solved and not searched for. Formulas are those of share/doc/MODELS.md. */
#include "predictor/tables/gpu_paths.h"

#include <float.h>
#include <math.h>

#include "share/base/statistics.h"

/* Holds a time over the bytes of all messages together. */
struct line {
    double at_zero_s, s_per_byte;
};

/* Returns how many processes share the data of a GPU. */
static uint32_t processes(const struct gpu_problem *problem)
{
    return problem->ppn / problem->gpus;
}

/* Returns the share of the bytes that is copied: duplicates once only. */
static double copied(const struct gpu_problem *problem)
{
    return 1 - problem->duplicate + problem->duplicate / (double)problem->messages;
}

/* Returns the protocol of one of so many parts of the bytes. A quotient that only rounding keeps below a whole number
 * is that number. */
static enum machine_protocol protocol_of(const struct machine_protocols *protocols, double bytes, double parts)
{
    double part_bytes = fmin(bytes / parts * (1 + 4 * DBL_EPSILON), ldexp(1, 63));
    return machine_protocol_of(protocols, (uint64_t)part_bytes);
}

/* Returns how many of n messages a process sends, or parts of them. */
static double messages_each(const struct gpu_problem *problem, enum gpu_path path, double n)
{
    bool divides = path != GPU_DIRECT && path != GPU_3_STEP && problem->whole_messages;
    return divides ? ceil(n / processes(problem)) : n;
}

/* Returns into how many messages the bytes of n go, those of all processes of a GPU. */
static double message_parts(const struct gpu_problem *problem, enum gpu_path path, double n)
{
    bool parts = path != GPU_DIRECT && path != GPU_3_STEP && !problem->whole_messages;
    return n * (parts ? processes(problem) : 1);
}

/* Returns the line of a path of n messages about a size, without the copies. */
static struct line gpu_message_line(const struct gpu_costs *costs, const struct gpu_problem *problem,
                                    enum gpu_path path, double n, double bytes)
{
    if (path == GPU_DIRECT)
        return (struct line){n * costs->gpu_tau_s, costs->gpu_s_per_byte};
    enum machine_protocol p = protocol_of(&costs->link.protocols, bytes, message_parts(problem, path, n));
    if (path == GPU_3_STEP)
        return (struct line){n * costs->link.tau_s[p], costs->link.s_per_byte[p]};
    double each = messages_each(problem, path, n);
    return (struct line){each * costs->link.tau_s[p],
                         costs->link.split_s_per_byte[p] * each / message_parts(problem, path, n)};
}

/* Returns the line of the copies of a path about a size of which a share is copied. */
static struct line copy_line(const struct gpu_costs *costs, const struct gpu_problem *problem, enum gpu_path path,
                             double share, double bytes)
{
    if (path == GPU_DIRECT)
        return (struct line){0, 0};
    double others = processes(problem) - 1.0;
    int by = path == GPU_DUPLICATE_POINTER ? 1 : 0;
    struct line line = {costs->from_tau_s + costs->to_tau_s,
                        share * (costs->from_s_per_byte[by] + costs->to_s_per_byte[by])};
    if (path == GPU_EXTRA_MESSAGE) { /* handed out on one side, collected on the other */
        double parts = processes(problem) / share;
        enum machine_protocol p = protocol_of(&costs->near.protocols, bytes, parts);
        line.at_zero_s += 2 * others * costs->near.tau_s[p];
        line.s_per_byte += 2 * others / parts * costs->near.s_per_byte[p];
    }
    return line;
}

static struct line path_line(const struct gpu_costs *costs, const struct gpu_problem *problem, enum gpu_path path,
                             double bytes)
{
    struct line messages = gpu_message_line(costs, problem, path, (double)problem->messages, bytes);
    struct line copies = copy_line(costs, problem, path, copied(problem), bytes);
    return (struct line){messages.at_zero_s + copies.at_zero_s, messages.s_per_byte + copies.s_per_byte};
}

static double line_at(struct line line, double bytes)
{
    return line.at_zero_s + line.s_per_byte * bytes;
}

double gpu_path_s(const struct gpu_costs *costs, const struct gpu_problem *problem, enum gpu_path path)
{
    double bytes = (double)problem->bytes;
    return costs->available[path] ? line_at(path_line(costs, problem, path, bytes), bytes) : NAN;
}

double gpu_messages_s(const struct gpu_costs *costs, const struct gpu_problem *problem, const struct gpu_messages *of,
                      size_t n, enum gpu_path path)
{
    double all_bytes = 0, seconds = 0;
    if (!costs->available[path])
        return NAN;
    for (size_t i = 0; i < n; i++) {
        double bytes = of[i].messages * (double)of[i].bytes;
        seconds += line_at(gpu_message_line(costs, problem, path, of[i].messages, bytes), bytes);
        all_bytes += bytes;
    }
    return seconds + line_at(copy_line(costs, problem, path, 1, all_bytes), all_bytes);
}

enum { MOST_BREAKS = 3 * PROTOCOL_COUNT + 2 };

/* Adds the sizes of which one of so many parts changes its protocol. */
static void add_breaks(const struct machine_protocols *protocols, double parts, double breaks[MOST_BREAKS], size_t *n)
{
    for (size_t i = 1; i < protocols->n; i++) {
        double from = floor((double)protocols->from_bytes[i] * parts);
        if (from >= ldexp(1, GPU_MOST_BYTES_LOG2))
            continue;
        while (protocol_of(protocols, from, parts) < protocols->protocol[i])
            from++;
        breaks[(*n)++] = from;
    }
}

/* Writes the sizes between which both paths are lines, ascending, from 1 on. Returns how many. */
static size_t find_breaks(const struct gpu_costs *costs, const struct gpu_problem *problem,
                          const enum gpu_path paths[2], double breaks[MOST_BREAKS])
{
    size_t n = 0;
    breaks[n++] = 1;
    for (int i = 0; i < 2; i++)
        if (paths[i] != GPU_DIRECT)
            add_breaks(&costs->link.protocols, message_parts(problem, paths[i], (double)problem->messages), breaks, &n);
    if (paths[0] == GPU_EXTRA_MESSAGE || paths[1] == GPU_EXTRA_MESSAGE)
        add_breaks(&costs->near.protocols, processes(problem) / copied(problem), breaks, &n);
    breaks[n++] = ldexp(1, GPU_MOST_BYTES_LOG2);
    sort_doubles(breaks, n);
    return n;
}

/* Returns by how much the first path takes longer, -1, 0 or 1; lines that differ by rounding alone are equal. */
static int compare_at(struct line first, struct line second, double bytes)
{
    double a = line_at(first, bytes), b = line_at(second, bytes);
    return fabs(a - b) <= 1e-12 * fmax(a, b) ? 0 : (a > b) - (a < b);
}

/* Keeps the crossovers found so far, and which path was the slower one. */
struct search {
    enum gpu_path paths[2];
    int sign; /* 0: not known yet */
    struct gpu_crossover *found;
    size_t n, most;
};

static void take_change(struct search *search, int sign, double bytes)
{
    if (sign == 0 || sign == search->sign)
        return;
    if (search->sign != 0) {
        int above = sign > 0 ? 1 : 0;
        if (search->n < search->most)
            search->found[search->n] =
                (struct gpu_crossover){search->paths[!above], search->paths[above], (uint64_t)bytes};
        search->n++;
    }
    search->sign = sign;
}

/* Goes over the whole sizes from `from` up to the one before `to`, where both paths are lines. */
static void search_lines(struct search *search, struct line first, struct line second, double from, double to)
{
    take_change(search, compare_at(first, second, from), from);
    int end = compare_at(first, second, to - 1);
    if (end == 0 || end == search->sign)
        return;
    double root = (second.at_zero_s - first.at_zero_s) / (first.s_per_byte - second.s_per_byte);
    take_change(search, end, fmin(fmax(ceil(root), from), to - 1));
}

size_t gpu_crossovers(const struct gpu_costs *costs, const struct gpu_problem *problem, enum gpu_path first,
                      enum gpu_path second, struct gpu_crossover *found, size_t most)
{
    struct search search = {{first, second}, 0, found, 0, most};
    double breaks[MOST_BREAKS];
    if (!costs->available[first] || !costs->available[second])
        return 0;
    size_t n = find_breaks(costs, problem, search.paths, breaks);
    for (size_t i = 0; i + 1 < n; i++) {
        double from = breaks[i], to = breaks[i + 1];
        if (to > from)
            search_lines(&search, path_line(costs, problem, first, from), path_line(costs, problem, second, from), from,
                         to);
    }
    return search.n;
}

uint64_t gpu_copy_pays_from(const struct gpu_costs *costs, const struct gpu_problem *problem)
{
    struct gpu_problem one = *problem;
    for (one.messages = 1; one.messages <= 1 << 20; one.messages++) {
        one.bytes = one.messages;
        if (gpu_path_s(costs, &one, GPU_3_STEP) < gpu_path_s(costs, &one, GPU_DIRECT))
            return one.messages;
    }
    return 0;
}

/* Computes the seconds a byte of one of n that send at once. */
static int share_of(const struct machine *machine, enum level level, enum machine_protocol protocol,
                    const char *quantity, const char *injection, uint32_t n, bool *extrapolated, double *s_per_byte,
                    uint32_t *limited_from, struct error *error)
{
    struct machine_bandwidth bandwidth;
    if (machine_bandwidth_named(machine, level, protocol, quantity, injection, &bandwidth, error) != 0)
        return -1;
    *s_per_byte = n / machine_bandwidth_at(&bandwidth, n, extrapolated);
    double limit = bandwidth.injection_bytes_per_s;
    if (limited_from != NULL && limit > 0 && isfinite(limit))
        *limited_from = (uint32_t)fmin(floor(limit / bandwidth.bytes_per_s[0]) + 1, UINT32_MAX);
    machine_bandwidth_release(&bandwidth);
    return 0;
}

static int find_direct(const struct machine *machine, const struct gpu_problem *problem, struct gpu_costs *costs,
                       struct error *error)
{
    if (machine_tau_named_s(machine, problem->level, PROTOCOL_ANY, "tau_gpu", &costs->gpu_tau_s, error) != 0)
        return -1;
    return share_of(machine, problem->level, PROTOCOL_ANY, "bw_gpu", "injection_gpu", problem->gpus,
                    &costs->extrapolated, &costs->gpu_s_per_byte, &costs->gpu_limited_from, error);
}

/* Finds what copies cost one process and all of a GPU at once; a copy goes between a GPU and its own socket. What a
 * copying process shares with others is one link: a table with n = 1 alone gives them its rate together. */
static int find_copies(const struct machine *machine, const struct gpu_problem *problem, struct gpu_costs *costs,
                       struct error *error)
{
    if (machine_tau_named_s(machine, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau_from_gpu", &costs->from_tau_s, error) !=
            0 ||
        machine_tau_named_s(machine, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau_to_gpu", &costs->to_tau_s, error) != 0)
        return -1;
    const uint32_t at_once[2] = {1, problem->ppn / problem->gpus};
    for (int i = 0; i < 2; i++) {
        bool beyond = false;
        if (share_of(machine, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw_from_gpu", "", at_once[i], &beyond,
                     &costs->from_s_per_byte[i], NULL, error) != 0 ||
            share_of(machine, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw_to_gpu", "", at_once[i], &beyond,
                     &costs->to_s_per_byte[i], NULL, error) != 0)
            return -1;
        costs->from_s_per_byte[i] /= at_once[i];
        costs->to_s_per_byte[i] /= at_once[i];
    }
    return 0;
}

/* Finds what messages of a level cost. They are split, or handed to those of the own socket, as one process does. */
static int find_messages(const struct machine *machine, enum level level, const struct gpu_problem *problem,
                         bool splits, struct gpu_link *link, struct gpu_costs *costs, struct error *error)
{
    if (machine_protocols(machine, level, &link->protocols, error) != 0)
        return -1;
    for (size_t i = 0; i < link->protocols.n; i++) {
        enum machine_protocol p = link->protocols.protocol[i];
        bool beyond = false; /* of a protocol without R_N, which is no news */
        bool *extrapolated = splits && i + 1 == link->protocols.n ? &costs->extrapolated : &beyond;
        if (machine_tau_s(machine, level, p, &link->tau_s[p], error) != 0 ||
            share_of(machine, level, p, "bw", "injection", splits ? problem->gpus : 1, extrapolated,
                     &link->s_per_byte[p], splits ? &costs->cpu_limited_from : NULL, error) != 0 ||
            (splits && share_of(machine, level, p, "bw", "injection", problem->ppn, extrapolated,
                                &link->split_s_per_byte[p], NULL, error) != 0))
            return -1;
    }
    return 0;
}

void gpu_costs_find(const struct machine *machine, const struct gpu_problem *problem, struct gpu_costs *costs)
{
    struct error error;
    *costs = (struct gpu_costs){0};
    costs->available[GPU_DIRECT] = find_direct(machine, problem, costs, &costs->reason[GPU_DIRECT]) == 0;
    if (find_copies(machine, problem, costs, &error) == 0 &&
        find_messages(machine, problem->level, problem, true, &costs->link, costs, &error) == 0) {
        costs->available[GPU_3_STEP] = costs->available[GPU_DUPLICATE_POINTER] = true;
        costs->available[GPU_EXTRA_MESSAGE] = find_messages(machine, LEVEL_INTRA_SOCKET, problem, false, &costs->near,
                                                            costs, &costs->reason[GPU_EXTRA_MESSAGE]) == 0;
        return;
    }
    for (int path = GPU_3_STEP; path < GPU_PATH_COUNT; path++)
        costs->reason[path] = error;
}
