/* Holds which rows of a table the paths between GPUs ask for, and what is said where a table lacks them. */
#include <math.h>

#include "predictor/gpu/gpu_paths.h"

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

static int find_messages(const struct machine *machine, const struct gpu_problem *problem, struct gpu_costs *costs,
                         struct error *error)
{
    if (machine_protocols(machine, problem->level, &costs->protocols, error) != 0)
        return -1;
    for (size_t i = 0; i < costs->protocols.n; i++) {
        enum machine_protocol p = costs->protocols.protocol[i];
        bool beyond = false; /* of a protocol without R_N, which is no news */
        bool *extrapolated = i + 1 == costs->protocols.n ? &costs->extrapolated : &beyond;
        if (machine_tau_s(machine, problem->level, p, &costs->tau_s[p], error) != 0 ||
            share_of(machine, problem->level, p, "bw", "injection", problem->gpus, extrapolated, &costs->s_per_byte[p],
                     &costs->cpu_limited_from, error) != 0 ||
            share_of(machine, problem->level, p, "bw", "injection", problem->ppn, extrapolated,
                     &costs->split_s_per_byte[p], NULL, error) != 0)
            return -1;
    }
    return 0;
}

/* Finds what it costs to hand parts to processes of the own socket. */
static int find_near(const struct machine *machine, struct gpu_costs *costs, struct error *error)
{
    if (machine_protocols(machine, LEVEL_INTRA_SOCKET, &costs->near_protocols, error) != 0)
        return -1;
    for (size_t i = 0; i < costs->near_protocols.n; i++) {
        enum machine_protocol p = costs->near_protocols.protocol[i];
        bool beyond = false;
        if (machine_tau_s(machine, LEVEL_INTRA_SOCKET, p, &costs->near_tau_s[p], error) != 0 ||
            share_of(machine, LEVEL_INTRA_SOCKET, p, "bw", "injection", 1, &beyond, &costs->near_s_per_byte[p], NULL,
                     error) != 0)
            return -1;
    }
    return 0;
}

void gpu_costs_find(const struct machine *machine, const struct gpu_problem *problem, struct gpu_costs *costs)
{
    struct error error;
    *costs = (struct gpu_costs){0};
    costs->available[GPU_DIRECT] = find_direct(machine, problem, costs, &costs->reason[GPU_DIRECT]) == 0;
    if (find_copies(machine, problem, costs, &error) == 0 && find_messages(machine, problem, costs, &error) == 0) {
        costs->available[GPU_3_STEP] = costs->available[GPU_DUPLICATE_POINTER] = true;
        costs->available[GPU_EXTRA_MESSAGE] = find_near(machine, costs, &costs->reason[GPU_EXTRA_MESSAGE]) == 0;
        return;
    }
    for (int path = GPU_3_STEP; path < GPU_PATH_COUNT; path++)
        costs->reason[path] = error;
}
